#include "rules.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>
#include <utility>
#include <vector>

namespace rekindle::python {

namespace nb = nanobind;

namespace {

using Json = nlohmann::ordered_json;

/// Options of the program alone: where its configuration comes from, and what it prints.
bool is_of_the_program(const cli::OptionSpec& option) {
    return option.group == "Where and how it runs" || option.group == "Messages" || option.name == "format";
}

/// The values as the program's arguments.
std::vector<std::string> arguments(const Json& value) {
    if (value.is_string())
        return {value.get<std::string>()};
    if (!value.is_array())
        return {value.dump()};
    std::vector<std::string> texts;
    for (const Json& one : value)
        texts.push_back(arguments(one).front());
    return texts;
}

Json default_value(const cli::OptionSpec& option) {
    if (option.kind == trainer::ValueKind::flag)
        return false;
    return option.default_text.empty() ? Json() : parse_value(option, {option.default_text});
}

/// The rows of the option table for a command, without settings and the program's own options.
nb::list options(std::string_view command) {
    nb::list rows;
    for (const cli::OptionSpec* option : cli::options_of(command)) {
        if (option->in_config || is_of_the_program(*option))
            continue;
        nb::dict row;
        row["name"] = option->key();
        row["kind"] = name_of(option->kind);
        row["default"] = default_value(*option).dump();
        row["words"] = option->words;
        row["group"] = option->group;
        row["brief"] = option->brief;
        row["detail"] = option->detail;
        row["commands"] = option->commands;
        rows.append(row);
    }
    return rows;
}

} // namespace

cli::EffectiveConfig effective(const Settings& settings) {
    return {settings.config, settings.given, settings.chosen, ""};
}

cli::CommandLine command_line(std::string_view command, const Settings& settings, const std::string& rules) {
    cli::CommandLine line;
    line.command = cli::find_command(command);
    const Json options = Json::parse(rules);
    for (const auto& item : options.items()) {
        std::string name = "--" + item.key();
        std::ranges::replace(name, '_', '-');
        const cli::OptionSpec* option = cli::find_option(command, name);
        line.options[item.key()] = cli::parse_value(*option, arguments(item.value()));
    }
    cli::check_combinations(line, effective(settings));
    return line;
}

void bind_rules(nb::module_& module) {
    module.def("options", &options, nb::arg("command"));
}

} // namespace rekindle::python
