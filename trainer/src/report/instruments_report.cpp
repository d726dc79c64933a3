#include "instruments_report.h"

#include <rekindle/base/text.h>
#include <rekindle/market/clock.h>

#include <fmt/format.h>

#include <algorithm>

namespace rekindle::trainer {

namespace {

ReportTable data_table(const TrainedRun& run) {
    ReportTable table{
        "Data of each instrument",
        {"instrument", "bars", "sessions", "from", "to", "tick (points)", "training rows", "validation rows"},
        {},
        ""};
    for (std::size_t i = 0; i < run.markets.size(); ++i) {
        const MarketData& data = run.markets[i];
        const DatasetInstrument& instrument = run.set.instruments[i];
        table.rows.push_back(
            {instrument.name, with_thousands(static_cast<std::int64_t>(data.read.report.rows)),
             with_thousands(static_cast<std::int64_t>(data.summaries.size())),
             market::format_date(data.summaries.front().date),
             market::format_date(data.summaries.back().date),
             data.read.report.profile_bin > 0 ? "none" : shortest(data.read.report.tick.points),
             with_thousands(static_cast<std::int64_t>(instrument.training_rows)),
             with_thousands(static_cast<std::int64_t>(instrument.validation_rows))});
    }
    return table;
}

const Score* score_named(const Evaluation& evaluation, const std::string& name) {
    const auto found = std::ranges::find(evaluation.scores, name, &Score::name);
    return found == evaluation.scores.end() ? nullptr : &*found;
}

/// The table of one score: its value over all rows, and the value of each instrument.
ReportTable score_table(const TrainedRun& run, const Score& of_all) {
    const std::string unit = of_all.unit.empty() ? "" : " (" + of_all.unit + ")";
    ReportTable table{
        of_all.name + unit, {"instrument", "value", "95\u202f% interval", "baseline", "baseline is"}, {}, ""};
    const auto add = [&](const std::string& name, const Score& score) {
        table.rows.push_back({name, fmt::format("{:.3g}", score.value),
                              fmt::format("{:.3g} to {:.3g}", score.interval.low, score.interval.high),
                              fmt::format("{:.3g}", score.baseline), score.baseline_name});
    };
    add("all", of_all);
    for (std::size_t i = 0; i < run.by_instrument.size(); ++i)
        if (const Score* own = score_named(run.by_instrument[i], of_all.name))
            add(run.set.instruments[i].name, *own);
    return table;
}

} // namespace

ReportSection instruments_section(const TrainedRun& run) {
    ReportSection section{"Instruments", {}, {}, {}};
    section.sentences.push_back(fmt::format(
        "One network was trained on the rows of {}, split at one time for all of them. {} {} Of many "
        "instruments, about one in 40 beats its baseline by chance alone: the verdict is about all rows "
        "together.",
        counted(run.markets.size(), "instrument"),
        run.config.scale_by == ScaleBy::instrument
            ? "Features and returns are scaled by each instrument's own training rows."
            : "One scaling is fitted on the training rows of all instruments.",
        run.config.instrument_input == InstrumentInput::one_hot
            ? "An input for each instrument tells the network which one a row belongs to."
            : "The network is not told which instrument a row belongs to."));
    section.tables.push_back(data_table(run));
    for (std::size_t i = 0; i < run.evaluation.scores.size(); ++i) {
        const Score& score = run.evaluation.scores[i];
        const bool repeated = score_named(run.evaluation, score.name) != &score;
        if (!repeated)
            section.tables.push_back(score_table(run, score));
    }
    return section;
}

} // namespace rekindle::trainer
