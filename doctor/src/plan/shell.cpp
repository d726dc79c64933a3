#include "plan/shell.h"

#include <rekindle/base/text.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <re2/re2.h>

namespace rekindle::doctor {

namespace {

using Assignments = std::vector<std::pair<std::string, std::string>>;

/// Removes leading assignments "A=B C=D ".
Assignments take_assignments(re2::StringPiece& rest) {
    static const RE2 one(R"re(([A-Z][A-Z0-9_]*)=([^\s"'$;|&]+)(?:\s+|$))re");
    Assignments taken;
    std::string name;
    std::string value;
    while (RE2::Consume(&rest, one, &name, &value))
        taken.emplace_back(name, value);
    return taken;
}

std::string settings(const Assignments& assignments) {
    std::vector<std::string> parts;
    parts.reserve(assignments.size());
    for (const auto& [name, value] : assignments)
        parts.push_back(fmt::format("$env:{} = \"{}\"", name, value));
    return fmt::format("{}", fmt::join(parts, "; "));
}

std::string removal(const std::vector<std::string>& names) {
    std::vector<std::string> items;
    items.reserve(names.size());
    for (const std::string& name : names)
        items.push_back("Env:" + name);
    return fmt::format("Remove-Item {} -ErrorAction SilentlyContinue", fmt::join(items, ", "));
}

/// Programs that have the same name on Windows, with nothing Unix-specific in their arguments.
std::optional<std::string> program(std::string_view command) {
    static const RE2 common(
        R"re((?:python[\d.]*|pip|conda|docker|torchrun|nvidia-smi|rekindle|\S*/rekindle-env/[\w.-]+/(?:bin|Scripts)/\w+|[A-Za-z]:[\\/]\S*)(?:\s.*)?)re");
    static const RE2 of_unix(R"re(\$\(|/dev/|/proc/|/sys/|/etc/|2>|\|\||"\$PWD"|\\$)re");
    const re2::StringPiece text(command.data(), command.size());
    if (!RE2::FullMatch(text, common) || RE2::PartialMatch(text, of_unix))
        return std::nullopt;
    std::string line(command);
    RE2::Replace(&line, R"re(^python3\b)re", "python");
    RE2::Replace(&line, R"re(^(\S*/rekindle-env/[\w.-]+)/bin/(\w+))re", R"re(& "\1/Scripts/\2")re");
    return line;
}

} // namespace

std::optional<std::string> in_powershell(std::string_view command) {
    static const RE2 unset(R"re(unset ([A-Z0-9_ ]+))re");
    static const RE2 print(R"re(printenv ([A-Z0-9_]+))re");
    static const RE2 remove_folder(R"re(rm -r (\$HOME/rekindle-env/[\w.-]+|[A-Za-z]:\S+))re");
    const re2::StringPiece text(command.data(), command.size());
    re2::StringPiece rest = text;
    std::string names;
    if (RE2::FullMatch(text, unset, &names)) {
        std::vector<std::string> list;
        for (const std::string_view name : split(names, ' '))
            if (!name.empty())
                list.emplace_back(name);
        return removal(list);
    }
    if (RE2::FullMatch(text, print, &names))
        return "$env:" + names;
    if (RE2::FullMatch(text, remove_folder, &names))
        return "Remove-Item -Recurse " + names;
    const bool exported = RE2::Consume(&rest, R"re(export\s+)re");
    const Assignments assignments = take_assignments(rest);
    if (rest.empty() && !assignments.empty())
        return settings(assignments);
    if (exported)
        return std::nullopt;
    auto line = program({rest.data(), rest.size()});
    if (assignments.empty() || !line)
        return line;
    std::vector<std::string> set;
    for (const auto& [name, value] : assignments)
        set.push_back(name);
    return fmt::format("{}; {}; {}", settings(assignments), *line, removal(set));
}

bool is_command(std::string_view line) {
    static const RE2 command(
        R"re((?:sudo|rm|mv|cp|unset|export|for|ulimit|podman|docker|apptainer|singularity|conda|exit)\b.*|\S*(?:python|pip)\S* .*)re");
    return RE2::FullMatch({line.data(), line.size()}, command);
}

} // namespace rekindle::doctor
