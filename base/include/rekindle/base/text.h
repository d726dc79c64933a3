#pragma once
/// Text for people: numbers with units, and small string functions. Includes foundation/text.h, which has
/// numbers with nouns.

#include <rekindle/foundation/text.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle {

/// "1st", "2nd", "3rd", "4th", "11th", "1,002nd". Precondition: not negative.
std::string ordinal(std::int64_t number);
/// Seconds → "4.3 ms", "0.43 s", "2 min 05 s", "1 h 02 min". Precondition: finite and not negative.
std::string format_duration(double seconds);

/// `word` quoted for a POSIX shell, if it needs quotes.
std::string shell_word(std::string_view word);
/// Bytes → "512 B", "1.5 KiB", "20.3 MiB".
std::string format_bytes(std::uint64_t bytes);
/// Splits at a separator and keeps empty parts; "" gives one empty part.
std::vector<std::string_view> split(std::string_view text, char separator);
/// Converts A to Z to lower case; bytes outside ASCII are unchanged.
std::string lower_case(std::string_view text);
/// Removes blanks (space, tab, CR) from both ends.
std::string_view trim(std::string_view text) noexcept;
/// The candidate that a mistyped word most likely means: the first one with the smallest edit distance, which
/// must be at most 2 and at most half the word's length. "" if there is none.
std::string_view nearest_word(std::string_view word, const std::vector<std::string_view>& candidates);

} // namespace rekindle
