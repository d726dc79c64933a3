#include "rows.h"

namespace rekindle::cli::rows {

std::vector<OptionSpec> volume_profile() {
    const std::string_view group = "Volume profile";
    const std::vector<Exclusion> no_profile_rules{
        {.option = "compat", .word = "original", .reason = "the original system's rules decide it"},
        {.option = "features", .word = "minute", .reason = "features per bar take nothing from the profile"}};
    return {
        {.name = "weighting",
         .kind = ValueKind::word,
         .value_name = "WORD",
         .words = {"uniform", "close", "ohlc"},
         .in_config = true,
         .group = group,
         .brief = "How a bar's volume is spread over its prices",
         .detail =
             "A bar tells how much traded between its low and its high, not where. uniform gives every price "
             "of it the same share, close gives more the nearer a price is to the close, ohlc the nearer it "
             "is "
             "to open, high, low or close. docs/volume-profile.md has the formulas.",
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
         .detail = "Every method begins at the point of control and ends once 70 % of the volume is held. "
                   "contiguous "
                   "adds the larger of the next prices above and below, two-row the larger of the next pairs "
                   "(Dalton), "
                   "greedy the prices of the most volume wherever they are.",
         .example = "--value-area two-row",
         .commands = profilers,
         .not_with = no_profile_rules},
        {.name = "tie",
         .kind = ValueKind::word,
         .value_name = "WORD",
         .words = {"lowest", "nearest-middle"},
         .in_config = true,
         .group = group,
         .brief = "Which of equally large rows is the point of control",
         .detail =
             "lowest takes the lowest price, nearest-middle the one nearest to the middle of the session.",
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
             "original repeats the rules of the system that Rekindle replaces: its volume profile "
             "(generation G), "
             "sessions cut at its raw labels, mixed contracts, its clipped target and widths rounded up to "
             "multiples of 32, so that results can be compared. It is not meant for real use.",
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
         .brief = "Groups of features, separated by commas",
         .detail =
             "session is the set of 54 columns made from each session's profile. The others add to it: vix "
             "(level, change, z-score), returns (log returns, realized volatility), gap (overnight gap), "
             "calendar (day of week, expiry), naked-poc (distance to untested points of control). minute is "
             "the per-minute set of 19 columns and stands alone.",
         .example = "--features session,returns,gap",
         .commands = feature_makers},
        {.name = "scaler",
         .kind = ValueKind::word,
         .value_name = "WORD",
         .words = {"robust", "standard", "none"},
         .in_config = true,
         .group = features,
         .brief = "How features are scaled",
         .detail =
             "robust subtracts the median and divides by the range between the quartiles, standard uses mean "
             "and standard deviation. Both are fitted on the training part alone and saved with the model.",
         .example = "--scaler standard",
         .commands = trainers},
        {.name = "target",
         .kind = ValueKind::word,
         .value_name = "WORD",
         .words = {"return", "direction", "bar-return"},
         .in_config = true,
         .group = target,
         .brief = "What is predicted",
         .detail =
             "return is the log return to the close of the next session (bar). direction is the probability "
             "that the close rises rather than falls; rows whose close does not move have no direction and "
             "are left out. bar-return is the log return over --target-bars sessions (bars). With --features "
             "minute, no target reaches beyond the end of its session unless --across-sessions is given.",
         .example = "--target direction",
         .commands = trainers},
        {.name = "target-bars",
         .kind = ValueKind::integer,
         .value_name = "K",
         .range = {.low = 1},
         .in_config = true,
         .group = target,
         .brief = "Bars ahead, for --target bar-return",
         .detail =
             "How many bars ahead the return of --target bar-return reaches. Without that target it has no "
             "effect, which is said.",
         .example = "--features minute --target bar-return --target-bars 15",
         .commands = trainers},
        {.name = "across-sessions",
         .kind = ValueKind::flag,
         .in_config = true,
         .group = target,
         .brief = "Targets of bars may reach into later sessions",
         .detail =
             "With --features minute, a target that would reach beyond the end of its session is left out, "
             "so that no return holds the hours in which nothing traded; how many rows that takes is said. "
             "This option keeps them: the bars of all sessions then count as one row of bars. It has no "
             "effect on targets of sessions.",
         .example = "--features minute --target bar-return --across-sessions",
         .commands = trainers},
        {.name = "train-split",
         .aliases = {"-ts"},
         .kind = ValueKind::number,
         .value_name = "F",
         .range = {.low = 0, .high = 1, .low_excluded = true, .high_excluded = true},
         .in_config = true,
         .group = target,
         .brief = "Share of the rows that trains; the later rest validates",
         .detail = "The rows are split by time: the first share trains, the rest validates.",
         .example = "--train-split 0.7",
         .commands = trainers},
        {.name = "purge",
         .kind = ValueKind::integer,
         .value_name = "ROWS",
         .range = {.low = 0},
         .in_config = true,
         .group = target,
         .brief = "Rows left out before the split",
         .detail = "Rows at the end of the training part that are left out, so that no training target "
                   "reaches into "
                   "the validation part.",
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
         .brief = "Rows left out after the split",
         .detail =
             "Rows at the beginning of the validation part that are left out, so that look-backs share less "
             "with the training part.",
         .example = "--embargo 20",
         .commands = trainers},
    };
}

} // namespace rekindle::cli::rows
