#include "rows.h"

namespace rekindle::trainer::rows {

std::vector<Setting> volume_profile() {
    const std::string_view group = "Volume profile";
    const std::vector<Exclusion> no_profile_rules{
        {.option = "compat", .word = "original", .reason = "the original system's rules decide it"},
        {.option = "features", .word = "minute", .reason = "per-bar features do not use the profile"}};
    return {
        {.name = "weighting",
         .field = choice_field<&TrainConfig::weighting>,
         .value_name = "WORD",
         .group = group,
         .brief = "How a bar's volume is spread over its prices",
         .detail = "A bar says how much traded between its low and its high, not where. uniform gives each "
                   "of its prices the same share, close gives more the nearer a price is to the close, ohlc "
                   "the nearer it is to open, high, low or close. docs/volume-profile.md has the formulas.",
         .example = "--weighting close",
         .commands = profilers,
         .not_with = no_profile_rules},
        {.name = "value-area",
         .field = choice_field<&TrainConfig::value_area>,
         .value_name = "WORD",
         .group = group,
         .brief = "How the 70 % value area grows",
         .detail = "Every method starts at the point of control and stops once it holds 70 % of the volume. "
                   "contiguous adds the larger of the next prices above and below, two-row the larger of the "
                   "next pairs (Dalton), greedy the prices with the most volume wherever they are.",
         .example = "--value-area two-row",
         .commands = profilers,
         .not_with = no_profile_rules},
        {.name = "tie",
         .field = choice_field<&TrainConfig::tie>,
         .value_name = "WORD",
         .group = group,
         .brief = "Which of several equal rows is the point of control",
         .detail =
             "lowest picks the lowest price, nearest-middle the one nearest to the middle of the session.",
         .example = "--tie nearest-middle",
         .commands = profilers,
         .not_with = no_profile_rules},
        {.name = "compat",
         .field = choice_field<&TrainConfig::compat>,
         .value_name = "WORD",
         .group = group,
         .brief = "Reproduce the original system's figures",
         .detail =
             "original reproduces the rules of the system that Rekindle replaces: its volume profile "
             "(generation G), sessions cut at its raw labels, mixed contracts, its clipped target and widths "
             "rounded up to multiples of 32, so that results can be compared. It is not meant for real use.",
         .example = "--compat original",
         .commands = {"train", "volume-profile", "features"}},
    };
}

} // namespace rekindle::trainer::rows
