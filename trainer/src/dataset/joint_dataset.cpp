#include "joint_dataset.h"

#include <rekindle/base/text.h>
#include <rekindle/foundation/error.h>
#include <rekindle/market/clock.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace rekindle::trainer {

namespace {

using Times = std::span<const std::int64_t>;

std::vector<Times> known_times(const std::vector<market::LabeledRows>& parts) {
    std::vector<Times> known;
    for (const market::LabeledRows& part : parts)
        known.emplace_back(part.known);
    return known;
}

/// Throws Error (usage) unless both sets have rows and every instrument has enough to fit its scaling.
void require_both_sets(const TrainConfig& config, std::span<const MarketData> markets,
                       const market::CommonSplit& split) {
    const std::string border = market::format_civil(split.border) + " UTC";
    std::size_t train = 0, validation = 0;
    for (std::size_t i = 0; i < markets.size(); ++i) {
        const std::size_t rows = split.parts[i].train().size();
        train += rows;
        validation += split.parts[i].validation().size();
        if (config.scale_by == ScaleBy::instrument && rows < min_training_rows)
            throw usage_error(
                fmt::format("only {} before the split at {} can be trained on", counted(rows, "row"), border))
                .at(markets[i].instrument)
                .expected(
                    fmt::format("at least {}, to fit the scaling of each instrument", min_training_rows))
                .hint("Leave the instrument out (name the others with --contract), train on more of "
                      "the data (--train-split), or use --scale-by all.");
    }
    if (train >= min_training_rows && validation > 0)
        return;
    throw usage_error(fmt::format("the split at {} leaves {} to train on and {} to validate with", border,
                                  counted(train, "row"), counted(validation, "row")))
        .expected(fmt::format("at least {} and 1", min_training_rows))
        .hint("Use more data, or another --train-split, --purge or --embargo.");
}

/// Returns the places of the training rows, then of the rows in neither set, then of the validation rows.
/// Writes the number of each to `split`.
ScratchArray<market::RowPlace> order_rows(const std::vector<Times>& known, const market::CommonSplit& common,
                                          const Workspace& workspace, market::Split& split) {
    std::vector<market::RowRange> train, between, validation;
    for (const market::Split& part : common.parts) {
        train.push_back(part.train());
        between.push_back({part.train_end, part.validation_begin});
        validation.push_back(part.validation());
        split.purge = part.purge;
        split.purge_raised = part.purge_raised;
    }
    const std::array groups{market::order_by_time(known, train, workspace),
                            market::order_by_time(known, between, workspace),
                            market::order_by_time(known, validation, workspace)};
    split.train_end = groups[0].size();
    split.validation_begin = split.train_end + groups[1].size();
    split.validation_end = split.validation_begin + groups[2].size();
    ScratchArray<market::RowPlace> places(split.validation_end, workspace.folder);
    auto to = places.begin();
    for (const auto& group : groups)
        to = std::copy(group.begin(), group.end(), to);
    return places;
}

/// Adds one input per instrument to each row: 1 for its own, 0 for the others.
ScratchArray<float> with_one_hot(const ScratchArray<float>& inputs, const market::FeatureMatrix& matrix,
                                 std::size_t instruments, const Workspace& workspace) {
    const std::size_t columns = matrix.columns(), wide = columns + instruments;
    ScratchArray<float> result(matrix.rows() * wide, workspace.folder);
    for (std::size_t row = 0; row < matrix.rows(); ++row) {
        std::copy_n(inputs.data() + row * columns, columns, result.data() + row * wide);
        result[row * wide + columns + matrix.instrument[row]] = 1;
    }
    return result;
}

/// Computes the shares of rises and the scales of the targets, over all training rows and over those of each
/// instrument.
void describe_targets(const TrainConfig& config, const std::vector<market::LabeledRows>& parts,
                      const market::CommonSplit& split, Dataset& set) {
    const auto train = std::span<const float>(set.targets.values).first(set.split.train_end);
    set.training_share_up = share_of_rises(set.meaning, train);
    set_scale(set.meaning, train);
    for (std::size_t i = 0; i < parts.size(); ++i) {
        DatasetInstrument& instrument = set.instruments[i];
        instrument.training_rows = split.parts[i].train().size();
        instrument.validation_rows = split.parts[i].validation().size();
        const auto own = std::span<const float>(parts[i].targets.values).first(instrument.training_rows);
        TargetMeaning meaning = set.meaning;
        if (config.scale_by == ScaleBy::instrument) {
            meaning = target_meaning(config);
            set_scale(meaning, own);
        }
        instrument.target_scale = meaning.scale;
        instrument.target_center = meaning.center;
        // An instrument without training rows has no share and no mean of its own.
        const auto known = own.empty() ? train : own;
        instrument.training_share_up = share_of_rises(set.meaning, known);
        instrument.training_mean = mean_target(set.meaning, known);
    }
}

ScratchArray<float> scaled_by_instrument(const TrainConfig& config,
                                         const std::vector<market::LabeledRows>& parts,
                                         const market::CommonSplit& split,
                                         std::span<const market::RowPlace> places, Dataset& set,
                                         ThreadPool& pool, const Workspace& workspace) {
    std::vector<ScratchArray<float>> scaled;
    std::vector<std::span<const float>> spans;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const market::FeatureMatrix& matrix = parts[i].matrix;
        set.instruments[i].scaler =
            market::Scaler::fit(matrix, split.parts[i].train(), config.scaler, pool, workspace);
        scaled.push_back(set.instruments[i].scaler.transform(matrix, {0, matrix.rows()}, pool, workspace));
        spans.emplace_back(scaled.back());
    }
    return market::gather<float>(places, spans, parts.front().matrix.columns(), workspace);
}

} // namespace

std::string instrument_input_name(const std::string& instrument) {
    return "instrument " + instrument;
}

Dataset joint_dataset(const TrainConfig& config, std::span<const MarketData> markets,
                      const std::vector<market::LabeledRows>& parts, ThreadPool& pool,
                      const Workspace& workspace) {
    Dataset set;
    set.meaning = target_meaning(config);
    const auto known = known_times(parts);
    const market::CommonSplit split =
        market::split_at_common_time(known, config.train_split, static_cast<std::size_t>(config.purge),
                                     static_cast<std::size_t>(config.embargo), set.meaning.horizon);
    require_both_sets(config, markets, split);
    const auto places = order_rows(known, split, workspace, set.split);
    market::LabeledRows rows = market::join_rows(parts, places, workspace);

    ScratchArray<float> inputs;
    for (const MarketData& data : markets)
        set.instruments.push_back({.name = data.instrument});
    if (config.scale_by == ScaleBy::instrument) {
        inputs = scaled_by_instrument(config, parts, split, places, set, pool, workspace);
    } else {
        set.scaler = market::Scaler::fit(rows.matrix, set.split.train(), config.scaler, pool, workspace);
        inputs = set.scaler.transform(rows.matrix, {0, rows.rows()}, pool, workspace);
    }
    set.take(std::move(rows));
    set.matrix.values = {}; // the inputs replace them
    describe_targets(config, parts, split, set);
    if (config.instrument_input == InstrumentInput::one_hot) {
        inputs = with_one_hot(inputs, set.matrix, parts.size(), workspace);
        for (const DatasetInstrument& instrument : set.instruments)
            set.matrix.names.push_back(instrument_input_name(instrument.name));
    }
    set.rows =
        std::make_shared<const NetworkRows>(NetworkRows{std::move(inputs), network_targets(set, workspace)});
    return set;
}

} // namespace rekindle::trainer
