#include <rekindle/foundation/environment.h>

#include <algorithm>
#include <array>
#include <cstdlib>

namespace rekindle {

namespace {

constexpr std::array<std::string_view, 5> off{"", "0", "off", "false", "no"};

/// Does not depend on the locale.
constexpr char lower(char c) noexcept {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

} // namespace

std::string_view environment_text(const char* name) noexcept {
    const char* const text = std::getenv(name);
    return text == nullptr ? std::string_view{} : std::string_view(text);
}

bool is_on(std::string_view text) noexcept {
    return std::ranges::none_of(
        off, [&](std::string_view word) { return std::ranges::equal(text, word, {}, lower); });
}

bool switched_on(const char* name, bool unless_set) noexcept {
    const std::string_view text = environment_text(name);
    return text.empty() ? unless_set : is_on(text);
}

} // namespace rekindle
