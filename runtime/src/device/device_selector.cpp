#include <rekindle/runtime/device_selector.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace rekindle::runtime {

namespace {

using Kind = DeviceSelector::Kind;

constexpr std::array<std::string_view, 6> gpu_words{"gpu", "cuda", "hip", "rocm", "vulkan", "rvk"};
/// Prefixes of the addresses that `rekindle devices` prints, whose numbers count CPU drivers too.
constexpr std::array<std::string_view, 3> address_words{"gpu", "vulkan", "rvk"};

std::string_view without_blanks(std::string_view text) {
    constexpr std::string_view blanks = " \t\r";
    const std::size_t begin = text.find_first_not_of(blanks);
    if (begin == std::string_view::npos)
        return {};
    return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

std::string in_lower_case(std::string_view text) {
    std::string result(text);
    std::ranges::transform(result, result.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    return result;
}

template <class Words>
bool holds(const Words& words, std::string_view word) {
    return std::ranges::find(words, word) != words.end();
}

bool is_uuid(std::string_view text) {
    if (text.starts_with("gpu-"))
        text.remove_prefix(4);
    if (text.size() != 36)
        return false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool hyphen = i == 8 || i == 13 || i == 18 || i == 23;
        if (hyphen ? text[i] != '-'
                   : std::string_view("0123456789abcdef").find(text[i]) == std::string_view::npos)
            return false;
    }
    return true;
}

DeviceSelector numbered(std::uint32_t number, bool must_be_gpu, std::string_view system) {
    return {Kind::number, number, must_be_gpu, std::string(system) + ":" + std::to_string(number)};
}

} // namespace

std::optional<std::uint32_t> DeviceSelector::parse_number(std::string_view digits) {
    std::uint16_t value = 0;
    const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (digits.empty() || failure != std::errc{} || end != digits.data() + digits.size())
        return std::nullopt;
    return value;
}

std::optional<std::vector<std::uint32_t>> DeviceSelector::parse_numbers(std::string_view list) {
    std::vector<std::uint32_t> numbers;
    for (std::size_t begin = 0; begin <= list.size();) {
        const std::size_t comma = std::min(list.find(',', begin), list.size());
        const auto number = parse_number(without_blanks(list.substr(begin, comma - begin)));
        if (!number)
            return std::nullopt;
        numbers.push_back(*number);
        begin = comma + 1;
    }
    return numbers;
}

std::optional<DeviceSelector> DeviceSelector::parse_number_or_uuid(std::string_view written) {
    const std::string word = in_lower_case(without_blanks(written));
    if (const auto plain = parse_number(word))
        return numbered(*plain, true, "cuda");
    if (is_uuid(word))
        return DeviceSelector{Kind::uuid, 0, false, word};
    return std::nullopt;
}

std::optional<DeviceSelector> DeviceSelector::parse(std::string_view written) {
    const std::string word = in_lower_case(without_blanks(written));
    if (word == "auto")
        return DeviceSelector{Kind::automatic, 0, false, word};
    if (word == "cpu" || word == "cpu:0")
        return DeviceSelector{Kind::cpu, 0, false, "cpu"};
    if (holds(gpu_words, word))
        return DeviceSelector{Kind::any_gpu, 0, true, "gpu"};
    const std::size_t colon = word.find(':');
    if (colon == std::string::npos)
        return parse_number_or_uuid(word);
    const std::string system = word.substr(0, colon);
    const auto number = parse_number(std::string_view(word).substr(colon + 1));
    if (!number || !holds(gpu_words, system))
        return std::nullopt;
    return holds(address_words, system) ? numbered(*number, false, "gpu") : numbered(*number, true, system);
}

bool DeviceSelector::names(const DeviceInfo& device) const {
    if (kind == Kind::number)
        return device.number == number;
    if (kind != Kind::uuid)
        return false;
    const std::string own = in_lower_case(device.uuid_text());
    return text == own || "gpu-" + text == own;
}

} // namespace rekindle::runtime
