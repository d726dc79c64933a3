#include "rows.h"

#include <rekindle/market/features.h>

#include <algorithm>

namespace rekindle::trainer::rows {

namespace {

std::vector<std::string_view> feature_group_words() {
    std::vector<std::string_view> words;
    for (const market::FeatureInfo& info : market::feature_table())
        if (std::find(words.begin(), words.end(), info.group) == words.end())
            words.push_back(info.group);
    return words;
}

} // namespace

std::vector<Setting> features_and_target() {
    const std::string_view features = "Features";
    const std::string_view target = "Target and split";
    return {
        {.name = "features",
         .field = &TrainConfig::features,
         .form = ValueKind::word_list,
         .value_name = "GROUPS",
         .special_words = feature_group_words(),
         .group = features,
         .brief = "Feature groups, separated by commas",
         .detail =
             "session is the set of 54 columns computed from each session's profile. The others add to it: "
             "vix (level, change, z-score), returns (log returns, realized volatility), gap (overnight gap), "
             "calendar (day of week, expiry), naked-poc (distance to untested points of control), delta "
             "(volume at the ask less that at the bid, where bars have both). minute is "
             "the per-minute set of 19 columns and cannot be combined with the others.",
         .example = "--features session,returns,gap",
         .commands = feature_makers},
        {.name = "scaler",
         .field = choice_field<&TrainConfig::scaler>,
         .value_name = "WORD",
         .group = features,
         .brief = "How features are scaled",
         .detail = "robust subtracts the median and divides by the interquartile range, standard uses mean "
                   "and std. Both are fitted on the training set only and saved with the model.",
         .example = "--scaler standard",
         .commands = run_makers},
        {.name = "target",
         .field = choice_field<&TrainConfig::target>,
         .value_name = "WORD",
         .group = target,
         .brief = "What to predict",
         .detail =
             "return is the log return to the close of the next session (bar). direction is the probability "
             "that the close rises rather than falls; rows whose close does not move have no direction and "
             "are omitted. bar-return is the log return over --target-bars sessions (bars). With --features "
             "minute, no target reaches past the end of its session unless --across-sessions is given.",
         .example = "--target direction",
         .commands = trainers},
        {.name = "target-bars",
         .field = &TrainConfig::target_bars,
         .value_name = "K",
         .range = {.low = 1},
         .group = target,
         .brief = "Bars ahead, for --target bar-return",
         .detail = "How many bars ahead the return of --target bar-return reaches. Without that target it "
                   "has no effect, and a note says so.",
         .example = "--features minute --target bar-return --target-bars 15",
         .commands = trainers},
        {.name = "across-sessions",
         .field = &TrainConfig::across_sessions,
         .group = target,
         .brief = "Let targets of bars reach into later sessions",
         .detail = "With --features minute, a row whose target would reach past the end of its session is "
                   "omitted, so that no return spans hours without trading; a note says how many rows that "
                   "affects. This option keeps them: the bars of all sessions then count as one sequence. It "
                   "has no effect on targets of sessions.",
         .example = "--features minute --target bar-return --across-sessions",
         .commands = trainers},
        {.name = "train-split",
         .field = &TrainConfig::train_split,
         .aliases = {"-ts"},
         .value_name = "F",
         .range = {.low = 0, .high = 1, .low_excluded = true, .high_excluded = true},
         .group = target,
         .brief = "Share of the rows to train on; later rows validate",
         .detail = "The rows are split by time: the first share is for training, the rest for validation.",
         .example = "--train-split 0.7",
         .commands = run_makers},
        {.name = "purge",
         .field = &TrainConfig::purge,
         .value_name = "ROWS",
         .range = {.low = 0},
         .group = target,
         .brief = "Rows omitted before the split",
         .detail = "Rows at the end of the training set that are omitted, so that no training target reaches "
                   "into the validation set.",
         .example = "--purge 5",
         .commands = trainers,
         .not_with = {{.option = "compat",
                       .word = "original",
                       .reason = "the original system purges nothing"}}},
        {.name = "embargo",
         .field = &TrainConfig::embargo,
         .value_name = "ROWS",
         .range = {.low = 0},
         .group = target,
         .brief = "Rows omitted after the split",
         .detail = "Rows at the beginning of the validation set that are omitted, so that look-backs overlap "
                   "less with the training set.",
         .example = "--embargo 20",
         .commands = trainers},
    };
}

} // namespace rekindle::trainer::rows
