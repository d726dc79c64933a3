#pragma once
/// The whole job: bars in, a run folder with a trained network out.

#include <rekindle/base/cancellation.h>
#include <rekindle/trainer/config.h>
#include <rekindle/trainer/market_data.h>
#include <rekindle/trainer/progress.h>

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace rekindle::trainer {

/// The best network's predictions for the validation rows, in chronological order. The vectors have the same
/// length, but `instruments` is empty if there is only one.
struct ValidationRows {
    std::vector<std::int32_t> dates;      ///< as Session::date
    std::vector<std::int64_t> known_at;   ///< end of the newest bar that a row uses
    std::vector<std::string> instruments; ///< names
    std::vector<double> predicted;        ///< in the unit of the target
    std::vector<double> outcome;          ///< likewise
};

/// The results of a run.
struct TrainOutcome {
    std::filesystem::path run_folder;
    std::filesystem::path report; ///< report.html in it
    std::string verdict;          ///< one or two sentences: is there an edge over the baseline?
    bool has_edge = false;
    std::vector<std::string> score_lines;      ///< figures with units, baseline and interval, one line each
    std::vector<std::string> mean_lines;       ///< for a population: the same for the mean of all networks
    std::vector<std::string> instrument_lines; ///< with several instruments: the scores of each
    ValidationRows validation;                 ///< empty if interrupted
    bool interrupted = false;                  ///< stopped by the token; a checkpoint was written
    double seconds = 0;                        ///< wall time of the whole job
};

/// Trains as the configuration says. `given` holds the keys that the user set: with resume_from_checkpoint
/// the run's own config.json is the base, and a given key that contradicts it is refused unless it cannot
/// affect the steps already done (epochs, threads, checkpoint_interval, keep_checkpoints). Throws Error;
/// nothing is written before the input has been read and checked.
TrainOutcome train(TrainConfig config, const std::set<std::string>& given, ProgressSink& progress,
                   const CancellationToken& cancellation, const BarReader& read_bars = market::read_bars);

} // namespace rekindle::trainer
