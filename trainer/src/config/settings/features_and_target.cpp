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
             "(volume at the ask minus volume at the bid, if the bars have both). minute is the per-minute "
             "set of 19 columns and cannot be combined with the others.",
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
        {.name = "scale-by",
         .field = choice_field<&TrainConfig::scale_by>,
         .value_name = "WORD",
         .group = features,
         .brief = "Scale each of several instruments on its own, or all alike",
         .detail = "With instrument, features and returns are scaled by the training rows of their own "
                   "instrument, so that prices at different levels become comparable. With all, one scaling "
                   "is fitted on the rows of all instruments; such a model can predict instruments that it "
                   "was not trained on. Without --several-instruments it has no effect, and a note says so.",
         .example = "--several-instruments by-root --scale-by all",
         .commands = trainers},
        {.name = "instrument-input",
         .field = choice_field<&TrainConfig::instrument_input>,
         .value_name = "WORD",
         .group = features,
         .brief = "Give the network each row's instrument as an input",
         .detail =
             "With one-hot, the network has one more input per instrument, which is 1 in the rows of that "
             "instrument and 0 in all others. The weights of this input in the first layer are a learned "
             "embedding of the instrument, as wide as that layer and added before its activation. With none, "
             "the network treats all rows alike. Without --several-instruments it has no effect, and a note "
             "says so.",
         .example = "--several-instruments by-root --instrument-input one-hot",
         .commands = trainers},
        {.name = "target",
         .field = choice_field<&TrainConfig::target>,
         .value_name = "WORD",
         .group = target,
         .brief = "What to predict",
         .detail =
             "return is the log return to the close of the next session (bar). direction is the probability "
             "that the close rises rather than falls; rows whose close does not move (with --dead-band: "
             "hardly moves) have no direction and are omitted. bar-return is the log return over "
             "--target-bars sessions (bars). barrier is the probability that within --target-bars sessions "
             "(bars), a close is above the upper barrier before any is below the lower one "
             "(--barrier-width); rows whose closes reach neither are omitted. volatility is the realized "
             "volatility of the next --target-bars sessions (bars). With --features minute, no target "
             "reaches past the end of its session unless --across-sessions is given.",
         .example = "--target direction",
         .commands = trainers},
        {.name = "target-bars",
         .field = &TrainConfig::target_bars,
         .value_name = "K",
         .range = {.low = 1},
         .group = target,
         .brief = "Sessions or bars the target looks ahead",
         .detail =
             "How many sessions (bars) ahead bar-return, barrier, volatility, and the direction of bars "
             "look. With the other targets it has no effect, and a note says so.",
         .example = "--features minute --target bar-return --target-bars 15",
         .commands = trainers},
        {.name = "dead-band",
         .field = &TrainConfig::dead_band,
         .value_name = "PERCENT",
         .range = {.low = 0, .high = 100},
         .group = target,
         .brief = "Moves up to this size have no direction",
         .detail = "With --target direction, rows whose log return is at most this many percent in size are "
                   "omitted: a move that does not pay for its costs is neither up nor down.",
         .example = "--target direction --dead-band 0.1",
         .commands = trainers},
        {.name = "barrier-width",
         .field = &TrainConfig::barrier_width,
         .value_name = "F",
         .range = {.low = 0, .high = 100, .low_excluded = true},
         .group = target,
         .brief = "Distance of the barriers, in trailing volatilities",
         .detail =
             "With --target barrier, the barriers are at the close times 1 + F s sqrt(K) and 1 - F s "
             "sqrt(K), where s is the root mean square of the latest 50 returns and K is --target-bars. "
             "Rows with fewer than 50 earlier returns are omitted.",
         .example = "--target barrier --target-bars 10 --barrier-width 0.8",
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
         .commands = splitters},
        {.name = "purge",
         .field = &TrainConfig::purge,
         .value_name = "ROWS",
         .range = {.low = 0},
         .group = target,
         .brief = "Rows omitted before the split",
         .detail = "Rows at the end of the training set that are omitted, so that no training target reaches "
                   "into the validation set.",
         .example = "--purge 5",
         .commands = validators,
         .not_with = {{.option = "compat",
                       .word = "original",
                       .reason = "the original system purges nothing"}}},
        {.name = "embargo",
         .field = &TrainConfig::embargo,
         .value_name = "ROWS",
         .range = {.low = 0},
         .group = target,
         .brief = "Rows omitted after the split",
         .detail =
             "Rows at the beginning of the validation set that are omitted, so that look-backs overlap less "
             "with the training set. For walk-forward --blocks, the number of rows after a predicted block "
             "that are not trained on.",
         .example = "--embargo 20",
         .commands = trainers},
    };
}

} // namespace rekindle::trainer::rows
