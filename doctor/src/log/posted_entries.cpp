#include "log/posted_entries.h"

#include "knowledge/safe_yaml.h"

#include <rekindle/base/text.h>
#include <rekindle/foundation/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>

namespace rekindle::doctor {
namespace {

/// What a case file has in addition to `environment:`: the text, and the answer, which must not be used.
constexpr std::array<std::string_view, 11> case_keys{"id",    "thread",        "date",        "log",
                                                     "cause", "fix_confirmed", "wrong_fixes", "confidence",
                                                     "notes", "variants",      "source"};

std::string canonical(std::string_view key) {
    static const std::map<std::string_view, std::string_view> aliases{
        {"gpus", "gpu"},
        {"card", "gpu"},
        {"cards", "gpu"},
        {"graphics", "gpu"},
        {"target", "gfx"},
        {"arch", "gfx"},
        {"architecture", "gfx"},
        {"pytorch", "torch"},
        {"distribution", "os"},
        {"distro", "os"},
        {"operating system", "os"},
        {"system", "os"},
        {"variables", "env"},
        {"environment variables", "env"},
        {"docker", "container"},
        {"drivers", "driver"},
        {"linux", "kernel"},
        {"note", "other"},
        {"notes", "other"},
        {"hardware", "gpu"},
    };
    std::string name(trim(key));
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
    std::replace(name.begin(), name.end(), '_', ' ');
    const auto found = aliases.find(name);
    return found == aliases.end() ? name : std::string(found->second);
}

std::string one_line(std::string_view text) {
    std::string line;
    for (const char c : text)
        if (c != '\n' && c != '\r')
            line += c;
        else if (!line.empty() && line.back() != ' ')
            line += ' ';
    return std::string(trim(line));
}

std::string joined(const YamlNode& node, std::string_view key) {
    std::string text;
    const auto append = [&](std::string part, std::string_view separator) {
        if (!part.empty())
            text += text.empty() ? std::move(part) : std::string(separator) + part;
    };
    switch (node.kind) {
    case YamlNode::Kind::null:
        break;
    case YamlNode::Kind::scalar:
        return one_line(node.text);
    case YamlNode::Kind::sequence:
        for (const YamlNode& item : node.items)
            append(joined(item, key), key == "gpu" || key == "gfx" ? " and " : key == "env" ? " " : "; ");
        break;
    case YamlNode::Kind::mapping:
        for (const YamlMember& member : node.members)
            append(member.key + (key == "env" ? "=" : " ") + joined(member.value, key),
                   key == "env" ? " " : "; ");
        break;
    }
    return text;
}

std::vector<PostedEntry> entries_of(const YamlNode& mapping, bool is_case) {
    std::vector<PostedEntry> entries;
    for (const YamlMember& member : mapping.members) {
        if (is_case && std::find(case_keys.begin(), case_keys.end(), member.key) != case_keys.end())
            continue;
        const std::string key = canonical(member.key);
        entries.push_back({key, joined(member.value, key), member.line});
    }
    return entries;
}

Error not_facts(std::string_view file, int line, std::string what) {
    return usage_error(std::move(what))
        .at(fmt::format("{}:{}", file, line))
        .expected("lines \"key: value\" (gpu, gfx, os, kernel, torch, rocm, python, container, env, driver, "
                  "other), a case "
                  "file with \"environment:\", or a recorded --json");
}

/// Number of the first line that is not `key: value` as people write it ("gpu: RX 7900 XT: two of them" is
/// not valid YAML); 0 when all are.
int first_other_line(std::string_view text) {
    int number = 0;
    for (const std::string_view line : split(text, '\n')) {
        ++number;
        if (trim(line).empty() || line.front() == '#')
            continue;
        const std::size_t sign = line.find_first_of(":=");
        if (sign == std::string_view::npos || sign == 0 || sign > 40 ||
            std::isalpha(static_cast<unsigned char>(line.front())) == 0)
            return number;
        const std::string_view value = trim(line.substr(sign + 1));
        // These characters begin what only YAML has: anchors, aliases, tags, collections, blocks.
        if (!value.empty() && std::string_view("&*!{[|>").find(value.front()) != std::string_view::npos)
            return number;
    }
    return 0;
}

/// Number of the first line that starts with a word and has no value; some YAML parsers take it for the end
/// of the value above. 0 for none.
int stray_line(std::string_view text) {
    int number = 0;
    for (const std::string_view line : split(text, '\n')) {
        ++number;
        if (!line.empty() && std::isalpha(static_cast<unsigned char>(line.front())) != 0 &&
            line.find_first_of(":=") == std::string_view::npos)
            return number;
    }
    return 0;
}

std::vector<PostedEntry> entries_of_lines(std::string_view text) {
    std::vector<PostedEntry> entries;
    int number = 0;
    for (std::string_view line : split(text, '\n')) {
        ++number;
        if (trim(line).empty() || line.front() == '#')
            continue;
        const std::size_t sign = line.find_first_of(":=");
        std::string_view value = trim(line.substr(sign + 1));
        if (value.size() >= 2 && (value.front() == '"' || value.front() == '\'') &&
            value.back() == value.front())
            value = value.substr(1, value.size() - 2);
        entries.push_back({canonical(line.substr(0, sign)), std::string(value), number});
    }
    return entries;
}

} // namespace

std::vector<PostedEntry> posted_entries(std::string_view text, std::string_view file) {
    if (const int stray = stray_line(text); stray > 1)
        throw not_facts(file, stray, "not \"key: value\"");
    YamlNode root;
    const int other = first_other_line(text);
    try {
        root = load_yaml(text, file);
    } catch (const Error&) {
        if (other == 0)
            return entries_of_lines(text);
        throw;
    }
    if (root.kind == YamlNode::Kind::mapping) {
        if (const YamlNode* environment = root.find("environment")) {
            if (environment->kind != YamlNode::Kind::mapping && environment->kind != YamlNode::Kind::null)
                throw not_facts(file, environment->line, "environment: is not a mapping");
            return entries_of(*environment, false);
        }
        return entries_of(root, root.find("log") != nullptr || root.find("cause") != nullptr);
    }
    if (root.kind == YamlNode::Kind::null)
        throw not_facts(file, 1, "the file contains no facts");
    if (other == 0)
        return entries_of_lines(text);
    throw not_facts(file, other, "not \"key: value\"");
}

} // namespace rekindle::doctor
