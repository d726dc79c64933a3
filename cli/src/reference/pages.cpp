#include <rekindle/cli/reference.h>
#include <rekindle/market/features.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace rekindle::cli {

namespace {

constexpr std::string_view origin = "<!-- Made from the option table by `rekindle generate-docs docs --only "
                                    "pages`; edit cli/src/options/. -->\n\n";

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
        text += fmt::format("{}[{}](../commands/{}.md)", text.empty() ? "" : ", ", command, command);
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

std::string flag_section(const OptionSpec& option) {
    std::string text = fmt::format("{}.\n\n{}\n\n", option.brief, option.detail);
    text += "| | |\n|---|---|\n";
    text += fmt::format("| Commands | {} |\n", commands_cell(option));
    text += fmt::format("| Other spellings | {} |\n", aliases_cell(option));
    text += fmt::format("| Takes | {} |\n", cell(describe_values(option)));
    text += fmt::format("| Default | {} |\n", default_cell(option));
    if (!option.not_with.empty())
        text += fmt::format("| Refused beside | {} |\n",
                            cell(fmt::format("{}", fmt::join(describe_exclusions(option), "; "))));
    if (option.in_config)
        text += fmt::format("| Key of config.json | `{}` |\n", option.key());
    text += fmt::format("\n```\nrekindle {} {}\n```\n", option.commands.front(), option.example);
    return text;
}

std::string flag_index() {
    std::string text = std::string(origin) +
                       "# Options\n\nUnderscores are the same as hyphens in every option.\n\n"
                       "| Option | Commands | What |\n|---|---|---|\n";
    for (const OptionSpec& option : option_table())
        text += fmt::format("| [`--{}`]({}.md) | {} | {} |\n", option.name, option.name,
                            commands_cell(option), cell(option.brief));
    return text;
}

std::string markdown_page(const CommandSpec& command) {
    std::string text = fmt::format("{}# rekindle {}\n\n{}.\n\n```\n{}\n```\n\n{}\n", origin, command.name,
                                   command.brief, usage_line(command), command.detail);
    for (const std::string_view alias : command.aliases)
        text += fmt::format("\n`rekindle {}` is the same command.\n", alias);
    text += "\n## Examples\n\n";
    for (const Example& example : command.examples)
        text += fmt::format("- {}: `rekindle {}{}{}`\n", example.meaning, command.name,
                            example.arguments.empty() ? "" : " ", example.arguments);
    text += "\n## Options\n\n| Option | What | Default |\n|---|---|---|\n";
    for (const OptionSpec* option : options_of(command.name))
        text += fmt::format("| [`{}`](../flags/{}.md) | {} | {} |\n", cell(option_heading(*option)),
                            option->name, cell(option->brief), default_cell(*option));
    return text + "\nExit statuses: [exit-statuses.md](../exit-statuses.md).\n";
}

std::string command_index() {
    std::string text = std::string(origin) + "# Commands\n\n| Command | What |\n|---|---|\n";
    for (const CommandSpec& command : command_table())
        text += fmt::format("| [`{}`]({}.md) | {} |\n", command.name, command.name, cell(command.brief));
    return text;
}

std::string feature_page() {
    return "<!-- Made from the table of features by `rekindle generate-docs docs --only pages`; edit "
           "market/src/features/. -->\n\n# Features\n\nEvery column that `--features GROUPS` can choose. "
           "Prices are in "
           "points; prices of earlier sessions are shifted into the contract of the row's session. How they "
           "are "
           "scaled, and what is predicted from them: [scaling-and-targets.md](scaling-and-targets.md).\n\n" +
           market::feature_table_markdown();
}

} // namespace

std::map<std::string, std::string> reference_pages() {
    std::map<std::string, std::string> pages{{"flags/README.md", flag_index()},
                                             {"commands/README.md", command_index()},
                                             {"features/README.md", feature_page()}};
    for (const OptionSpec& option : option_table()) {
        std::string& page = pages[fmt::format("flags/{}.md", option.name)];
        if (page.empty())
            page = fmt::format("{}# --{}\n\n", origin, option.name);
        else // one name that means something else for another command
            page += fmt::format("\n## For {}\n\n", fmt::join(option.commands, ", "));
        page += flag_section(option);
    }
    for (const CommandSpec& command : command_table())
        pages[fmt::format("commands/{}.md", command.name)] = markdown_page(command);
    return pages;
}

} // namespace rekindle::cli
