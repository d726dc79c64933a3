#pragma once
/// Figures for people: every one carries its unit.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle {

/// 1234567 → "1,234,567".
std::string with_thousands(std::int64_t value);
/// Seconds → "4.3 ms", "0.43 s", "2 min 05 s", "1 h 02 min". Precondition: finite and not negative.
std::string format_duration(double seconds);
/// Bytes → "512 B", "1.5 KiB", "20.3 MiB".
std::string format_bytes(std::uint64_t bytes);
/// The shortest decimal text that reads back as the same double ("nan", "inf", "-inf" for the rest).
std::string shortest(double value);
/// Splits at a separator; keeps empty parts; "" gives one empty part.
std::vector<std::string_view> split(std::string_view text, char separator);
/// Without blanks (space, tab, CR) at both ends.
std::string_view trim(std::string_view text) noexcept;
/// The candidate that a mistyped word most likely means, or "" when none is near: at an edit distance of at
/// most 2 and at most half the word's length. The first of equally near ones.
std::string_view nearest_word(std::string_view word, const std::vector<std::string_view>& candidates);

} // namespace rekindle
