#pragma once
/// Runs a backtest on files: reads bars and predictions or positions; writes trades, equity, and a report.

#include <rekindle/base/cancellation.h>
#include <rekindle/base/thread_pool.h>
#include <rekindle/market/read_bars.h>
#include <rekindle/research/performance.h>
#include <rekindle/research/signals.h>
#include <rekindle/trainer/config.h>
#include <rekindle/trainer/market_data.h>
#include <rekindle/trainer/progress.h>

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace rekindle::research {

/// The user's choices. What is left empty follows from the instrument's costs or from the predictions. With
/// several instruments, each has an account with an equal share of the capital, and pays its own costs.
struct BacktestJob {
    trainer::TrainConfig bars;              ///< how to read the bars
    std::filesystem::path predictions;      ///< a file; either this or `positions` is set
    std::filesystem::path positions;        ///< a file
    std::optional<std::string> signals_csv; ///< the content of that file; if set, the file is not read
    PredictionFilter filter;
    PredictionRule rule;
    std::optional<double> center; ///< of the rule; if empty, 0 for returns and 0.5 for probabilities
    BacktestOptions options;      ///< the job replaces its costs with the instrument's
    std::filesystem::path costs;  ///< list of costs; "" for the built-in one
    std::optional<double> point_value, commission, commission_percent, slippage_ticks, slippage_percent,
        margin_percent;
    std::size_t trials = 1;
    std::uint64_t seed = 0;
    std::filesystem::path output; ///< folder
};

/// An instrument in a backtest.
struct TradedInstrument {
    std::string name;        ///< "" without --several-instruments
    TradedSeries series;     ///< the bars that were traded
    market::ReadReport bars; ///< how the bars were read
    bool raw_labels = false; ///< times are the file's own labels, not instants
    std::size_t first = 0;   ///< the first bar of the judged period
    Costs costs;
    std::string costs_text; ///< "ES: 50 USD per point, commission 2.5 USD per contract and fill, …"
    std::string currency;   ///< "" if unknown
    JudgedBacktest judged;
};

struct BacktestOutcome {
    JudgedBacktest judged;                     ///< of the only instrument, or combine_backtests() of several
    std::vector<TradedInstrument> instruments; ///< at least one
    std::string currency;                      ///< of all amounts of money; "" if unknown
    std::string signals_text;                  ///< "412 predictions of …"
    std::size_t chosen_on = 0; ///< predictions for validation rows, whose loss chose the epoch
    std::vector<std::string> notes;
    std::vector<std::filesystem::path> files; ///< paths that the job wrote

    /// Whether `judged` is the sum of several instruments' backtests.
    bool judged_together() const { return !instruments.front().name.empty(); }
};

/// A trade and the instrument that made it.
struct PlacedTrade {
    const TradedInstrument& instrument;
    const Trade& trade;

    const TradedBar& entry() const { return instrument.series.bars[trade.entry_bar]; }
    const TradedBar& exit() const { return instrument.series.bars[trade.exit_bar]; }
    const std::string& contract() const { return instrument.series.contracts[entry().contract]; }
};

/// The trades of all instruments in the order of their exits. They refer to the outcome.
std::vector<PlacedTrade> trades_of(const BacktestOutcome& outcome);

/// Runs the job and writes trades.csv, equity.csv, backtest.json, and report.html (docs/formats/backtest.md).
/// The judged period begins with the first decision. It ends with the last bar or, for predictions, with the
/// bar in which the last prediction became known. Throws Error (usage) for bad input; also if instruments
/// trade in different currencies, or if no decision belongs to an instrument of the bars.
BacktestOutcome run_backtest_job(const BacktestJob& job, const std::filesystem::path& column_file,
                                 ThreadPool& pool, trainer::ProgressSink& progress,
                                 const CancellationToken& cancellation,
                                 const trainer::BarReader& read_bars = market::read_bars);

/// All figures, as in backtest.json.
void to_json(nlohmann::ordered_json& json, const BacktestOutcome& outcome);
/// For the terminal: the verdict, then one figure per line.
std::vector<std::string> describe(const BacktestOutcome& outcome);

} // namespace rekindle::research
