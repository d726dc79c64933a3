#include <rekindle/foundation/text.h>

#include <array>
#include <charconv>

namespace rekindle {

namespace {

std::string grouped(std::string digits) {
    const std::size_t first = digits.starts_with('-') ? 1 : 0;
    for (std::size_t i = digits.size(); i > first + 3; i -= 3)
        digits.insert(i - 3, ",");
    return digits;
}

} // namespace

std::string with_noun(std::string_view number, std::string_view noun, std::string_view plural) {
    if (number == "1")
        return "1 " + std::string(noun);
    std::string text(number);
    text.append(" ").append(plural.empty() ? noun : plural);
    if (plural.empty())
        text += 's';
    return text;
}

std::string with_thousands(std::int64_t value) {
    return grouped(std::to_string(value));
}

std::string counted(std::int64_t number, std::string_view noun, std::string_view plural) {
    return with_noun(with_thousands(number), noun, plural);
}

std::string counted(std::uint64_t number, std::string_view noun, std::string_view plural) {
    return with_noun(grouped(std::to_string(number)), noun, plural);
}

std::string counted(double number, std::string_view noun, std::string_view plural) {
    return with_noun(shortest(number), noun, plural);
}

std::string shortest(double value) {
    std::array<char, 32> buffer;
    const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
    return {buffer.data(), result.ptr};
}

} // namespace rekindle
