#pragma once
/// The one table of commands and options. Parsing, help, completions, man pages and docs/ all come from it;
/// default values are not in it: they are read from TrainConfig{}.

#include <rekindle/base/range.h>

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace rekindle::cli {

/// What may follow an option.
enum class ValueKind {
    flag,         ///< nothing, or =true / =false
    text,         ///< anything; `words` are special values and are matched in any case
    path,         ///< a file or folder
    path_list,    ///< one or more files or folders; may be repeated
    word,         ///< one of `words`, in any case
    word_list,    ///< some of `words`, separated by commas
    integer,      ///< a whole number in `range`
    integer_list, ///< whole numbers in `range`, separated by commas
    number,       ///< a finite number in `range`
    device_ids,   ///< numbers separated by commas, kept as text
    device,       ///< auto, cpu, gpu, gpu:N; cuda and hip mean gpu
};

/// Another option that leaves this one without effect. The program refuses the combination.
struct Exclusion {
    std::string_view option;              ///< the other one's name: "compat"
    std::string_view word = {};           ///< the value of it that matters: "original"; "" for any
    std::string_view reason;              ///< "the original system has its own weights"
    std::string_view own_word = {};       ///< the value of the option itself that matters; "" for any
    std::string_view except_command = {}; ///< the one command that accepts the combination
};

/// One option of one or more commands. Strings are ASCII.
struct OptionSpec {
    std::string_view name;                      ///< with hyphens and without the leading ones: "batch-size"
    std::vector<std::string_view> aliases = {}; ///< short and old names with their hyphens: "-b", "-lr"
    ValueKind kind = ValueKind::text;
    std::string_view value_name = ""; ///< the value's name in help: "N"
    std::vector<std::string_view> words = {};
    Range range = {};
    bool in_config = false;                 ///< sets the key of TrainConfig that is the name with underscores
    std::string_view group;                 ///< heading in help
    std::string_view brief;                 ///< one line, with units
    std::string_view detail;                ///< a paragraph
    std::string_view example;               ///< arguments of the command, without the program's name
    std::vector<std::string_view> commands; ///< names of the commands that take it
    std::string default_text = {};          ///< only where in_config is false and there is a default
    bool required = false;
    bool value_optional = false; ///< may be given without a value, which is then ""
    std::vector<Exclusion> not_with = {};

    /// "batch_size".
    std::string key() const;
    bool belongs_to(std::string_view command) const noexcept;
};

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
