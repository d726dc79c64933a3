#include "pages/markdown.h"

#include <fmt/format.h>

#include <algorithm>

namespace rekindle::doctor {
namespace {

std::string in_one_line(std::string_view text) {
    std::string line;
    for (const char c : text)
        line += c == '\n' || c == '\r' || c == '\t' ? ' ' : c;
    return line;
}

/// "pytorch/pytorch#132570" as a link to the thread; anything else as prose.
std::string reference(const Backing& backing) {
    const std::string& text = backing.reference;
    if (text.starts_with("https://") && text.find_first_of(" \n<>") == std::string::npos)
        return '<' + text + '>';
    const std::size_t slash = text.find('/');
    const std::size_t hash = text.find('#');
    const auto is_name = [](std::string_view part) {
        return !part.empty() &&
               part.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/") ==
                   std::string_view::npos;
    };
    const auto is_number = [](std::string_view part) {
        return !part.empty() && part.find_first_not_of("0123456789") == std::string_view::npos;
    };
    if (slash != std::string::npos && hash != std::string::npos && slash < hash &&
        is_name(text.substr(0, hash)) && is_number(text.substr(hash + 1)))
        return fmt::format("[{}](https://github.com/{}/issues/{})", prose(text), text.substr(0, hash),
                           text.substr(hash + 1));
    return prose(text);
}

std::string one(const Backing& backing) {
    return fmt::format("{}: {}{}", backing.kind, reference(backing),
                       backing.note.empty() ? "" : " (" + prose(backing.note) + ")");
}

/// Markdown for a table cell, where a bar ends the cell even inside code.
std::string without_bars(std::string_view markdown) {
    std::string escaped;
    bool slash = false;
    for (const char c : markdown) {
        if (c == '|' && !slash)
            escaped += '\\';
        slash = c == '\\' && !slash;
        escaped += c;
    }
    return escaped;
}

} // namespace

std::string prose(std::string_view text) {
    std::string escaped;
    bool in_code = false;
    const bool code_closes = std::count(text.begin(), text.end(), '`') % 2 == 0;
    for (const char c : in_one_line(text)) {
        if (c == '`' && code_closes)
            in_code = !in_code;
        else if (!in_code && std::string_view("\\`*_<>[]|~").find(c) != std::string_view::npos)
            escaped += '\\';
        escaped += c;
    }
    return escaped;
}

std::string cell(std::string_view text) {
    return without_bars(prose(text));
}

std::string code(std::string_view text) {
    std::size_t longest = 0;
    std::size_t run = 0;
    for (const char c : text) {
        run = c == '`' ? run + 1 : 0;
        longest = std::max(longest, run);
    }
    const std::string fence(longest + 1, '`');
    const std::string_view pad = longest > 0 ? " " : "";
    return fmt::format("{}{}{}{}{}", fence, pad, in_one_line(text), pad, fence);
}

std::string code_block(const std::vector<std::string>& lines) {
    return fmt::format("```sh\n{}\n```\n", fmt::join(lines, "\n"));
}

std::string code_list(const std::vector<std::string>& texts) {
    std::vector<std::string> spans;
    spans.reserve(texts.size());
    for (const std::string& text : texts)
        spans.push_back(code(text));
    return fmt::format("{}", fmt::join(spans, ", "));
}

std::string bullets(const std::vector<std::string>& texts) {
    std::string list;
    for (const std::string& text : texts)
        list += "- " + prose(text) + '\n';
    return list;
}

std::string evidence(const Entry& entry) {
    std::string list = fmt::format("Evidence, checked {}:\n\n", entry.checked);
    for (const Backing& backing : entry.evidence)
        list += "- " + one(backing) + '\n';
    return list;
}

std::string evidence_line(const Entry& entry) {
    std::vector<std::string> parts;
    parts.reserve(entry.evidence.size());
    for (const Backing& backing : entry.evidence)
        parts.push_back(one(backing));
    return without_bars(fmt::format("{} ({})", fmt::join(parts, "; "), entry.checked));
}

} // namespace rekindle::doctor
