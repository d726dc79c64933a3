#include "rows.h"

#include <rekindle/cli/option_table.h>

namespace rekindle::cli::rows {

std::vector<OptionSpec> run() {
    const std::string_view group = "Where and how it runs";
    return {
        {.name = "config",
         .kind = ValueKind::path,
         .value_name = "FILE",
         .group = group,
         .brief = "Read options from a JSON file; the command line wins",
         .detail = "A flat JSON object whose keys are the option names with underscores, as printed by "
                   "--print-config and stored in config.json of a run folder. Missing keys keep their "
                   "defaults; an unknown key is an error.",
         .example = "--config TRAINING/train_20261121_101500/config.json --epochs 5",
         .commands = {"train", "walk-forward", "search", "volume-profile", "features"}},
        {.name = "print-config",
         .kind = ValueKind::flag,
         .group = group,
         .brief = "Print the effective configuration and exit",
         .detail = "Prints every key with the value that would be used, in the format of --config.",
         .example = "--print-config",
         .commands = {"train", "walk-forward", "search", "volume-profile", "features"}},
    };
}

std::vector<OptionSpec> messages() {
    const std::string_view group = "Messages";
    std::vector<std::string_view> everywhere;
    for (const CommandSpec& command : command_table())
        everywhere.push_back(command.name);
    return {
        {.name = "quiet",
         .aliases = {"-q"},
         .kind = ValueKind::flag,
         .group = group,
         .brief = "Only warnings, errors and the result",
         .detail = "Suppresses progress and notes.",
         .example = "--quiet",
         .commands = everywhere,
         .not_with = {{.option = "verbose", .reason = "one asks for fewer messages, the other for more"}}},
        {.name = "verbose",
         .aliases = {"-v"},
         .kind = ValueKind::flag,
         .group = group,
         .brief = "Print more detail",
         .detail = "Adds messages that help explain why something is as it is.",
         .example = "--verbose",
         .commands = everywhere},
        {.name = "log-format",
         .kind = ValueKind::word,
         .value_name = "WORD",
         .words = {"text", "json"},
         .group = group,
         .brief = "Messages as text, or as one JSON object per line",
         .detail = "With json, each message, progress report and error is one JSON object on its own line, "
                   "with a key \"event\" that says what it is.",
         .example = "--log-format json",
         .commands = everywhere,
         .default_text = "text"},
        {.name = "help",
         .aliases = {"-h"},
         .kind = ValueKind::flag,
         .group = group,
         .brief = "Show this help",
         .detail = "Shows the help of the command, wrapped to the width of the terminal.",
         .example = "--help",
         .commands = everywhere},
    };
}

} // namespace rekindle::cli::rows
