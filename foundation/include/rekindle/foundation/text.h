#pragma once
/// Numbers as text for people.

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace rekindle {

/// 1234567 → "1,234,567".
std::string with_thousands(std::int64_t value);
/// A number and its noun: "0 rows", "1 row", "1,234 rows". The plural is the noun plus "s" unless given.
std::string counted(std::int64_t number, std::string_view noun, std::string_view plural = {});
std::string counted(std::uint64_t number, std::string_view noun, std::string_view plural = {});
std::string counted(double number, std::string_view noun, std::string_view plural = {}); ///< "0.25 points"
/// The same for a number that is already formatted.
std::string with_noun(std::string_view number, std::string_view noun, std::string_view plural = {});
template <std::integral Number>
std::string counted(Number number, std::string_view noun, std::string_view plural = {}) {
    using Widest = std::conditional_t<std::signed_integral<Number>, std::int64_t, std::uint64_t>;
    return counted(Widest{number}, noun, plural);
}
/// The shortest decimal text that reads back as the same double; "nan", "inf" or "-inf" if it is not finite.
std::string shortest(double value);

} // namespace rekindle
