#include "rows.h"

#include <rekindle/cli/option_table.h>
#include <rekindle/trainer/settings.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace rekindle::cli {

namespace {

std::string with_hyphens(std::string_view text) {
    std::string result(text);
    std::replace(result.begin(), result.end(), '_', '-');
    return result;
}

/// A value of the configuration in the form that the command line takes.
std::string written(const nlohmann::ordered_json& value) {
    if (value.is_string())
        return value.get<std::string>();
    if (value.is_number_float())
        return fmt::format("{}", value.get<double>());
    if (!value.is_array())
        return value.dump();
    std::string text;
    for (const auto& element : value)
        text += (text.empty() ? "" : ",") + written(element);
    return text;
}

const nlohmann::ordered_json& default_config() {
    static const nlohmann::ordered_json json = [] {
        nlohmann::ordered_json defaults;
        trainer::to_json(defaults, trainer::TrainConfig{});
        return defaults;
    }();
    return json;
}

} // namespace

const std::vector<OptionSpec>& option_table() {
    static const std::vector<OptionSpec> table = [] {
        std::vector<OptionSpec> all;
        for (auto* make : {rows::settings, rows::run, rows::walk_forward, rows::search, rows::other_commands,
                           rows::backtest, rows::doctor, rows::messages}) {
            std::vector<OptionSpec> group = make();
            std::move(group.begin(), group.end(), std::back_inserter(all));
        }
        return all;
    }();
    return table;
}

const CommandSpec* find_command(std::string_view name) noexcept {
    for (const CommandSpec& command : command_table())
        if (command.name == name ||
            std::find(command.aliases.begin(), command.aliases.end(), name) != command.aliases.end())
            return &command;
    return nullptr;
}

std::vector<const OptionSpec*> options_of(std::string_view command) {
    std::vector<const OptionSpec*> options;
    for (const OptionSpec& option : option_table())
        if (option.belongs_to(command))
            options.push_back(&option);
    return options;
}

const OptionSpec* find_option(std::string_view command, std::string_view written_name) {
    if (written_name.size() < 2 || written_name.front() != '-')
        return nullptr;
    const bool is_long = written_name.substr(0, 2) == "--";
    const std::string name = with_hyphens(written_name.substr(is_long ? 2 : 1));
    for (const OptionSpec* option : options_of(command)) {
        const auto& aliases = option->aliases;
        if ((is_long && option->name == name) ||
            (!is_long && std::find(aliases.begin(), aliases.end(), written_name) != aliases.end()))
            return option;
    }
    return nullptr;
}

std::string default_of(const OptionSpec& option) {
    if (!option.in_config)
        return option.default_text;
    const nlohmann::ordered_json& value = default_config().at(option.key());
    return option.kind == ValueKind::flag ? "" : written(value);
}

std::string describe_values(const OptionSpec& option) {
    switch (option.kind) {
    case ValueKind::flag:
        return "no value, or =true or =false";
    case ValueKind::text:
        return option.words.empty() ? "text" : fmt::format("text, or {}", fmt::join(option.words, ", "));
    case ValueKind::path:
        return "a path";
    case ValueKind::path_list:
        return "one or more paths";
    case ValueKind::text_list:
        return "text; the option may be repeated";
    case ValueKind::word:
        return fmt::format("one of {}", fmt::join(option.words, ", "));
    case ValueKind::word_list:
        return fmt::format("one or more of {}, separated by commas", fmt::join(option.words, ", "));
    case ValueKind::integer:
        return option.range.text("a whole number");
    case ValueKind::integer_list:
        return option.range.text("whole numbers separated by commas, each");
    case ValueKind::number:
        return option.range.text("a number");
    case ValueKind::device_ids:
        return "device numbers separated by commas, such as 0 or 0,1";
    case ValueKind::device:
        return "auto, cpu, gpu, gpu:N or the UUID of a GPU";
    }
    return {};
}

} // namespace rekindle::cli
