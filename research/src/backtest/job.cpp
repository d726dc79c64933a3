#include "job_costs.h"
#include "outputs.h"

#include <rekindle/base/clock.h>
#include <rekindle/base/text.h>
#include <rekindle/foundation/file.h>
#include <rekindle/market/bar_ends.h>
#include <rekindle/market/clock.h>
#include <rekindle/research/backtest_job.h>
#include <rekindle/trainer/market_data.h>
#include <rekindle/trainer/predictions.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <set>

namespace rekindle::research {

namespace {

using Steady = std::chrono::steady_clock;

/// The predictions or positions of a job's file, of which one is not empty.
struct SignalFile {
    std::filesystem::path path;
    std::vector<PredictionRow> predictions;
    Positions positions;

    bool are_predictions() const { return !predictions.empty(); }
    std::set<std::string> instruments() const {
        std::set<std::string> names;
        for (const PredictionRow& row : predictions)
            names.insert(row.instrument);
        for (const auto& [name, decisions] : positions)
            names.insert(name);
        return names;
    }
};

SignalFile read_signals(const BacktestJob& job) {
    SignalFile file;
    if (!job.predictions.empty()) {
        file.path = job.predictions;
        file.predictions = job.signals_csv ? parse_predictions(*job.signals_csv, file.path.string())
                                           : read_predictions(file.path);
    } else {
        file.path = job.positions;
        file.positions = job.signals_csv ? parse_positions(*job.signals_csv, file.path.string())
                                         : read_positions(file.path);
    }
    return file;
}

/// The decisions for one instrument.
struct Signals {
    std::vector<Decision> decisions;
    std::string text = {};
    bool probabilities = false;
    std::size_t predictions = 0;
    std::size_t chosen_on = 0; ///< as BacktestOutcome::chosen_on
};

Error no_overlap(const std::filesystem::path& file) {
    return usage_error("no bar comes after the first decision in the file")
        .at(file.string())
        .hint("The file and the bars must cover the same time; known_at is in UTC.");
}

/// Makes decisions from the predictions, and cuts the series after the bar in which the last prediction
/// became known. `instrument` replaces the filter's unless it is "".
Signals from_predictions(const BacktestJob& job, const SignalFile& file, const std::string& instrument,
                         TradedSeries& series) {
    PredictionFilter filter = job.filter;
    if (!instrument.empty())
        filter.instrument = instrument;
    const auto rows = select_predictions(file.predictions, filter);
    const auto end = std::ranges::upper_bound(series.bars, rows.back().known_at, {}, &TradedBar::end);
    series.bars.erase(end, series.bars.end());
    Signals signals;
    PredictionRule rule = job.rule;
    signals.probabilities = are_probabilities(rows);
    rule.center = job.center.value_or(signals.probabilities ? 0.5 : 0);
    signals.decisions = decisions_from(rows, rule, series);
    signals.text = fmt::format("long above {:g}, short below {:g}", rule.center + rule.threshold,
                               rule.center - rule.threshold);
    if (rule.direction != Direction::both)
        signals.text += rule.direction == Direction::long_only ? ", long only" : ", short only";
    signals.predictions = rows.size();
    signals.chosen_on =
        static_cast<std::size_t>(std::ranges::count(rows, trainer::validation_fold, &PredictionRow::fold));
    return signals;
}

Signals from_positions(const SignalFile& file, const std::string& instrument) {
    if (instrument.empty() && file.positions.size() > 1)
        throw usage_error("the positions are of several instruments")
            .at(file.path.string())
            .expected(fmt::format("--several-instruments, or positions of one of {}",
                                  fmt::join(file.instruments(), ", ")));
    return {.decisions = instrument.empty() ? file.positions.begin()->second : file.positions.at(instrument)};
}

/// The instruments to trade: those that have both bars and decisions. Notes the others.
std::vector<trainer::InstrumentBars> with_decisions(const BacktestJob& job, const SignalFile& file,
                                                    std::vector<trainer::InstrumentBars> instruments,
                                                    std::vector<std::string>& notes) {
    std::set<std::string> in_file = file.instruments(), in_bars;
    for (const trainer::InstrumentBars& instrument : instruments)
        in_bars.insert(instrument.name);
    if (!job.filter.instrument.empty())
        in_file = {job.filter.instrument};
    std::vector<std::string> without_bars, without_decisions;
    std::ranges::set_difference(in_file, in_bars, std::back_inserter(without_bars));
    std::ranges::set_difference(in_bars, in_file, std::back_inserter(without_decisions));
    std::erase_if(instruments, [&](const auto& instrument) { return !in_file.contains(instrument.name); });
    if (instruments.empty())
        throw usage_error("no decision belongs to an instrument of the bars")
            .at(file.path.string())
            .expected(fmt::format("the column instrument with {}", fmt::join(in_bars, ", ")))
            .hint(fmt::format("The file has: {}.", fmt::join(in_file, ", ")));
    if (!without_bars.empty())
        notes.push_back(fmt::format("there are no bars of {}, so the decisions for {} are not used",
                                    fmt::join(without_bars, ", "), without_bars.size() == 1 ? "it" : "them"));
    if (!without_decisions.empty())
        notes.push_back(fmt::format("there are no decisions for {}, so {} no share of the capital",
                                    fmt::join(without_decisions, ", "),
                                    without_decisions.size() == 1 ? "it has" : "they have"));
    return instruments;
}

/// Reads bars and divides them into sessions. Includes the bars of an unfinished session.
TradedInstrument read_series(const trainer::InstrumentBars& source, const BacktestJob& job, ThreadPool& pool,
                             trainer::ProgressSink& progress, const CancellationToken& cancellation,
                             std::vector<market::RejectedRow>& rejected) {
    const auto start = Steady::now();
    const auto reading = [&](std::uint64_t done, std::uint64_t total) {
        constexpr double none = std::numeric_limits<double>::quiet_NaN();
        progress.advanced({"Reading bars", done, total, "bytes", none, none, none});
    };
    const trainer::TrainConfig& config = source.config;
    const market::ReadResult read = source.read_bars(trainer::read_options(config, source.column_file), pool,
                                                     progress, cancellation, reading);
    if (cancellation.requested())
        throw Error("interrupted; nothing was written", ExitStatus::interrupted);
    const market::SessionRules rules = trainer::session_rules(config);
    trainer::warn_of_clock(config, read, rules, progress);
    const market::HolidayCalendar calendar = trainer::holiday_calendar(config);
    market::SessionPlan plan =
        market::plan_sessions(read.bars, rules, calendar, trainer::roll_method(config));
    if (!plan.sessions.empty() && !plan.sessions.back().complete)
        plan.notes.pop_back(); // it says that the last session is not used, but a backtest does use it
    for (const std::string& note : plan.notes)
        progress.info(note);
    TradedInstrument instrument;
    instrument.name = source.name;
    instrument.bars = read.report;
    instrument.raw_labels = rules.raw_labels;
    instrument.series = traded_series(read.bars, plan, market::BarEnds(read.bars, rules, calendar), rules);
    rejected.insert(rejected.end(), read.rejected.begin(), read.rejected.end());
    JobCosts costs = costs_of(job, config, instrument.series);
    instrument.costs = costs.costs;
    instrument.costs_text = std::move(costs.text);
    instrument.currency = std::move(costs.currency);
    progress.stage_ended(
        source.name.empty() ? "Reading bars" : "Reading bars of " + source.name, seconds_since(start),
        fmt::format("{} in {}, {}", counted(instrument.series.bars.size(), "bar"),
                    counted(plan.sessions.size(), "session"), counted(plan.rolls.size(), "roll")));
    return instrument;
}

/// Finds the first bar of the judged period, and runs the backtest with this part of the capital.
void trade(const BacktestJob& job, const Signals& signals, const std::filesystem::path& file, double capital,
           TradedInstrument& instrument) {
    const std::vector<TradedBar>& bars = instrument.series.bars;
    if (bars.empty() || signals.decisions.empty())
        throw no_overlap(file);
    const auto first =
        std::ranges::lower_bound(bars, signals.decisions.front().known_at, {}, &TradedBar::begin);
    if (first == bars.end())
        throw no_overlap(file);
    instrument.first = static_cast<std::size_t>(first - bars.begin());
    BacktestOptions options = job.options;
    options.costs = instrument.costs;
    options.capital = capital;
    instrument.judged =
        judge_backtest(instrument.series, signals.decisions, options, instrument.first, job.trials, job.seed);
}

/// Throws Error (usage) if profits in different currencies would be added.
std::string common_currency(const std::vector<TradedInstrument>& instruments) {
    std::string currency;
    for (const TradedInstrument& instrument : instruments) {
        if (!currency.empty() && !instrument.currency.empty() && instrument.currency != currency)
            throw usage_error(
                fmt::format("profits in {} and {} cannot be added", currency, instrument.currency))
                .at("--several-instruments")
                .expected("instruments that trade in one currency")
                .hint("Select them with --contract, and run one backtest for each currency.");
        if (!instrument.currency.empty())
            currency = instrument.currency;
    }
    return currency;
}

void describe_signals(const SignalFile& file, std::span<const Signals> signals, const BacktestJob& job,
                      BacktestOutcome& outcome) {
    std::size_t predictions = 0, positions = 0;
    bool probabilities = false;
    for (const Signals& own : signals) {
        predictions += own.predictions;
        positions += own.decisions.size();
        outcome.chosen_on += own.chosen_on;
        probabilities = probabilities || own.probabilities;
    }
    const std::string of = signals.size() > 1 ? " for " + counted(signals.size(), "instrument") : "";
    const std::string name = file.path.filename().string();
    if (!file.are_predictions()) {
        outcome.signals_text = fmt::format("{}{} from {}", counted(positions, "position"), of, name);
        return;
    }
    outcome.signals_text =
        fmt::format("{}{} from {}, {}", counted(predictions, "prediction"), of, name, signals.front().text);
    if (outcome.chosen_on > 0)
        outcome.notes.push_back(fmt::format(
            "{} of the {} predictions are for the validation rows of a training run. Their loss chose the "
            "network's epoch, which flatters the strategy; rekindle walk-forward predicts rows that chose "
            "nothing",
            with_thousands(static_cast<std::int64_t>(outcome.chosen_on)),
            with_thousands(static_cast<std::int64_t>(predictions))));
    if (probabilities && !job.center)
        outcome.notes.push_back("the predictions are probabilities of a rise, so their center is 0.5");
}

/// With several instruments, the hours of each unless the user gave some.
trainer::TrainConfig with_own_hours(trainer::TrainConfig config) {
    const trainer::TrainConfig usual;
    const bool own_hours = config.zone != usual.zone || config.day_start != usual.day_start ||
                           config.regular_hours != usual.regular_hours || config.days != usual.days;
    if (config.several_instruments != trainer::SeveralInstruments::no && config.instrument == "auto" &&
        !own_hours)
        config.instrument = "each";
    return config;
}

void report_problems(const Performance& figures, trainer::ProgressSink& progress) {
    if (figures.refused > 0)
        progress.warning(
            fmt::format("the equity did not cover the margin of {}; use more --capital or a smaller --size",
                        counted(figures.refused, "order")));
    if (figures.unsized > 0)
        progress.warning(
            fmt::format("the sizing rule could not size {}", counted(figures.unsized, "decision")));
}

} // namespace

std::vector<PlacedTrade> trades_of(const BacktestOutcome& outcome) {
    std::vector<PlacedTrade> trades;
    for (const TradedInstrument& instrument : outcome.instruments)
        for (const Trade& trade : instrument.judged.result.trades)
            trades.push_back({instrument, trade});
    std::vector<std::size_t> order(trades.size());
    for (std::size_t i = 0; i < order.size(); ++i)
        order[i] = i;
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return trades[i].exit().end; });
    std::vector<PlacedTrade> sorted;
    for (const std::size_t i : order)
        sorted.push_back(trades[i]);
    return sorted;
}

BacktestOutcome run_backtest_job(const BacktestJob& job, const std::filesystem::path& column_file,
                                 ThreadPool& pool, trainer::ProgressSink& progress,
                                 const CancellationToken& cancellation, const trainer::BarReader& read_bars) {
    if (job.predictions.empty() == job.positions.empty())
        throw usage_error("a backtest needs either predictions or positions")
            .expected("--predictions FILE or --positions FILE");
    const bool several = job.bars.several_instruments != trainer::SeveralInstruments::no;
    if (several && job.point_value)
        throw usage_error("several instruments have no common value of a point")
            .at("--point-value")
            .hint("A list of your own gives each its value: --instruments FILE.");
    BacktestOutcome outcome;
    const SignalFile file = read_signals(job);
    auto sources =
        trainer::find_instruments(with_own_hours(job.bars), column_file, pool, cancellation, read_bars);
    if (several)
        sources = with_decisions(job, file, std::move(sources), outcome.notes);
    std::vector<market::RejectedRow> rejected;
    for (const trainer::InstrumentBars& source : sources)
        outcome.instruments.push_back(read_series(source, job, pool, progress, cancellation, rejected));
    if (!rejected.empty()) {
        outcome.notes.push_back(fmt::format("{} skipped, listed in rejected.csv",
                                            counted(rejected.size(), "bad row was", "bad rows were")));
        ensure_directory(job.output);
        market::write_rejected_rows(job.output / "rejected.csv", rejected);
    }
    outcome.currency = common_currency(outcome.instruments);

    const auto start = Steady::now();
    std::vector<Signals> signals;
    std::vector<JudgedBacktest> parts;
    std::size_t bars = 0;
    for (TradedInstrument& instrument : outcome.instruments) {
        signals.push_back(file.are_predictions()
                              ? from_predictions(job, file, instrument.name, instrument.series)
                              : from_positions(file, instrument.name));
        trade(job, signals.back(), file.path,
              job.options.capital / static_cast<double>(outcome.instruments.size()), instrument);
        parts.push_back(instrument.judged);
        bars += instrument.series.bars.size() - instrument.first;
    }
    describe_signals(file, signals, job, outcome);
    outcome.judged = several ? combine_backtests(parts, job.trials, job.seed) : std::move(parts.front());
    trainer::Evaluation& evaluation = outcome.judged.evaluation.evaluation;
    if (outcome.chosen_on > 0 && evaluation.has_edge)
        evaluation.verdict.label = "Edge on validation rows";
    progress.stage_ended("Backtest", seconds_since(start),
                         fmt::format("{}, {}", counted(bars, "bar"),
                                     counted(outcome.judged.evaluation.strategy.trades, "trade")));
    for (const std::string& note : outcome.notes)
        progress.info(note);
    report_problems(outcome.judged.evaluation.strategy, progress);
    write_backtest_files(job, outcome);
    return outcome;
}

} // namespace rekindle::research
