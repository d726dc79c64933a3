#pragma once
/// Writes the files of a finished walk-forward job and the text that the program prints about it.

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

/// The result of a job.
struct JobResult {
    const ForecastRows& rows;
    std::span<const trainer::MarketData> markets;
    const FoldPlan& plan;
    const StoredJob& job;
    FoldForecasts forecasts;
    std::vector<BlockForecasts> final_blocks; ///< empty unless the final part was opened
    trainer::Evaluation final_evaluation;
    std::vector<OpenedFinal> openings; ///< earlier openings of this final part
    std::vector<std::string> notes;
    std::vector<trainer::StageTime> stages;
    std::vector<trainer::Evaluation> by_instrument = {}; ///< of the path that is shown; set by finish()
    std::size_t jobs = 1; ///< jobs on the same data in this output folder, including this one
};

/// Describes the folds in one line.
std::string describe_plan(const FoldPlan& plan, const ForecastRows& rows, const StoredJob& job);

/// Writes predictions.csv, predictions.parquet, folds.csv, results.json and report.html, and fills in the
/// outcome.
void finish(const std::filesystem::path& folder, JobResult& result, WalkForwardOutcome& outcome);

/// The report of a job. `evaluations` has one entry per path, and `shown` is the index of the path that the
/// verdict is about.
trainer::ReportData report_of(const JobResult& result, std::span<const trainer::Evaluation> evaluations,
                              std::size_t shown, const std::filesystem::path& folder);

/// The out-of-sample R² of each fold against the training mean, in percent (for probabilities, the log loss
/// reduction). NaN for a fold without outcomes.
std::vector<double> fold_scores(const JobResult& result);

/// The instant by which an outcome must be known to be scored: the beginning of the final part or, without
/// one, the largest instant.
std::int64_t known_until(const JobResult& result);

} // namespace rekindle::research
