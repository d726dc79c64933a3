#pragma once
/// The whole job: bars in, a run folder with a trained network out.

#include <rekindle/base/cancellation.h>
#include <rekindle/trainer/config.h>
#include <rekindle/trainer/progress.h>

#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace rekindle::trainer {

/// The results that the user is shown at the end.
struct TrainOutcome {
    std::filesystem::path run_folder;
    std::filesystem::path report; ///< report.html in it
    std::string verdict;          ///< one or two sentences: is there an edge over the baseline?
    bool has_edge = false;
    std::vector<std::string> score_lines; ///< figures with units, baseline and interval, one line each
    std::vector<std::string> mean_lines;  ///< of a population: the same of the mean of all networks
    bool interrupted = false;             ///< stopped by the token; a checkpoint was written
    double seconds = 0;                   ///< wall time of the whole job
};

/// Trains as the configuration says. `given` holds the keys that the user set: with resume_from_checkpoint
/// the run's own config.json is the base, and a given key that contradicts it is refused unless it cannot
/// affect the steps already done (epochs, threads, checkpoint_interval, keep_checkpoints). Throws Error;
/// nothing is written before the input has been read and checked.
TrainOutcome train(TrainConfig config, const std::set<std::string>& given, ProgressSink& progress,
                   const CancellationToken& cancellation);

} // namespace rekindle::trainer
