#pragma once
/// Text for people: wrapped to a width, and in ASCII where the terminal supports nothing else.

#include <string>
#include <string_view>
#include <vector>

namespace rekindle::cli {

/// Columns that the text takes on a terminal: one per code point (the program prints no wide characters).
std::size_t display_width(std::string_view utf8) noexcept;

/// The text, or as much of it as fits into `width` columns with "…" at its end. Precondition: width > 0.
std::string shortened(std::string_view utf8, std::size_t width);

/// Lines of at most `width` columns, broken at spaces; a longer word gets its own line. Never empty.
std::vector<std::string> wrap(std::string_view text, std::size_t width);

/// wrap() with `indent` spaces before each line and a newline after it. Paragraphs (separated by "\n\n") stay
/// separate.
std::string indented(std::string_view text, std::size_t width, std::size_t indent);

/// The text in ASCII: known characters by their nearest spelling ("×" → "x", "…" → "..."), others as "?".
std::string to_ascii(std::string_view utf8);

} // namespace rekindle::cli
