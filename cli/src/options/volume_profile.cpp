#include "rows.h"

namespace rekindle::cli::rows {

std::vector<OptionSpec> volume_profile() {
    const std::string_view group = "Volume profile";
    const std::vector<Exclusion> no_profile_rules{
        {.option = "compat", .word = "original", .reason = "the original system's rules decide it"},
        {.option = "features", .word = "minute", .reason = "per-bar features do not use the profile"}};
    return {
        {.name = "weighting",
         .kind = ValueKind::word,
         .value_name = "WORD",
         .words = {"uniform", "close", "ohlc"},
         .in_config = true,
         .group = group,
         .brief = "How a bar's volume is spread over its prices",
         .detail = "A bar says how much traded between its low and its high, not where. uniform gives each "
                   "of its prices the same share, close gives more the nearer a price is to the close, ohlc "
                   "the nearer it is to open, high, low or close. docs/volume-profile.md has the formulas.",
         .example = "--weighting close",
         .commands = profilers,
         .not_with = no_profile_rules},
        {.name = "value-area",
         .kind = ValueKind::word,
         .value_name = "WORD",
         .words = {"greedy", "contiguous", "two-row"},
         .in_config = true,
         .group = group,
         .brief = "How the 70 % value area grows",
         .detail = "Every method starts at the point of control and stops once it holds 70 % of the volume. "
                   "contiguous adds the larger of the next prices above and below, two-row the larger of the "
                   "next pairs (Dalton), greedy the prices with the most volume wherever they are.",
         .example = "--value-area two-row",
         .commands = profilers,
         .not_with = no_profile_rules},
        {.name = "tie",
         .kind = ValueKind::word,
         .value_name = "WORD",
         .words = {"lowest", "nearest-middle"},
         .in_config = true,
         .group = group,
         .brief = "Which of several equal rows is the point of control",
         .detail =
             "lowest picks the lowest price, nearest-middle the one nearest to the middle of the session.",
         .example = "--tie nearest-middle",
         .commands = profilers,
         .not_with = no_profile_rules},
        {.name = "compat",
         .kind = ValueKind::word,
         .value_name = "WORD",
         .words = {"none", "original"},
         .in_config = true,
         .group = group,
         .brief = "Reproduce the original system's figures",
         .detail =
             "original reproduces the rules of the system that Rekindle replaces: its volume profile "
             "(generation G), sessions cut at its raw labels, mixed contracts, its clipped target and widths "
             "rounded up to multiples of 32, so that results can be compared. It is not meant for real use.",
         .example = "--compat original",
         .commands = profilers},
    };
}

std::vector<OptionSpec> features_and_target() {
    const std::string_view features = "Features";
    const std::string_view target = "Target and split";
    return {
        {.name = "features",
         .kind = ValueKind::word_list,
         .value_name = "GROUPS",
         .words = {"session", "vix", "returns", "gap", "calendar", "naked-poc", "minute"},
         .in_config = true,
         .group = features,
         .brief = "Feature groups, separated by commas",
         .detail =
             "session is the set of 54 columns computed from each session's profile. The others add to it: "
             "vix (level, change, z-score), returns (log returns, realized volatility), gap (overnight gap), "
             "calendar (day of week, expiry), naked-poc (distance to untested points of control). minute is "
             "the per-minute set of 19 columns and cannot be combined with the others.",
         .example = "--features session,returns,gap",
         .commands = feature_makers},
        {.name = "scaler",
         .kind = ValueKind::word,
         .value_name = "WORD",
         .words = {"robust", "standard", "none"},
         .in_config = true,
         .group = features,
         .brief = "How features are scaled",
         .detail = "robust subtracts the median and divides by the interquartile range, standard uses mean "
                   "and std. Both are fitted on the training set only and saved with the model.",
         .example = "--scaler standard",
         .commands = trainers},
        {.name = "target",
         .kind = ValueKind::word,
         .value_name = "WORD",
         .words = {"return", "direction", "bar-return"},
         .in_config = true,
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
         .kind = ValueKind::integer,
         .value_name = "K",
         .range = {.low = 1},
         .in_config = true,
         .group = target,
         .brief = "Bars ahead, for --target bar-return",
         .detail = "How many bars ahead the return of --target bar-return reaches. Without that target it "
                   "has no effect, and a note says so.",
         .example = "--features minute --target bar-return --target-bars 15",
         .commands = trainers},
        {.name = "across-sessions",
         .kind = ValueKind::flag,
         .in_config = true,
         .group = target,
         .brief = "Let targets of bars reach into later sessions",
         .detail = "With --features minute, a row whose target would reach past the end of its session is "
                   "omitted, so that no return spans hours without trading; a note says how many rows that "
                   "affects. This option keeps them: the bars of all sessions then count as one sequence. It "
                   "has no effect on targets of sessions.",
         .example = "--features minute --target bar-return --across-sessions",
         .commands = trainers},
        {.name = "train-split",
         .aliases = {"-ts"},
         .kind = ValueKind::number,
         .value_name = "F",
         .range = {.low = 0, .high = 1, .low_excluded = true, .high_excluded = true},
         .in_config = true,
         .group = target,
         .brief = "Share of the rows to train on; later rows validate",
         .detail = "The rows are split by time: the first share is for training, the rest for validation.",
         .example = "--train-split 0.7",
         .commands = trainers},
        {.name = "purge",
         .kind = ValueKind::integer,
         .value_name = "ROWS",
         .range = {.low = 0},
         .in_config = true,
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
         .kind = ValueKind::integer,
         .value_name = "ROWS",
         .range = {.low = 0},
         .in_config = true,
         .group = target,
         .brief = "Rows omitted after the split",
         .detail = "Rows at the beginning of the validation set that are omitted, so that look-backs overlap "
                   "less with the training set.",
         .example = "--embargo 20",
         .commands = trainers},
    };
}

} // namespace rekindle::cli::rows
