#pragma once
/// The one table of commands and options. Parsing, help, completions, man pages and docs/ all come from it.
/// The options that set TrainConfig are made from trainer::settings(); default values are read from
/// TrainConfig{}.

#include <rekindle/cli/option_spec.h>

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace rekindle::cli {

/// An example of a command: its arguments and what they do.
struct Example {
    std::string_view arguments;
    std::string_view meaning;
};

struct CommandSpec {
    std::string_view name;
    std::vector<std::string_view> aliases = {};
    std::string_view positional = ""; ///< "FILE..." as shown in the usage line; "" for none
    bool positional_required = false;
    std::vector<std::string_view> positional_words = {}; ///< allowed words; empty: a path
    std::string_view brief;                              ///< one line
    std::string_view detail;                             ///< paragraphs, separated by an empty line
    std::vector<Example> examples;
    bool hidden = false; ///< omitted from the overview
};

/// All commands, in the order of the help.
const std::vector<CommandSpec>& command_table();
/// All options, in the order of the help.
const std::vector<OptionSpec>& option_table();

/// The command of this name or alias, or nullptr.
const CommandSpec* find_command(std::string_view name) noexcept;
/// The options of a command, in the order of the table.
std::vector<const OptionSpec*> options_of(std::string_view command);
/// The option that `written` ("--batch_size", "-b", "-lr") means for this command, or nullptr.
const OptionSpec* find_option(std::string_view command, std::string_view written);

/// The default as it would be written on the command line; "" when there is none.
std::string default_of(const OptionSpec& option);
/// "--compat original (the original system has its own weights)" for each of OptionSpec::not_with.
std::vector<std::string> describe_exclusions(const OptionSpec& option);
/// "a whole number from 1 to 4096", "one of: utc, exchange, raw".
std::string describe_values(const OptionSpec& option);
/// Parses the value of an option. Throws usage_error naming the option, the value and what was expected.
/// path_list takes all of `values`, every other kind the last one; a flag without a value is true.
nlohmann::ordered_json parse_value(const OptionSpec& option, const std::vector<std::string>& values);

} // namespace rekindle::cli
