#pragma once
/// A backtest from files to files: bars and predictions (or positions) in; trades, equity, and a report out.

#include <rekindle/base/cancellation.h>
#include <rekindle/base/thread_pool.h>
#include <rekindle/market/read_bars.h>
#include <rekindle/research/performance.h>
#include <rekindle/research/signals.h>
#include <rekindle/trainer/config.h>
#include <rekindle/trainer/progress.h>

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace rekindle::research {

/// What the user gave; everything that is empty comes from the instrument's costs or from the predictions.
struct BacktestJob {
    trainer::TrainConfig bars;         ///< the reading options
    std::filesystem::path predictions; ///< either these
    std::filesystem::path positions;   ///< or these
    PredictionFilter filter;
    PredictionRule rule;
    std::optional<double> center; ///< of the rule; empty: 0, or 0.5 for probabilities
    BacktestOptions options;      ///< its costs are replaced by those of the instrument
    std::filesystem::path costs;  ///< list of costs; "" for the built-in one
    std::optional<double> point_value, commission, commission_percent, slippage_ticks, slippage_percent,
        margin_percent;
    std::size_t trials = 1;
    std::uint64_t seed = 0;
    std::filesystem::path output; ///< folder
};

struct BacktestOutcome {
    JudgedBacktest judged;
    TradedSeries series;     ///< the bars that were traded
    market::ReadReport bars; ///< where they come from
    bool raw_labels = false; ///< times are labels, not instants
    std::size_t first = 0;   ///< the first bar that counts
    Costs costs;
    std::string costs_text; ///< "ES: 50 USD a point, 2.5 USD a contract and fill, …, typical of 2026-11-26"
    std::string currency;   ///< of money; "" if unknown
    std::string signals_text; ///< "412 predictions of …"
    std::vector<std::string> notes;
    std::vector<std::filesystem::path> files; ///< that were written
};

/// Runs the job and writes trades.csv, equity.csv, backtest.json, and report.html (docs/formats/backtest.md).
/// The period begins with the first decision; with predictions it ends with the bar in which the last one
/// became known, with positions at the end of the bars. Throws Error (usage) for bad input.
BacktestOutcome run_backtest_job(const BacktestJob& job, const std::filesystem::path& column_file,
                                 ThreadPool& pool, trainer::ProgressSink& progress,
                                 const CancellationToken& cancellation);

/// All figures, as in backtest.json.
void to_json(nlohmann::ordered_json& json, const BacktestOutcome& outcome);
/// For the terminal: the verdict, then one figure per line.
std::vector<std::string> describe(const BacktestOutcome& outcome);

} // namespace rekindle::research
