#include "mapping_reader.h"

#include <rekindle/base/text.h>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace rekindle::doctor {
namespace {

template <class Number>
bool parse(std::string_view text, Number& into) {
    Number value{};
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (problem != std::errc() || end != text.data() + text.size())
        return false;
    into = value;
    return true;
}

} // namespace

MappingReader::MappingReader(const YamlNode& node, std::string_view file, Mistakes& mistakes)
    : node_(node), file_(file), mistakes_(mistakes), usable_(node.kind == YamlNode::Kind::mapping) {
    if (!usable_)
        mistakes_.add(origin(), fmt::format("expected a mapping, not {}", node.kind_name()));
}

const YamlNode* MappingReader::take(std::string_view key, Need need) {
    known_.push_back(key);
    if (!usable_)
        return nullptr;
    const YamlNode* value = node_.find(key);
    if (value == nullptr && need == Need::required)
        mistakes_.add(origin(), fmt::format("{} is missing", key));
    return value;
}

void MappingReader::wrong(const YamlNode& value, std::string_view key, std::string_view expected) {
    const std::string is =
        value.kind == YamlNode::Kind::scalar ? '"' + value.text + '"' : std::string(value.kind_name());
    mistakes_.add(origin_at(value.line), fmt::format("{} must be {}, not {}", key, expected, is));
}

const YamlNode* MappingReader::scalar(std::string_view key, Need need) {
    const YamlNode* value = take(key, need);
    if (value != nullptr && value->kind != YamlNode::Kind::scalar) {
        wrong(*value, key, "text");
        return nullptr;
    }
    return value;
}

const YamlNode* MappingReader::sequence(std::string_view key, Need need) {
    const YamlNode* value = take(key, need);
    if (value == nullptr)
        return nullptr;
    if (value->kind != YamlNode::Kind::sequence) {
        wrong(*value, key, "a list");
        return nullptr;
    }
    if (value->items.empty() && need == Need::required) {
        mistakes_.add(origin_at(value->line), fmt::format("{} is empty", key));
        return nullptr;
    }
    return value;
}

void MappingReader::read(std::string_view key, std::string& into, Need need) {
    const YamlNode* value = scalar(key, need);
    if (value == nullptr)
        return;
    if (trim(value->text).empty() && need == Need::required)
        return mistakes_.add(origin_at(value->line), fmt::format("{} is empty", key));
    into = value->text;
    while (!into.empty() && into.back() == '\n') // from a block that was written with |
        into.pop_back();
}

void MappingReader::read(std::string_view key, bool& into, Need need) {
    const YamlNode* value = scalar(key, need);
    if (value == nullptr)
        return;
    if (value->text != "true" && value->text != "false")
        return wrong(*value, key, "true or false");
    into = value->text == "true";
}

void MappingReader::read(std::string_view key, int& into, Need need) {
    const YamlNode* value = scalar(key, need);
    if (value != nullptr && !parse(value->text, into))
        wrong(*value, key, "an integer");
}

void MappingReader::read(std::string_view key, double& into, Need need) {
    const YamlNode* value = scalar(key, need);
    if (value == nullptr)
        return;
    double number = 0;
    if (!parse(value->text, number) || !std::isfinite(number) || number < 0)
        return wrong(*value, key, "a non-negative number");
    into = number;
}

void MappingReader::read(std::string_view key, std::vector<std::string>& into, Need need) {
    const YamlNode* value = sequence(key, need);
    if (value == nullptr)
        return;
    std::vector<std::string> texts;
    for (const YamlNode& item : value->items) {
        if (item.kind != YamlNode::Kind::scalar || trim(item.text).empty())
            wrong(item, fmt::format("an item of {}", key), "text");
        else
            texts.push_back(item.text);
    }
    into = std::move(texts);
}

void MappingReader::read_word(std::string_view key, std::string& into,
                              std::initializer_list<std::string_view> words, Need need) {
    const YamlNode* value = scalar(key, need);
    if (value == nullptr)
        return;
    if (std::find(words.begin(), words.end(), value->text) == words.end())
        return wrong(*value, key, fmt::format("one of {}", fmt::join(words, ", ")));
    into = value->text;
}

void MappingReader::read_items(std::string_view key, const std::function<void(MappingReader&)>& item,
                               Need need) {
    const YamlNode* value = sequence(key, need);
    if (value == nullptr)
        return;
    for (const YamlNode& node : value->items) {
        MappingReader reader(node, file_, mistakes_);
        if (!reader.usable_)
            continue;
        item(reader);
        reader.finish();
    }
}

void MappingReader::read_mapping(std::string_view key, const std::function<void(MappingReader&)>& read,
                                 Need need) {
    const YamlNode* value = take(key, need);
    if (value == nullptr)
        return;
    MappingReader reader(*value, file_, mistakes_);
    if (!reader.usable_)
        return;
    read(reader);
    reader.finish();
}

void MappingReader::finish() {
    for (const YamlMember& member : node_.members) {
        if (std::find(known_.begin(), known_.end(), member.key) != known_.end())
            continue;
        const std::string_view meant = nearest_word(member.key, known_);
        mistakes_.add(origin_at(member.line),
                      meant.empty() ? fmt::format("unknown key \"{}\"", member.key)
                                    : fmt::format("unknown key \"{}\"; did you mean {}?", member.key, meant));
    }
}

} // namespace rekindle::doctor
