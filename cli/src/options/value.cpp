#include <rekindle/base/text.h>
#include <rekindle/cli/option_table.h>
#include <rekindle/foundation/error.h>
#include <rekindle/runtime/device_selector.h>
#include <rekindle/trainer/device_name.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

namespace rekindle::cli {

namespace {

using Json = nlohmann::ordered_json;

[[noreturn]] void refuse(const OptionSpec& option, std::string_view value, std::string_view near = {}) {
    Error error = usage_error(fmt::format("invalid value \"{}\"", value));
    error.at("--" + std::string(option.name)).expected(describe_values(option));
    if (!near.empty())
        error.hint(fmt::format("Did you mean \"{}\"?", near));
    throw error;
}

template <class Number>
std::optional<Number> parse_number(std::string_view text) {
    if (!text.empty() && text.front() == '+')
        text.remove_prefix(1);
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size())
        return std::nullopt;
    return value;
}

Json parse_integer(const OptionSpec& option, std::string_view text, std::string_view whole) {
    const auto value = parse_number<std::int64_t>(trim(text));
    if (!value || !option.range.contains(static_cast<double>(*value)))
        refuse(option, whole);
    return *value;
}

Json parse_real(const OptionSpec& option, std::string_view text) {
    const auto value = parse_number<double>(trim(text));
    if (!value || !std::isfinite(*value) || !option.range.contains(*value))
        refuse(option, text);
    return *value;
}

std::string parse_word(const OptionSpec& option, std::string_view text, std::string_view whole) {
    std::string word = lower_case(trim(text));
    std::replace(word.begin(), word.end(), '_', '-');
    if (std::find(option.words.begin(), option.words.end(), word) == option.words.end())
        refuse(option, whole, nearest_word(word, option.words));
    return word;
}

Json parse_text(const OptionSpec& option, const std::string& text) {
    const std::string word = lower_case(text);
    const bool special = std::find(option.words.begin(), option.words.end(), word) != option.words.end();
    return special ? word : text;
}

/// The list without blanks.
std::string parse_device_ids(const OptionSpec& option, const std::string& text) {
    if (!runtime::DeviceSelector::parse_numbers(text))
        refuse(option, text);
    std::string ids;
    for (const std::string_view part : split(text, ','))
        ids += (ids.empty() ? "" : ",") + std::string(trim(part));
    return ids;
}

Json parse_flag(const OptionSpec& option, const std::vector<std::string>& values) {
    const std::string word = values.empty() ? "true" : lower_case(values.back());
    if (word != "true" && word != "false")
        refuse(option, values.back());
    return word == "true";
}

} // namespace

nlohmann::ordered_json parse_value(const OptionSpec& option, const std::vector<std::string>& values) {
    if (option.kind == ValueKind::flag)
        return parse_flag(option, values);
    if (option.kind == ValueKind::path_list || option.kind == ValueKind::text_list)
        return values;
    const std::string& text = values.back();
    switch (option.kind) {
    case ValueKind::word:
        return parse_word(option, text, text);
    case ValueKind::word_list: {
        Json list = Json::array();
        for (const std::string_view part : split(text, ','))
            list.push_back(parse_word(option, part, text));
        return list;
    }
    case ValueKind::integer:
        return parse_integer(option, text, text);
    case ValueKind::integer_list: {
        Json list = Json::array();
        for (const std::string_view part : split(text, ','))
            list.push_back(parse_integer(option, part, text));
        return list;
    }
    case ValueKind::number:
        return parse_real(option, text);
    case ValueKind::device:
        return trainer::parse_device_name(text).text;
    case ValueKind::device_ids:
        return parse_device_ids(option, text);
    default:
        return parse_text(option, text);
    }
}

} // namespace rekindle::cli
