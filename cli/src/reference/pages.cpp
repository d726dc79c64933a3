#include <rekindle/cli/reference.h>
#include <rekindle/market/features.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

namespace rekindle::cli {

namespace {

constexpr std::string_view origin =
    "<!-- Generated from the option table by `rekindle generate-docs`; edit cli/src/options/ and "
    "trainer/src/config/settings/. -->\n\n";

std::string cell(std::string_view text) {
    std::string result;
    for (const char c : text)
        result += c == '|' ? std::string("\\|") : std::string(1, c);
    return result;
}

std::string default_cell(const OptionSpec& option) {
    if (option.required)
        return "(required)";
    const std::string value = default_of(option);
    if (!value.empty())
        return "`" + value + "`";
    return option.kind == ValueKind::flag ? "off" : "none";
}

std::string commands_cell(const OptionSpec& option) {
    std::string text;
    for (const std::string_view command : option.commands)
        text += fmt::format("{}[{}](commands.md#{})", text.empty() ? "" : ", ", command, command);
    return text;
}

std::string aliases_cell(const OptionSpec& option) {
    std::string text;
    for (const std::string_view alias : option.aliases)
        text += fmt::format("{}`{}`", text.empty() ? "" : ", ", alias);
    if (option.name.find('-') != std::string_view::npos)
        text += fmt::format("{}`--{}`", text.empty() ? "" : ", ", option.key());
    return text.empty() ? "none" : text;
}

std::string option_section(const OptionSpec& option) {
    std::string text = fmt::format("{}.\n\n{}\n\n", option.brief, option.detail);
    text += "| | |\n|---|---|\n";
    text += fmt::format("| Commands | {} |\n", commands_cell(option));
    text += fmt::format("| Other spellings | {} |\n", aliases_cell(option));
    text += fmt::format("| Takes | {} |\n", cell(describe_values(option)));
    text += fmt::format("| Default | {} |\n", default_cell(option));
    if (!option.not_with.empty())
        text += fmt::format("| Cannot be combined with | {} |\n",
                            cell(fmt::format("{}", fmt::join(describe_exclusions(option), "; "))));
    if (option.in_config)
        text += fmt::format("| Key in config.json | `{}` |\n", option.key());
    text += fmt::format("\n```\nrekindle {} {}\n```\n", option.commands.front(), option.example);
    return text;
}

std::string options_page() {
    std::string page =
        std::string(origin) +
        "# Options\n\nEvery option in detail, by name. Underscores and hyphens are the same.\n";
    std::map<std::string_view, std::vector<const OptionSpec*>> by_name;
    for (const OptionSpec& option : option_table())
        by_name[option.name].push_back(&option);
    for (const auto& [name, options] : by_name)
        for (const OptionSpec* option : options) {
            // One name may mean something else for another command.
            page += options.size() == 1
                        ? fmt::format("\n## --{}\n\n", name)
                        : fmt::format("\n## --{} of {}\n\n", name, fmt::join(option->commands, ", "));
            page += option_section(*option);
        }
    return page;
}

std::string command_section(const CommandSpec& command) {
    std::string text = fmt::format("\n## {}\n\n{}.\n\n```\n{}\n```\n\n{}\n", command.name, command.brief,
                                   usage_line(command), command.detail);
    for (const std::string_view alias : command.aliases)
        text += fmt::format("\n`rekindle {}` is the same command.\n", alias);
    text += "\n";
    for (const Example& example : command.examples)
        text += fmt::format("- {}: `rekindle {}{}{}`\n", example.meaning, command.name,
                            example.arguments.empty() ? "" : " ", example.arguments);
    text += "\n| Option | What | Default |\n|---|---|---|\n";
    for (const OptionSpec* option : options_of(command.name))
        text += fmt::format("| `{}` | {} | {} |\n", cell(option_heading(*option)), cell(option->brief),
                            default_cell(*option));
    return text;
}

std::string commands_page() {
    std::string page = std::string(origin) + "# Commands\n\n`rekindle help COMMAND` says more about each "
                                             "option. [Exit statuses](../exit-statuses.md).\n\n"
                                             "| Command | What |\n|---|---|\n";
    for (const CommandSpec& command : command_table())
        page += fmt::format("| [{}](#{}) | {} |\n", command.name, command.name, cell(command.brief));
    for (const CommandSpec& command : command_table())
        page += command_section(command);
    return page;
}

std::string feature_page() {
    return "<!-- Generated from the feature table by `rekindle generate-docs`; edit market/src/features/. "
           "-->\n\n# Features\n\nEvery column that `--features GROUPS` can choose. Prices are in points; "
           "prices of earlier sessions are shifted into the contract of the row's session. For scaling and "
           "targets, see [scaling-and-targets.md](scaling-and-targets.md).\n\n" +
           market::feature_table_markdown();
}

} // namespace

std::map<std::string, std::string> committed_pages() {
    return {{"reference/commands.md", commands_page()}, {"features/README.md", feature_page()}};
}

std::map<std::string, std::string> reference_pages() {
    std::map<std::string, std::string> pages = committed_pages();
    pages["reference/options.md"] = options_page();
    return pages;
}

} // namespace rekindle::cli
