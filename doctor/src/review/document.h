#pragma once
/// A document as the review reads it: blocks of lines that belong together.

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle::doctor {

/// A paragraph, an item of a list, a row of a table, or one command with its continuation lines. Emphasis,
/// code quotes and reference numbers ("[268]") are removed; line ends and runs of spaces become one space.
/// At most block_limit bytes: longer text is split into several blocks.
struct Block {
    std::string text;
    std::vector<std::size_t> origins;     ///< for every byte of `text`, its offset in the document
    std::size_t line = 0;                 ///< number of the first line, from 1
    std::vector<std::size_t> line_starts; ///< positions in `text` where the second and later lines begin
    bool code = false;                    ///< in a fenced part, or a line that looks like a command

    std::size_t line_of(std::size_t position) const noexcept;
};

constexpr std::size_t block_limit = 4096;

/// Calls `visit` for every block in order until it returns false. The blocks are valid only during the
/// call.
void for_each_block(std::string_view document, const std::function<bool(const Block&)>& visit);

/// For people and JSON: bytes that are not UTF-8 and control characters become "?"; at most `limit` bytes,
/// then "…".
std::string printable(std::string_view text, std::size_t limit);

} // namespace rekindle::doctor
