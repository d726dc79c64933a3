#include "build_features.h"
#include "joint_dataset.h"

#include <rekindle/base/clock.h>
#include <rekindle/base/text.h>
#include <rekindle/foundation/error.h>

#include <fmt/format.h>

#include <chrono>

namespace rekindle::trainer {

namespace {

using Clock = std::chrono::steady_clock;

Dataset dataset_of_one(const TrainConfig& config, market::LabeledRows rows,
                       const std::optional<ModelInputs>& inputs, ThreadPool& pool,
                       const Workspace& workspace) {
    Dataset set;
    set.meaning = target_meaning(config);
    const std::size_t usable = rows.rows();
    set.take(std::move(rows));
    set.split = market::split_by_time(usable, config.train_split, purge_of(config),
                                      static_cast<std::size_t>(config.embargo),
                                      purged_horizon(config, set.meaning.horizon));
    set.scaler = inputs && inputs->scaler
                     ? *inputs->scaler
                     : market::Scaler::fit(set.matrix, set.split.train(), config.scaler, pool, workspace);
    ScratchArray<float> scaled = set.scaler.transform(set.matrix, {0, usable}, pool, workspace);
    set.matrix.values = {};
    const auto train = std::span<const float>(set.targets.values)
                           .subspan(set.split.train_begin, set.split.train_end - set.split.train_begin);
    set.training_share_up = share_of_rises(set.meaning, train);
    set_scale(set.meaning, train);
    if (inputs && inputs->scaler) {
        set.meaning.scale = inputs->target_scale;
        set.meaning.center = inputs->target_center;
    }
    set.rows =
        std::make_shared<const NetworkRows>(NetworkRows{std::move(scaled), network_targets(set, workspace)});
    return set;
}

/// "1,000 rows of 54 features: 800 to train on, 199 to validate, 1 omitted in between".
std::string summary_of(const Dataset& set, std::size_t features) {
    const std::string of_features = counted(features, "feature");
    const std::string rows = set.instruments.empty()
                                 ? fmt::format("{} of {}", counted(set.matrix.rows(), "row"), of_features)
                                 : fmt::format("{} of {} with {}", counted(set.matrix.rows(), "row"),
                                               counted(set.instruments.size(), "instrument"), of_features);
    return fmt::format(
        "{}: {} to train on, {} to validate, {} omitted in between", rows,
        with_thousands(static_cast<std::int64_t>(set.split.train_end)),
        with_thousands(static_cast<std::int64_t>(set.split.validation_end - set.split.validation_begin)),
        set.split.validation_begin - set.split.train_end);
}

} // namespace

ScratchArray<float> network_targets(const Dataset& set, const Workspace& workspace) {
    ScratchArray<float> targets(set.split.validation_end, workspace.folder);
    for (std::size_t row = 0; row < targets.size(); ++row)
        targets[row] = static_cast<float>(set.meaning_of(row).network_target(set.targets.values[row]));
    return targets;
}

Dataset build_dataset(const TrainConfig& config, std::span<const MarketData> markets, ThreadPool& pool,
                      ProgressSink& progress, const Workspace& workspace,
                      const std::optional<ModelInputs>& inputs) {
    const auto start = Clock::now();
    const bool several = config.several_instruments != SeveralInstruments::no;
    if (several && inputs)
        throw internal_error("the inputs of a model of one instrument are given for several");
    auto parts =
        build_rows(config, markets, pool, progress, workspace,
                   inputs ? std::span<const std::string>(inputs->features) : std::span<const std::string>());
    const std::size_t features = parts.front().matrix.columns();
    Dataset set = several ? joint_dataset(config, markets, parts, pool, workspace)
                          : dataset_of_one(config, std::move(parts.front()), inputs, pool, workspace);
    if (set.split.purge_raised)
        progress.info(fmt::format("--purge was raised to {}, the number of rows that the target looks ahead",
                                  set.split.purge));
    progress.stage_ended("Building features", seconds_since(start), summary_of(set, features));
    return set;
}

Dataset build_dataset(const TrainConfig& config, const MarketData& data, ThreadPool& pool,
                      ProgressSink& progress, const Workspace& workspace,
                      const std::optional<ModelInputs>& inputs) {
    return build_dataset(config, std::span(&data, 1), pool, progress, workspace, inputs);
}

} // namespace rekindle::trainer
