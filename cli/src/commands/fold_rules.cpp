#include "fold_rules.h"

#include <algorithm>

namespace rekindle::cli {

std::string option_name(std::string key) {
    std::ranges::replace(key, '_', '-');
    return key;
}

FoldRules fold_rules(const CommandLine& line) {
    FoldRules folds;
    research::WalkForwardRules& rules = folds.rules;
    const auto count = [&](const char* key, std::size_t otherwise) {
        return static_cast<std::size_t>(line.integer(key, static_cast<std::int64_t>(otherwise)));
    };
    rules.window = line.text("window") == "rolling" ? research::Window::rolling : research::Window::expanding;
    rules.folds = count("folds", rules.folds);
    rules.train_rows = count("train_rows", rules.train_rows);
    rules.final_share = line.number("final_share", rules.final_share);
    for (const char* key : {"window", "folds", "train_rows", "final_share"})
        if (line.has(key))
            folds.given.insert(option_name(key));
    return folds;
}

} // namespace rekindle::cli
