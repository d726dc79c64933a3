#include <rekindle/base/text.h>
#include <rekindle/cli/text_layout.h>

#include <algorithm>
#include <array>
#include <utility>

namespace rekindle::cli {

namespace {
bool continues(char byte) noexcept {
    return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U;
}
} // namespace

std::size_t display_width(std::string_view utf8) noexcept {
    return static_cast<std::size_t>(
        std::count_if(utf8.begin(), utf8.end(), [](char c) { return !continues(c); }));
}

std::string shortened(std::string_view utf8, std::size_t width) {
    if (display_width(utf8) <= width)
        return std::string(utf8);
    std::size_t end = 0;
    for (std::size_t columns = 0; end < utf8.size(); ++end)
        if (!continues(utf8[end]) && ++columns == width)
            break;
    return std::string(utf8.substr(0, end)) + "…";
}

std::vector<std::string> wrap(std::string_view text, std::size_t width) {
    std::vector<std::string> lines{""};
    for (const std::string_view word : split(text, ' ')) {
        if (word.empty())
            continue;
        const std::size_t needed = display_width(word) + (lines.back().empty() ? 0 : 1);
        if (!lines.back().empty() && display_width(lines.back()) + needed > width)
            lines.emplace_back();
        if (!lines.back().empty())
            lines.back() += ' ';
        lines.back() += word;
    }
    return lines;
}

std::string indented(std::string_view text, std::size_t width, std::size_t indent) {
    std::string result;
    while (!text.empty()) {
        const std::size_t end = text.find("\n\n");
        for (const std::string& line : wrap(text.substr(0, end), width > indent ? width - indent : 1))
            result += std::string(indent, ' ') + line + "\n";
        if (end == std::string_view::npos)
            break;
        result += "\n";
        text.remove_prefix(end + 2);
    }
    return result;
}

std::string to_ascii(std::string_view utf8) {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 28> spellings{{
        {"…", "..."}, {"–", "-"},  {"—", "-"},     {"−", "-"},    {"×", "x"},  {"·", "*"},  {"±", "+/-"},
        {"≤", "<="},  {"≥", ">="}, {"≠", "!="},    {"≈", "~"},    {"→", "->"}, {"←", "<-"}, {"²", "^2"},
        {"³", "^3"},  {"µ", "u"},  {"σ", "sigma"}, {"°", " deg"}, {"“", "\""}, {"”", "\""}, {"‘", "'"},
        {"’", "'"},   {"█", "#"},  {"░", "."},     {"│", "|"},    {"─", "-"},  {"•", "*"},  {"é", "e"},
    }};
    std::string ascii;
    while (!utf8.empty()) {
        std::size_t length = 1;
        while (length < utf8.size() && continues(utf8[length]))
            ++length;
        const std::string_view sign = utf8.substr(0, length);
        const auto* known = std::find_if(spellings.begin(), spellings.end(),
                                         [&](const auto& entry) { return entry.first == sign; });
        if (known != spellings.end())
            ascii += known->second;
        else if (length == 1 && static_cast<unsigned char>(sign[0]) < 0x80)
            ascii += sign;
        else
            ascii += '?';
        utf8.remove_prefix(length);
    }
    return ascii;
}

} // namespace rekindle::cli
