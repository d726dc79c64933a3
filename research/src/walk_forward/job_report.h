#pragma once
/// The files of a finished walk-forward job and what the program prints about it.

#include "walk_forward/run_store.h"

#include <rekindle/research/walk_forward.h>
#include <rekindle/trainer/market_data.h>
#include <rekindle/trainer/report.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace rekindle::research {

/// What a job found.
struct JobResult {
    const ForecastRows& rows;
    const trainer::MarketData& data;
    const FoldPlan& plan;
    const StoredJob& job;
    FoldForecasts forecasts;
    std::vector<BlockForecasts> final_blocks; ///< empty unless the final part was opened
    trainer::Evaluation final_evaluation;
    std::vector<OpenedFinal> openings; ///< of this final part, before this call
    std::vector<std::string> notes;
    std::vector<trainer::StageTime> stages;
    std::size_t jobs = 1; ///< on the same data in this output folder, this one included
};

/// "10 folds with expanding windows; …": one line.
std::string describe_plan(const FoldPlan& plan, const ForecastRows& rows, const StoredJob& job);

/// Writes predictions.csv, predictions.parquet, folds.csv, results.json and report.html, and fills in the
/// outcome.
void finish(const std::filesystem::path& folder, const JobResult& result, WalkForwardOutcome& outcome);

/// The page of a job. `evaluations`: of every path, in order; `shown` is the one that the verdict is about.
trainer::ReportData report_of(const JobResult& result, std::span<const trainer::Evaluation> evaluations,
                              std::size_t shown, const std::filesystem::path& folder);

/// The out-of-sample R² (of a probability: the log loss reduction) of each fold's rows, in percent, against
/// the training mean; NaN where a fold has no outcome.
std::vector<double> fold_scores(const JobResult& result);

/// Outcomes that are known later are not scored: the instant at which the final part begins, or the end of
/// time.
std::int64_t known_until(const JobResult& result);

} // namespace rekindle::research
