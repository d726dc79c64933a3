#include <rekindle/base/text.h>
#include <rekindle/base/version.h>
#include <rekindle/cli/reference.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace rekindle::cli {

namespace {

/// Text that troff prints unchanged; long lists without spaces may be broken after a comma.
std::string troff(std::string_view text) {
    std::string result;
    for (const char c : text) {
        if (c == '\\')
            result += "\\e";
        else if (c == '-')
            result += "\\-";
        else if (c == ',')
            result += ",\\:";
        else if ((c == '.' || c == '\'') && (result.empty() || result.back() == '\n'))
            result += std::string("\\&") + c;
        else
            result += c;
    }
    return result;
}

std::string paragraphs(std::string_view text) {
    std::string result;
    while (!text.empty()) {
        const std::size_t end = text.find("\n\n");
        result += (result.empty() ? "" : ".PP\n") + troff(text.substr(0, end)) + "\n";
        if (end == std::string_view::npos)
            break;
        text.remove_prefix(end + 2);
    }
    return result;
}

std::string title(std::string_view name) {
    std::string upper(name);
    std::transform(upper.begin(), upper.end(), upper.begin(),
                   [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
    return fmt::format(".TH {} 1 \"\" \"rekindle {}\" \"User Commands\"\n.ad l\n.nh\n", upper,
                       version_number());
}

std::string option_entry(const OptionSpec& option) {
    std::string text = ".TP\n.B " + troff(option_heading(option)) + "\n" + troff(option.brief) + ".\n" +
                       troff(option.detail) + "\n";
    if (option.kind != ValueKind::flag)
        text += troff("Takes " + describe_values(option) + ".") + "\n";
    if (const std::string value = default_of(option); !value.empty())
        text += troff("Default: " + value + ".") + "\n";
    if (!option.not_with.empty())
        text +=
            troff(fmt::format("Cannot be combined with {}.", fmt::join(describe_exclusions(option), "; "))) +
            "\n";
    return text;
}

std::string common_end() {
    std::string text = ".SH EXIT STATUS\n";
    for (const auto& [status, meaning] : exit_statuses())
        text += fmt::format(".TP\n.B {}\n{}\n", status, troff(meaning));
    return text +
           ".SH FILES\n.TP\n.I $XDG_CONFIG_HOME/rekindle/config.json\n"
           "Your defaults, in the format of \\-\\-config. Without XDG_CONFIG_HOME: ~/.config.\n"
           ".TP\n.I $XDG_CACHE_HOME/rekindle\nCaches, safe to delete. Without XDG_CACHE_HOME: ~/.cache.\n"
           ".SH NOTES\nNothing is ever sent anywhere: the program opens no network connection.\n";
}

std::string overview_page() {
    std::string text = title("rekindle") + ".SH NAME\nrekindle \\- market bars in, a trained network out\n"
                                           ".SH SYNOPSIS\n.B rekindle\n.I COMMAND\n[options]\n.SH COMMANDS\n";
    for (const CommandSpec& command : command_table())
        text += fmt::format(".TP\n.BR rekindle\\-{} (1)\n{}\n", troff(command.name), troff(command.brief));
    return text + common_end();
}

std::string manual_page(const CommandSpec& command) {
    const std::string name = "rekindle-" + std::string(command.name);
    std::string text = title(name) + ".SH NAME\n" + troff(name) + " \\- " + troff(command.brief) +
                       "\n.SH SYNOPSIS\n.B " + troff(usage_line(command)) + "\n.SH DESCRIPTION\n" +
                       paragraphs(command.detail);
    std::string_view group;
    text += ".SH OPTIONS\n";
    for (const OptionSpec* option : options_of(command.name)) {
        if (option->group != group)
            text += fmt::format(".SS {}\n", troff(option->group));
        group = option->group;
        text += option_entry(*option);
    }
    text += ".SH EXAMPLES\n";
    for (const Example& example : command.examples)
        text += fmt::format(".TP\n.B {}\n{}\n",
                            troff(fmt::format("rekindle {} {}", command.name, example.arguments)),
                            troff(example.meaning));
    return text + common_end() + ".SH SEE ALSO\n.BR rekindle (1)\n";
}

} // namespace

std::map<std::string, std::string> manual_pages() {
    std::map<std::string, std::string> pages{{"rekindle.1", overview_page()}};
    for (const CommandSpec& command : command_table())
        pages[fmt::format("rekindle-{}.1", command.name)] = manual_page(command);
    return pages;
}

} // namespace rekindle::cli
