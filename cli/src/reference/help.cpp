#include <rekindle/cli/reference.h>
#include <rekindle/cli/text_layout.h>

#include <fmt/format.h>

#include <algorithm>

namespace rekindle::cli {

namespace {

constexpr std::size_t min_table_width = 64; ///< in narrower output, explanations go below their headings

/// Two columns, or one below the other when the terminal is narrow.
std::string entry(std::string_view heading, std::string_view text, std::size_t width, std::size_t column) {
    if (width < min_table_width)
        return indented(heading, width, 2) + indented(text, width, 6);
    const std::vector<std::string> lines = wrap(text, width - column);
    std::string result = "  " + std::string(heading);
    std::size_t next = 0;
    if (result.size() + 2 <= column)
        result += std::string(column - result.size(), ' ') + lines[next++];
    result += "\n";
    for (; next < lines.size(); ++next)
        result += std::string(column, ' ') + lines[next] + "\n";
    return result;
}

std::string explanation(const OptionSpec& option) {
    std::string text(option.brief);
    const bool has_words = option.kind == ValueKind::word || option.kind == ValueKind::word_list;
    if (has_words)
        text += fmt::format(" ({})", fmt::join(option.words, ", "));
    if (option.required)
        text += " [required]";
    else if (const std::string value = default_of(option); !value.empty())
        text += fmt::format(" [{}]", value);
    return text;
}

std::string folders_text(const UserFolders& folders, std::size_t width) {
    return "Folders:\n" +
           entry(
               folders.config,
               "config.json in it holds your defaults, in the format of --config (XDG_CONFIG_HOME/rekindle)",
               width, 34) +
           entry(folders.cache, "caches, safe to delete (XDG_CACHE_HOME/rekindle)", width, 34) + "\n" +
           indented("Nothing is ever sent anywhere: the program opens no network connection.", width, 0);
}

std::string exit_status_text(std::size_t width) {
    std::string text = "Exit status:\n";
    for (const auto& [status, meaning] : exit_statuses())
        text += entry(std::to_string(status), meaning, width, 8);
    return text;
}

} // namespace

const std::vector<std::pair<int, std::string_view>>& exit_statuses() {
    static const std::vector<std::pair<int, std::string_view>> statuses{
        {0, "success"},
        {1, "the job failed, or there are findings"},
        {2, "wrong usage or input"},
        {70, "a bug in Rekindle"},
        {130, "interrupted; finished work is saved"},
    };
    return statuses;
}

std::string option_heading(const OptionSpec& option) {
    std::string heading;
    for (const std::string_view alias : option.aliases)
        heading += std::string(alias) + ", ";
    heading += "--" + std::string(option.name);
    if (!option.value_name.empty())
        heading += " " + std::string(option.value_name) + (option.kind == ValueKind::path_list ? "..." : "");
    return heading;
}

std::string usage_line(const CommandSpec& command) {
    std::string line = "rekindle " + std::string(command.name);
    if (!command.positional.empty())
        line += command.positional_required ? " " + std::string(command.positional)
                                            : " [" + std::string(command.positional) + "]";
    for (const OptionSpec* option : options_of(command.name))
        if (option->required)
            line += fmt::format(" --{} {}", option->name, option->value_name);
    return line + " [options]";
}

std::string render_overview(std::size_t width, const UserFolders& folders) {
    std::string text = indented("rekindle: market bars in, a trained network out, in one program.", width, 0);
    text += "\nUsage: rekindle COMMAND [options]\n\nCommands:\n";
    for (const CommandSpec& command : command_table())
        if (!command.hidden) {
            std::string heading(command.name);
            for (const std::string_view alias : command.aliases)
                heading += ", " + std::string(alias);
            text += entry(heading, command.brief, width, 28);
        }
    text += "\nOptions:\n" + entry("-h, --help", "Show this help", width, 28) +
            entry("--version", "Show version, revision and compiler", width, 28);
    text += "\n" + indented("rekindle COMMAND --help shows the options of a command. Options are written "
                            "with hyphens; underscores work too (--batch_size).",
                            width, 0);
    return text + "\n" + exit_status_text(width) + "\n" + folders_text(folders, width);
}

std::string render_help(const CommandSpec& command, std::size_t width, const UserFolders& folders) {
    std::string text = indented(fmt::format("rekindle {}: {}", command.name, command.brief), width, 0);
    text += "\n" + indented("Usage: " + usage_line(command), width, 0);
    text += "\n" + indented(command.detail, width, 0);
    std::vector<std::string_view> groups;
    const std::vector<const OptionSpec*> options = options_of(command.name);
    for (const OptionSpec* option : options)
        if (std::find(groups.begin(), groups.end(), option->group) == groups.end())
            groups.push_back(option->group);
    for (const std::string_view heading : groups) {
        text += "\n" + indented(std::string(heading) + ":", width, 0);
        for (const OptionSpec* option : options)
            if (option->group == heading)
                text += entry(option_heading(*option), explanation(*option), width, 34);
    }
    text += "\nExamples:\n";
    for (const Example& example : command.examples) {
        const std::string line = fmt::format("rekindle {}{}{}", command.name,
                                             example.arguments.empty() ? "" : " ", example.arguments);
        text += indented(line, width, 2) + indented(example.meaning, width, 6);
    }
    return text + "\n" + exit_status_text(width) + "\n" + folders_text(folders, width);
}

} // namespace rekindle::cli
