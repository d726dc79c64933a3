#include <rekindle/base/text.h>
#include <rekindle/cli/command_line.h>
#include <rekindle/foundation/error.h>
#include <rekindle/foundation/file.h>
#include <rekindle/trainer/settings.h>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>

namespace rekindle::cli {

namespace {

bool looks_like_number(std::string_view text) {
    return text.size() > 1 && text[0] == '-' && ((text[1] >= '0' && text[1] <= '9') || text[1] == '.');
}

bool looks_like_option(std::string_view text) {
    return text.size() > 1 && text[0] == '-' && !looks_like_number(text);
}

std::string nearest_option(std::string_view command, std::string_view written) {
    std::vector<std::string> names;
    for (const OptionSpec* option : options_of(command)) {
        names.push_back("--" + std::string(option->name));
        names.insert(names.end(), option->aliases.begin(), option->aliases.end());
    }
    const std::vector<std::string_view> candidates(names.begin(), names.end());
    std::string hyphenated(written);
    std::replace(hyphenated.begin(), hyphenated.end(), '_', '-');
    std::string_view near = nearest_word(hyphenated, candidates);
    for (const std::string_view candidate : candidates)
        if (near.empty() && hyphenated.size() > 3 && candidate.starts_with(hyphenated))
            near = candidate;
    if (near.empty() && !hyphenated.starts_with("--"))
        near = nearest_word("-" + hyphenated, candidates);
    return std::string(near);
}

/// "train, features": the commands that have this long option.
std::string commands_with_option(std::string_view written) {
    std::string names;
    if (written.starts_with("--"))
        for (const CommandSpec& command : command_table())
            if (find_option(command.name, written) != nullptr)
                names += (names.empty() ? "" : ", ") + std::string(command.name);
    return names;
}

/// A reminder of `--`, for the commands that run another program.
std::string_view separator_hint(const CommandSpec& command) {
    return command.positional.starts_with("[--") ? " An option of the command to run comes after --." : "";
}

[[noreturn]] void refuse_unknown(const CommandSpec& command, std::string_view written) {
    if (const std::string others = commands_with_option(written); !others.empty())
        throw usage_error(
            fmt::format("rekindle {} has no option {}: it belongs to {}", command.name, written, others))
            .hint(fmt::format("rekindle {} --help lists all options.{}", command.name,
                              separator_hint(command)));
    Error error = usage_error(fmt::format("unknown option {}", written));
    const std::string near = nearest_option(command.name, written);
    const std::string all =
        fmt::format("rekindle {} --help lists all options.{}", command.name, separator_hint(command));
    error.hint(near.empty() ? all : fmt::format("Did you mean {}? {}", near, all));
    throw error;
}

/// The configuration's keys that `json` holds.
std::set<std::string> keys_of(const nlohmann::ordered_json& json) {
    std::set<std::string> keys;
    for (const auto& item : json.items())
        keys.insert(item.key());
    return keys;
}

/// The keys of `json` whose value is not the default.
std::set<std::string> changed_keys(const nlohmann::ordered_json& json) {
    nlohmann::ordered_json defaults;
    trainer::to_json(defaults, trainer::TrainConfig{});
    std::set<std::string> keys;
    for (const auto& item : json.items())
        if (!defaults.contains(item.key()) || defaults[item.key()] != item.value())
            keys.insert(item.key());
    return keys;
}

nlohmann::ordered_json read_json(const std::string& path) {
    const std::string text = read_file(path);
    try {
        return nlohmann::ordered_json::parse(text);
    } catch (const nlohmann::json::parse_error& error) {
        const std::size_t end = std::min(error.byte > 0 ? error.byte - 1 : 0, text.size());
        const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(end), '\n');
        const std::size_t line_start = end == 0 ? 0 : text.rfind('\n', end - 1) + 1;
        throw usage_error("this is not JSON")
            .at(fmt::format("{}:{}:{}", path, line, end - line_start + 1))
            .expected("one JSON object such as {\"epochs\": 3}");
    }
}

void update_from_file(const std::string& path, const nlohmann::ordered_json& json,
                      trainer::TrainConfig& config) {
    try {
        trainer::update_from_json(json, config);
    } catch (const Error& error) {
        throw Error(error.message(), error.status())
            .at(error.where().empty() ? path : path + ": " + error.where())
            .expected(error.expectation())
            .hint(error.advice());
    }
}

} // namespace

std::string CommandLine::text(std::string_view key, std::string_view otherwise) const {
    return has(key) ? options.at(std::string(key)).get<std::string>() : std::string(otherwise);
}

std::int64_t CommandLine::integer(std::string_view key, std::int64_t otherwise) const {
    return has(key) ? options.at(std::string(key)).get<std::int64_t>() : otherwise;
}

double CommandLine::number(std::string_view key, double otherwise) const {
    return has(key) ? options.at(std::string(key)).get<double>() : otherwise;
}

std::vector<std::string> CommandLine::list(std::string_view key) const {
    return has(key) ? options.at(std::string(key)).get<std::vector<std::string>>()
                    : std::vector<std::string>{};
}

std::vector<std::string> normalize(const CommandSpec& command, std::span<const std::string> arguments) {
    std::vector<std::string> result;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const std::string& argument = arguments[i];
        if (argument == "--") {
            result.insert(result.end(), arguments.begin() + static_cast<std::ptrdiff_t>(i), arguments.end());
            break;
        }
        if (!looks_like_option(argument)) {
            result.push_back(argument);
            continue;
        }
        const std::size_t equals = argument.find('=');
        const std::string written = argument.substr(0, equals);
        const OptionSpec* option = find_option(command.name, written);
        if (option == nullptr)
            refuse_unknown(command, written);
        const std::string name = "--" + std::string(option->name);
        if (equals != std::string::npos && equals + 1 < argument.size()) {
            result.push_back(name + argument.substr(equals));
            continue;
        }
        result.push_back(name);
        if (equals != std::string::npos) { // "--vix=": an empty value
            result.emplace_back();
            continue;
        }
        if (option->kind == ValueKind::flag)
            continue;
        const bool alone = i + 1 == arguments.size() || looks_like_option(arguments[i + 1]);
        if (alone && option->value_optional) {
            result.emplace_back();
            continue;
        }
        if (alone)
            throw usage_error("missing value").at(name).expected(describe_values(*option));
        if (option->kind == ValueKind::path_list)
            continue;
        ++i;
        if (arguments[i].empty())
            result.emplace_back();
        else
            result.back() += "=" + arguments[i];
    }
    return result;
}

CommandLine parse_command_line(const CommandSpec& command, std::span<const std::string> arguments) {
    CLI::App app;
    app.set_help_flag();
    std::vector<std::pair<const OptionSpec*, CLI::Option*>> parsed;
    std::vector<std::string> paths; // at most one option of a command takes a list of paths
    for (const OptionSpec* option : options_of(command.name)) {
        const std::string name = "--" + std::string(option->name);
        CLI::Option* entry = nullptr;
        if (option->kind == ValueKind::path_list)
            entry = app.add_option(name, paths)->take_all();
        else if (option->kind == ValueKind::text_list)
            entry = app.add_option(name)->take_all();
        else if (option->kind == ValueKind::flag)
            entry = app.add_flag(name)->take_last();
        else
            entry = app.add_option(name)->take_last();
        parsed.emplace_back(option, entry);
    }
    app.allow_extras();

    std::vector<std::string> normalized = normalize(command, arguments);
    std::reverse(normalized.begin(), normalized.end());
    try {
        app.parse(std::move(normalized));
    } catch (const CLI::ParseError& error) {
        throw usage_error(error.what())
            .hint(fmt::format("rekindle {} --help shows the usage.", command.name));
    }

    CommandLine line;
    line.command = &command;
    line.positionals = app.remaining();
    if (const auto mark = std::find(line.positionals.begin(), line.positionals.end(), "--");
        mark != line.positionals.end())
        line.positionals.erase(mark);
    for (const auto& [option, entry] : parsed)
        if (entry->count() > 0)
            (option->in_config ? line.settings : line.options)[option->key()] =
                parse_value(*option, entry->results());
    if (command.positional.empty() && !line.positionals.empty())
        throw usage_error(fmt::format("unexpected argument \"{}\"", line.positionals.front()))
            .hint(fmt::format("rekindle {} takes only options; rekindle {} --help lists them.", command.name,
                              command.name));
    return line;
}

EffectiveConfig effective_config(const CommandLine& line, const std::string& user_defaults_file) {
    EffectiveConfig effective;
    if (!user_defaults_file.empty() && std::filesystem::exists(user_defaults_file)) {
        update_from_file(user_defaults_file, read_json(user_defaults_file), effective.config);
        effective.user_defaults = user_defaults_file;
    }
    if (line.has("config")) {
        const std::string path = line.text("config");
        const nlohmann::ordered_json json = read_json(path);
        update_from_file(path, json, effective.config);
        effective.given = keys_of(json);
        effective.chosen = changed_keys(json);
    }
    trainer::update_from_json(line.settings, effective.config);
    effective.given.merge(keys_of(line.settings));
    for (const std::string& key : keys_of(line.settings))
        effective.chosen.insert(key);
    if (effective.config.compat == trainer::Compat::original && !effective.given.contains("clock"))
        effective.config.clock = market::Clock::raw;
    return effective;
}

} // namespace rekindle::cli
