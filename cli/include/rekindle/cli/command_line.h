#pragma once
/// Parses the command line and determines the effective configuration.

#include <rekindle/cli/option_table.h>
#include <rekindle/trainer/config.h>

#include <nlohmann/json.hpp>

#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace rekindle::cli {

/// The parsed command line, checked against the table.
struct CommandLine {
    const CommandSpec* command = nullptr;
    nlohmann::ordered_json settings =
        nlohmann::ordered_json::object(); ///< keys of TrainConfig that were given
    nlohmann::ordered_json options =
        nlohmann::ordered_json::object(); ///< the other options that were given, by key()
    std::vector<std::string> positionals;

    bool has(std::string_view key) const { return options.contains(std::string(key)); }
    bool flag(std::string_view key) const { return has(key) && options.at(std::string(key)).get<bool>(); }
    std::string text(std::string_view key, std::string_view otherwise = "") const;
    std::int64_t integer(std::string_view key, std::int64_t otherwise) const;
    double number(std::string_view key, double otherwise) const;
    std::vector<std::string> list(std::string_view key) const;
};

/// Converts every spelling to the one that the parser knows: "--batch_size 8", "-b 8" → "--batch-size=8".
/// Throws usage_error for an unknown option (with the nearest name) and for a missing value.
std::vector<std::string> normalize(const CommandSpec& command, std::span<const std::string> arguments);

/// `arguments` are those after the command's name. Throws usage_error.
CommandLine parse_command_line(const CommandSpec& command, std::span<const std::string> arguments);

/// The effective configuration and where it comes from.
struct EffectiveConfig {
    trainer::TrainConfig config;
    std::set<std::string> given;  ///< keys set by --config or on the command line
    std::set<std::string> chosen; ///< keys on the command line, or set by --config to a value other than the
                                  ///< default: what the user chose, since config.json holds every key
    std::string user_defaults;    ///< path of the file with the user's defaults that was read, "" for none
};

/// Refuses chosen options that would have no effect because of another one (OptionSpec::not_with). Throws
/// usage_error naming both.
void check_combinations(const CommandLine& line, const EffectiveConfig& effective);

/// Defaults, then the user's defaults (`user_defaults_file`, when it exists), then --config, then the command
/// line. --compat original means --clock raw unless a clock was given. Throws usage_error, naming the file.
EffectiveConfig effective_config(const CommandLine& line, const std::string& user_defaults_file);

} // namespace rekindle::cli
