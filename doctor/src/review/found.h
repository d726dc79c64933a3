#pragma once
/// Marks while they are collected, with their positions in the document.

#include "document.h"

#include <rekindle/base/text.h>
#include <rekindle/doctor/review.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rekindle::doctor {

/// What the review says about something.
struct Judgment {
    Verdict verdict = Verdict::unknown;
    std::string reason;
    std::vector<Backing> evidence;
};

struct Found {
    Mark mark;
    std::size_t begin = 0; ///< offsets in the document
    std::size_t end = 0;
};

constexpr std::size_t mark_text_limit = 160;

/// Marks `size` bytes of the block from `at`. Precondition: size > 0, and the bytes are inside the block.
inline void mark(const Block& block, std::size_t at, std::size_t size, std::string_view kind,
                 Judgment judgment, std::vector<Found>& found) {
    Found one;
    one.begin = block.origins[at];
    one.end = block.origins[at + size - 1] + 1;
    one.mark = {block.line_of(at),
                std::string(kind),
                printable(trim(std::string_view(block.text).substr(at, size)), mark_text_limit),
                judgment.verdict,
                std::move(judgment.reason),
                std::move(judgment.evidence)};
    found.push_back(std::move(one));
}

/// "a", "a and b", "a, b and c".
std::string list_of(const std::vector<std::string>& words);

} // namespace rekindle::doctor
