#include "build_features.h"
#include "instrument_messages.h"

#include <rekindle/base/text.h>
#include <rekindle/foundation/error.h>
#include <rekindle/market/labeled_rows.h>
#include <rekindle/trainer/dataset.h>

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

namespace rekindle::trainer {

namespace {

/// Whether an instrument has enough rows. Several instruments are split at one time, so only a single one
/// must also have enough rows for its split.
bool enough_rows(std::size_t rows, const TrainConfig& config, const market::TargetSpec& spec) {
    const bool splits_alone = config.several_instruments == SeveralInstruments::no;
    return rows >= min_training_rows &&
           (!splits_alone || market::can_be_split(rows, config.train_split, purge_of(config),
                                                  static_cast<std::size_t>(config.embargo),
                                                  purged_horizon(config, spec.horizon())));
}

/// How many more rows are needed; nothing if no number of rows would be enough.
std::optional<std::size_t> rows_missing(std::size_t rows, const TrainConfig& config,
                                        const market::TargetSpec& spec) {
    constexpr std::size_t most = 1'000'000;
    for (std::size_t more = 1; more < most; ++more)
        if (enough_rows(rows + more, config, spec))
            return more;
    return std::nullopt;
}

/// Why a row that is counted as flat has no target.
std::string_view reason_of_flat(const TargetMeaning& meaning) {
    if (meaning.kind == market::TargetKind::barrier)
        return "the price reached neither barrier";
    return meaning.dead_band > 0 ? "the price hardly moved, so there is no direction to learn"
                                 : "the price did not move, so there is no direction to learn";
}

/// Throws Error (usage) if the instrument has too few rows. `notes` are the notes of its features.
void require_rows(const market::Targets& targets, const std::vector<std::string>& notes,
                  const TrainConfig& config, const market::TargetSpec& spec, const MarketData& data) {
    const std::size_t usable = targets.usable_rows();
    if (enough_rows(usable, config, spec))
        return;
    const char* noun = per_bar(config) ? "bar" : "session";
    std::string hint;
    if (const auto missing = rows_missing(usable, config, spec))
        hint = fmt::format("At least {} needed.", counted(*missing, fmt::format("more {} is", noun),
                                                          fmt::format("more {}s are", noun)));
    if (targets.beyond_session > 0)
        hint += fmt::format(" The target of {} is beyond the end of its session: --across-sessions keeps "
                            "{}, a smaller --target-bars affects fewer rows.",
                            counted(static_cast<std::int64_t>(targets.beyond_session), "row"),
                            targets.beyond_session == 1 ? "it" : "them");
    if (targets.flat > 0)
        hint += fmt::format(" {} no target: {}.",
                            counted(static_cast<std::int64_t>(targets.flat), "row has", "rows have"),
                            reason_of_flat(target_meaning(config)));
    if (!data.instrument.empty())
        hint += " Give more data for the instrument, or leave it out by naming the others with --contract.";
    for (const std::string& note : notes)
        hint += "\n  " + note;
    throw usage_error(fmt::format("only {} with all features and a known outcome {} left from {}",
                                  counted(static_cast<std::int64_t>(usable), "row"),
                                  usable == 1 ? "is" : "are",
                                  counted(static_cast<std::int64_t>(data.summaries.size()), "session")))
        .at(data.instrument)
        .expected(
            data.instrument.empty()
                ? fmt::format("at least {}, split into a training and a validation set", min_training_rows)
                : fmt::format("at least {} of each instrument", min_training_rows))
        .hint(std::move(hint));
}

void note_missing_targets(const market::Targets& targets, const TargetMeaning& meaning,
                          ProgressSink& progress) {
    if (targets.beyond_session > 0)
        progress.info(fmt::format(
            "{} omitted: the target is beyond the end of the session (--across-sessions keeps such rows)",
            counted(static_cast<std::int64_t>(targets.beyond_session), "row is", "rows are")));
    if (targets.not_positive > 0)
        progress.info(fmt::format(
            "{} omitted: a close is not above zero, and the target is the logarithm of a ratio of closes",
            counted(static_cast<std::int64_t>(targets.not_positive), "row is", "rows are")));
    if (targets.flat > 0)
        progress.info(fmt::format("{} omitted: {}",
                                  counted(static_cast<std::int64_t>(targets.flat), "row is", "rows are"),
                                  reason_of_flat(meaning)));
    if (targets.no_past > 0)
        progress.info(fmt::format("{} omitted: the barriers need {} earlier returns",
                                  counted(static_cast<std::int64_t>(targets.no_past), "row is", "rows are"),
                                  market::TargetSpec::trailing_returns));
}
} // namespace

std::size_t purge_of(const TrainConfig& config) {
    return config.compat == Compat::original ? 0 : static_cast<std::size_t>(config.purge);
}

std::size_t purged_horizon(const TrainConfig& config, std::size_t horizon) {
    return config.compat == Compat::original ? 0 : horizon;
}

market::Targets build_targets(const TargetMeaning& meaning, const market::FeatureMatrix& matrix,
                              const MarketData& data, const Workspace& workspace) {
    const market::TargetSpec spec = target_spec(meaning);
    return meaning.per_bar ? market::bar_targets(matrix, data.read.bars, data.plan.sessions, spec, workspace)
                           : market::session_targets(matrix, data.summaries, spec);
}

std::vector<market::LabeledRows> build_rows(const TrainConfig& config, std::span<const MarketData> markets,
                                            ThreadPool& pool, ProgressSink& progress,
                                            const Workspace& workspace,
                                            std::span<const std::string> features) {
    const TargetMeaning meaning = target_meaning(config);
    const market::TargetSpec spec = target_spec(meaning);
    std::vector<market::Targets> targets(markets.size());
    const auto enough = [&](std::size_t i, const market::FeatureMatrix& matrix) {
        targets[i] = build_targets(meaning, matrix, markets[i], workspace);
        return enough_rows(targets[i].usable_rows(), config, spec);
    };
    std::vector<market::FeatureMatrix> matrices;
    if (features.empty())
        matrices = features_with_enough_rows(config, markets, pool, workspace, enough);
    for (std::size_t i = 0; i < markets.size() && !features.empty(); ++i) {
        matrices.push_back(
            build_named_features(features, meaning.per_bar, config, markets[i], pool, workspace));
        enough(i, matrices[i]);
    }
    std::vector<market::LabeledRows> rows;
    InstrumentMessages messages(progress);
    for (std::size_t i = 0; i < markets.size(); ++i) {
        require_rows(targets[i], matrices[i].notes, config, spec, markets[i]);
        messages.begin(markets[i].instrument);
        note_missing_targets(targets[i], meaning, messages);
        for (const std::string& note : std::exchange(matrices[i].notes, {}))
            messages.info(note);
        rows.push_back(market::label_rows(std::move(matrices[i]), std::move(targets[i]), markets[i].ends,
                                          meaning.horizon, workspace));
    }
    messages.report();
    return rows;
}

} // namespace rekindle::trainer
