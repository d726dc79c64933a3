#pragma once
/// The options that walk-forward and search share.

#include <rekindle/cli/command_line.h>
#include <rekindle/research/walk_forward.h>

#include <set>
#include <string>

namespace rekindle::cli {

struct FoldRules {
    research::WalkForwardRules rules;
    std::set<std::string> given; ///< names of the options that the user set, such as "train-rows"
};

/// Reads --window, --folds, --train-rows and --final-share.
FoldRules fold_rules(const CommandLine& line);

/// Turns the key "train_rows" into the option name "train-rows".
std::string option_name(std::string key);

} // namespace rekindle::cli
