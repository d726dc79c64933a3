#include "rows.h"

#include <rekindle/research/search.h>

#include <string>

namespace rekindle::cli::rows {

std::vector<OptionSpec> search() {
    const std::string_view group = "Search";
    const std::vector<std::string_view> commands{"search"};
    const research::SearchRules rules;
    return {
        {.name = "vary",
         .kind = ValueKind::text_list,
         .value_name = "NAME=VALUES",
         .group = group,
         .brief = "A setting to vary and its values; may be repeated",
         .detail =
             "NAME is an option of train, or train-rows. VALUES are choices separated by | "
             "(hidden-layers=32,16|64,32), or an interval LOW..HIGH, with /N for N grid points and @log "
             "for a logarithmic scale.",
         .example = "--data bars.csv --vary learning-rate=1e-4..1e-2@log --vary dropout-rate=0|0.2|0.4",
         .commands = commands},
        {.name = "method",
         .kind = ValueKind::word,
         .value_name = "WORD",
         .words = {"sobol", "random", "grid", "halving"},
         .group = group,
         .brief = "How settings are chosen",
         .detail =
             "sobol covers the space evenly, random draws independently, grid tries every combination. "
             "halving starts sobol points with --min-epochs and trains only the best with more epochs, up "
             "to --epochs (ASHA).",
         .example = "--vary learning-rate=1e-4..1e-2@log --method halving --epochs 27 --trials 200",
         .commands = commands,
         .default_text = "sobol"},
        {.name = "trials",
         .kind = ValueKind::integer,
         .value_name = "N",
         .range = {.low = 1, .high = 1e8},
         .group = group,
         .brief = "Settings to try; by default, a grid tries all",
         .detail = "When you resume a search, you can give a larger number.",
         .example = "--vary learning-rate=1e-4..1e-2@log --trials 1000",
         .commands = commands,
         .default_text = std::to_string(rules.trials)},
        {.name = "min-epochs",
         .kind = ValueKind::integer,
         .value_name = "N",
         .range = {.low = 1, .high = 1e6},
         .group = group,
         .brief = "Halving: epochs of every setting in the first round",
         .detail =
             "The best settings, one in --reduction, train again with --reduction times as many epochs, "
             "and so on up to --epochs.",
         .example = "--method halving --min-epochs 2",
         .commands = commands,
         .default_text = std::to_string(rules.min_epochs)},
        {.name = "reduction",
         .kind = ValueKind::integer,
         .value_name = "N",
         .range = {.low = 2, .high = 100},
         .group = group,
         .brief = "Halving: one setting in N is promoted",
         .detail = "Promoted settings train with N times as many epochs.",
         .example = "--method halving --reduction 4",
         .commands = commands,
         .default_text = std::to_string(rules.reduction)},
        {.name = "objective",
         .kind = ValueKind::word,
         .value_name = "WORD",
         .words = {"auto", "loss", "timing"},
         .group = group,
         .brief = "Score by which the best setting is chosen",
         .detail = "loss: how far the forecasts' squared error (for directions, log loss) is below the "
                   "training mean's. timing: the Sharpe ratio of the timing returns (outcome minus "
                   "training mean, negated if the forecast is below that mean). It is comparable between "
                   "targets. auto is loss, or timing if the target varies.",
         .example = "--vary target-bars=5|15|60 --objective timing",
         .commands = commands,
         .default_text = "auto"},
    };
}

} // namespace rekindle::cli::rows
