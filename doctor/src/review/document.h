#pragma once
/// A document as the review reads it: blocks of lines that belong together.

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle::doctor {

/// A paragraph, an item of a list, a row of a table, or one command with its continuation lines. Emphasis,
/// code quotes and reference numbers ("[268]") are taken out, line ends and runs of blanks are one blank. At
/// most block_limit bytes: longer text comes as several blocks.
struct Block {
    std::string text;
    std::vector<std::size_t> origins;     ///< of every byte of `text` its offset in the document
    std::size_t line = 0;                 ///< number of the first line, from 1
    std::vector<std::size_t> line_starts; ///< positions in `text` where the second and later lines begin
    bool code = false;                    ///< of a fenced part, or a line that looks like a command

    std::size_t line_of(std::size_t position) const noexcept;
};

constexpr std::size_t block_limit = 4096;

/// Calls `visit` for every block in order until it returns false. The blocks live for the call only.
void for_each_block(std::string_view document, const std::function<bool(const Block&)>& visit);

/// For people and JSON: bytes that are no UTF-8 and control characters become "?"; no more than `limit`
/// bytes, then "…".
std::string printable(std::string_view text, std::size_t limit);

} // namespace rekindle::doctor
