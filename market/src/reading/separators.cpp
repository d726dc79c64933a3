#include "reading/row_parser.h"

#include <algorithm>
#include <bit>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace rekindle::market::reading {

namespace {

#ifdef __SSE2__
/// Bit i is set when byte i of the 64 is a newline or the delimiter.
std::uint64_t separator_mask(const char* bytes, __m128i newline, __m128i delimiter) {
    std::uint64_t mask = 0;
    for (unsigned i = 0; i < 4; ++i) {
        const __m128i part = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes + std::size_t{16} * i));
        const __m128i hit = _mm_or_si128(_mm_cmpeq_epi8(part, newline), _mm_cmpeq_epi8(part, delimiter));
        mask |= static_cast<std::uint64_t>(static_cast<unsigned>(_mm_movemask_epi8(hit))) << (16 * i);
    }
    return mask;
}
#endif

} // namespace

std::span<const std::uint32_t> find_separators(std::string_view text, char delimiter,
                                               std::vector<std::uint32_t>& memory) {
    std::size_t count = 0;
    std::size_t i = 0;
    const auto reserve = [&](std::size_t more) {
        if (count + more > memory.size())
            memory.resize(std::max(memory.size() * 2, text.size() / 8 + 128));
    };
#ifdef __SSE2__
    const __m128i newlines = _mm_set1_epi8('\n');
    const __m128i delimiters = _mm_set1_epi8(delimiter);
    for (; i + 64 <= text.size(); i += 64) {
        reserve(64);
        for (std::uint64_t mask = separator_mask(text.data() + i, newlines, delimiters); mask != 0;
             mask &= mask - 1)
            memory[count++] = static_cast<std::uint32_t>(i + static_cast<unsigned>(std::countr_zero(mask)));
    }
#endif
    for (; i < text.size(); ++i) {
        reserve(2);
        if (text[i] == '\n' || text[i] == delimiter)
            memory[count++] = static_cast<std::uint32_t>(i);
    }
    reserve(1);
    if (!text.empty() && text.back() != '\n')
        memory[count++] = static_cast<std::uint32_t>(text.size());
    return std::span<const std::uint32_t>(memory).first(count);
}

} // namespace rekindle::market::reading
