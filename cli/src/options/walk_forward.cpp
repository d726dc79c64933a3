#include "rows.h"

#include <rekindle/research/walk_forward.h>

#include <fmt/format.h>

namespace rekindle::cli::rows {

std::vector<OptionSpec> walk_forward() {
    const std::string_view group = "Folds";
    const std::vector<std::string_view> commands{"walk-forward"}, windows{"walk-forward", "search"};
    const research::WalkForwardRules rules;
    constexpr std::string_view blocks_reason = "blocks replace windows";
    return {
        {.name = "window",
         .kind = ValueKind::word,
         .value_name = "WORD",
         .words = {"expanding", "rolling"},
         .group = group,
         .brief = "Train on all earlier rows, or on the latest ones",
         .detail = "expanding trains each fold on all earlier rows, rolling on the latest --train-rows rows.",
         .example = "--window rolling --train-rows 1000",
         .commands = windows,
         .default_text = "expanding",
         .not_with = {{.option = "blocks", .reason = blocks_reason}}},
        {.name = "folds",
         .kind = ValueKind::integer,
         .value_name = "N",
         .range = {.low = 1, .high = 100'000},
         .group = group,
         .brief = "Number of windows to predict",
         .detail = "The rows after the first training window are divided into N windows of equal size.",
         .example = "--folds 40",
         .commands = windows,
         .default_text = std::to_string(rules.folds),
         .not_with = {{.option = "blocks", .reason = blocks_reason}}},
        {.name = "train-rows",
         .kind = ValueKind::integer,
         .value_name = "ROWS",
         .range = {.low = 1, .high = 1e9},
         .group = group,
         .brief = "Training rows of a window",
         .detail = "With --window rolling, the size of every training window; with expanding windows, the "
                   "minimum for the first one. Default: half of the rows before the final part.",
         .example = "--window rolling --train-rows 100000",
         .commands = windows,
         .not_with = {{.option = "blocks", .reason = blocks_reason}}},
        {.name = "blocks",
         .kind = ValueKind::integer,
         .value_name = "N",
         .range = {.low = 2, .high = 20},
         .group = group,
         .brief = "Combinatorial purged cross-validation with N blocks",
         .detail = "Divides the rows into N blocks. Networks trained on the other blocks, after purging "
                   "and an embargo, predict every choice of --test-blocks of them. The predictions are "
                   "combined into paths that cover all rows (Lopez de Prado, 2018). Folds then also train "
                   "on later rows, so the scores show how stable a result is, not what trading would have "
                   "earned.",
         .example = "--blocks 6 --test-blocks 2 --embargo 5",
         .commands = commands},
        {.name = "test-blocks",
         .kind = ValueKind::integer,
         .value_name = "K",
         .range = {.low = 1, .high = 19},
         .group = group,
         .brief = "Blocks that a fold of --blocks predicts",
         .detail = "Predicting K of N blocks gives (N choose K) folds and (N-1 choose K-1) paths: for 2 of 6 "
                   "blocks, 15 folds and 5 paths.",
         .example = "--blocks 6 --test-blocks 2",
         .commands = commands,
         .default_text = std::to_string(rules.test_blocks)},
        {.name = "embargo-time",
         .value_name = "TIME",
         .group = group,
         .brief = "Keep this time after a predicted block out of training",
         .detail = "With --blocks, no network trains on rows that become known within this time after the "
                   "last target of a predicted block ends. TIME is a number followed by s, min, h or d. "
                   "Windows need no embargo, because all training rows are earlier.",
         .example = "--blocks 6 --embargo-time 5d",
         .commands = commands},
        {.name = "final-share",
         .kind = ValueKind::number,
         .value_name = "F",
         .range = {.low = 0, .high = 1, .high_excluded = true},
         .group = group,
         .brief = "Share of the latest rows to keep for --final",
         .detail = "No fold trains on these rows, predicts them or uses an outcome that reaches into them. "
                   "0 keeps none.",
         .example = "--final-share 0.1",
         .commands = windows,
         .default_text = fmt::format("{:g}", rules.final_share)},
        {.name = "final",
         .kind = ValueKind::flag,
         .group = group,
         .brief = "Open the final part: train on the last window, predict it",
         .detail = "Do this once, when all choices have been made. The folder records when its final part "
                   "was opened, and every later job on the same rows in the same output folder reports it.",
         .example = "--resume-from-checkpoint TRAINING/walk_forward_20261121_101500 --final",
         .commands = commands},
    };
}

} // namespace rekindle::cli::rows
