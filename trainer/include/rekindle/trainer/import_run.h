#pragma once
/// Turns a network of the original system into a run folder that predict and train accept.

#include <rekindle/base/cancellation.h>
#include <rekindle/trainer/config.h>
#include <rekindle/trainer/progress.h>

#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace rekindle::trainer {

struct ImportOptions {
    std::filesystem::path model; ///< .pt or .safetensors
    TrainConfig config;          ///< the bars that the network was trained on, scaler, split, output
    std::set<std::string> given; ///< keys of `config` that the user set
};

/// What the user is told at the end.
struct ImportOutcome {
    std::filesystem::path run_folder;
    std::vector<std::string> facts; ///< one sentence each about network, features, scaler, output
    /// On the validation rows, which the network may have been trained on.
    std::vector<std::string> score_lines;
    std::string verdict;
    bool interrupted = false;
};

/// Computes the features of the bars by the original's rules, fits the scaler, which the original never
/// saved, to the training rows, scores the network on the later rows, and writes models, metadata and
/// configuration into a new folder train_YYYYMMDD_HHMMSS in config.output. Throws Error (usage) for a file
/// that is no such network or has its own scaler already, and for bars that do not fit it; nothing is written
/// then.
ImportOutcome import_run(ImportOptions options, ProgressSink& progress,
                         const CancellationToken& cancellation);

} // namespace rekindle::trainer
