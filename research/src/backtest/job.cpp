#include "job_costs.h"
#include "outputs.h"

#include <rekindle/base/file.h>
#include <rekindle/base/text.h>
#include <rekindle/market/bar_ends.h>
#include <rekindle/market/clock.h>
#include <rekindle/research/backtest_job.h>
#include <rekindle/trainer/market_data.h>
#include <rekindle/trainer/predictions.h>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>

namespace rekindle::research {

namespace {

struct Signals {
    std::vector<Decision> decisions;
    std::string text = {};
    std::vector<std::string> notes = {};
    std::size_t chosen_on = 0; ///< as BacktestOutcome::chosen_on
};

Error no_overlap(const std::filesystem::path& file) {
    return usage_error("no bar comes after the first decision in the file")
        .at(file.string())
        .hint("The file and the bars must cover the same time; known_at is in UTC.");
}

/// Makes decisions from the predictions, and cuts the series after the bar in which the last prediction
/// became known.
Signals from_predictions(const BacktestJob& job, TradedSeries& series) {
    const auto rows =
        select_predictions(job.signals_csv ? parse_predictions(*job.signals_csv, job.predictions.string())
                                           : read_predictions(job.predictions),
                           job.filter);
    const auto end = std::ranges::upper_bound(series.bars, rows.back().known_at, {}, &TradedBar::end);
    series.bars.erase(end, series.bars.end());
    Signals signals;
    PredictionRule rule = job.rule;
    const bool probabilities = are_probabilities(rows);
    rule.center = job.center.value_or(probabilities ? 0.5 : 0);
    signals.decisions = decisions_from(rows, rule, series);
    signals.text = fmt::format("{} from {}, long above {:g}, short below {:g}",
                               counted(rows.size(), "prediction"), job.predictions.filename().string(),
                               rule.center + rule.threshold, rule.center - rule.threshold);
    if (rule.direction != Direction::both)
        signals.text += rule.direction == Direction::long_only ? ", long only" : ", short only";
    signals.chosen_on =
        static_cast<std::size_t>(std::ranges::count(rows, trainer::validation_fold, &PredictionRow::fold));
    if (signals.chosen_on > 0)
        signals.notes.push_back(fmt::format(
            "{} of the {} predictions are for the validation rows of a training run. Their loss chose the "
            "network's epoch, which flatters the strategy; rekindle walk-forward predicts rows that chose "
            "nothing",
            with_thousands(static_cast<std::int64_t>(signals.chosen_on)),
            with_thousands(static_cast<std::int64_t>(rows.size()))));
    if (probabilities && !job.center)
        signals.notes.push_back("the predictions are probabilities of a rise, so their center is 0.5");
    return signals;
}

Signals signals_of(const BacktestJob& job, TradedSeries& series) {
    if (!job.predictions.empty())
        return from_predictions(job, series);
    Signals signals{.decisions = job.signals_csv ? parse_positions(*job.signals_csv, job.positions.string())
                                                 : read_positions(job.positions)};
    signals.text = fmt::format("{} from {}", counted(signals.decisions.size(), "position"),
                               job.positions.filename().string());
    return signals;
}

/// Reads the bars and divides them into sessions. Includes the bars of an unfinished session.
void read_series(const BacktestJob& job, const std::filesystem::path& column_file, ThreadPool& pool,
                 trainer::ProgressSink& progress, const CancellationToken& cancellation,
                 const trainer::BarReader& read_bars, BacktestOutcome& outcome) {
    const auto start = std::chrono::steady_clock::now();
    const auto reading = [&](std::uint64_t done, std::uint64_t total) {
        constexpr double none = std::numeric_limits<double>::quiet_NaN();
        progress.advanced({"Reading bars", done, total, "bytes", none, none, none});
    };
    const market::ReadResult read =
        read_bars(trainer::read_options(job.bars, column_file), pool, progress, cancellation, reading);
    if (cancellation.requested())
        throw Error("interrupted; nothing was written", ExitStatus::interrupted);
    const market::SessionRules rules = trainer::session_rules(job.bars);
    trainer::warn_of_clock(job.bars, read, rules, progress);
    const market::HolidayCalendar calendar = trainer::holiday_calendar(job.bars);
    market::SessionPlan plan =
        market::plan_sessions(read.bars, rules, calendar, trainer::roll_method(job.bars));
    if (!plan.sessions.empty() && !plan.sessions.back().complete)
        plan.notes.pop_back(); // it says that the last session is not used, but a backtest does use it
    for (const std::string& note : plan.notes)
        progress.info(note);
    outcome.bars = read.report;
    outcome.raw_labels = rules.raw_labels;
    outcome.series = traded_series(read.bars, plan, market::BarEnds(read.bars, rules, calendar), rules);
    if (!read.rejected.empty()) {
        outcome.notes.push_back(fmt::format("{} skipped, listed in rejected.csv",
                                            counted(read.rejected.size(), "bad row was", "bad rows were")));
        ensure_directory(job.output);
        market::write_rejected_rows(job.output / "rejected.csv", read.rejected);
    }
    progress.stage_ended(
        "Reading bars", std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(),
        fmt::format("{} in {}, {}", counted(outcome.series.bars.size(), "bar"),
                    counted(plan.sessions.size(), "session"), counted(plan.rolls.size(), "roll")));
}

} // namespace

BacktestOutcome run_backtest_job(const BacktestJob& job, const std::filesystem::path& column_file,
                                 ThreadPool& pool, trainer::ProgressSink& progress,
                                 const CancellationToken& cancellation, const trainer::BarReader& read_bars) {
    if (job.predictions.empty() == job.positions.empty())
        throw usage_error("a backtest needs either predictions or positions")
            .expected("--predictions FILE or --positions FILE");
    BacktestOutcome outcome;
    read_series(job, column_file, pool, progress, cancellation, read_bars, outcome);
    const auto start = std::chrono::steady_clock::now();
    Signals signals = signals_of(job, outcome.series);
    const std::vector<TradedBar>& bars = outcome.series.bars;
    outcome.signals_text = signals.text;
    outcome.chosen_on = signals.chosen_on;
    outcome.notes.insert(outcome.notes.end(), signals.notes.begin(), signals.notes.end());
    const std::filesystem::path file = job.predictions.empty() ? job.positions : job.predictions;
    if (bars.empty() || signals.decisions.empty())
        throw no_overlap(file);
    const auto first =
        std::ranges::lower_bound(bars, signals.decisions.front().known_at, {}, &TradedBar::begin);
    if (first == bars.end())
        throw no_overlap(file);
    outcome.first = static_cast<std::size_t>(first - bars.begin());

    JobCosts costs = costs_of(job, outcome.series);
    outcome.costs = costs.costs;
    outcome.costs_text = std::move(costs.text);
    outcome.currency = std::move(costs.currency);
    BacktestOptions options = job.options;
    options.costs = outcome.costs;
    outcome.judged =
        judge_backtest(outcome.series, signals.decisions, options, outcome.first, job.trials, job.seed);
    trainer::Evaluation& evaluation = outcome.judged.evaluation.evaluation;
    if (outcome.chosen_on > 0 && evaluation.has_edge)
        evaluation.verdict.label = "Edge on validation rows";
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    progress.stage_ended("Backtest", seconds,
                         fmt::format("{}, {}", counted(bars.size() - outcome.first, "bar"),
                                     counted(outcome.judged.result.trades.size(), "trade")));
    for (const std::string& note : outcome.notes)
        progress.info(note);
    const Performance& own = outcome.judged.evaluation.strategy;
    if (own.refused > 0)
        progress.warning(
            fmt::format("the equity did not cover the margin of {}; use more --capital or a smaller --size",
                        counted(own.refused, "order")));
    if (own.unsized > 0)
        progress.warning(fmt::format("the sizing rule could not size {}", counted(own.unsized, "decision")));
    write_backtest_files(job, outcome);
    return outcome;
}

} // namespace rekindle::research
