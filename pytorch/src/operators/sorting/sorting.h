#pragma once
/// Stable sorting along a dimension: kernels/sorting/. NaN counts as the largest number.

#include "../../dispatch/launch.h"
#include "../lib/lines.h"

#include <ATen/core/Tensor.h>
#include <cstdint>

namespace rvk {

/// The longest line that kernels/sorting/sorting.slang sorts in shared memory.
inline constexpr std::int64_t longest_run = 2048;

/// The part of the sorted lines that is stored: positions first to first + kept - 1 of every line.
struct SortedLines {
    at::Tensor input; ///< contiguous, of a dtype that is not complex
    Lines lines;      ///< of the input
    bool descending = false;
    std::int64_t first = 0, kept = 0;
    at::Tensor values;  ///< out: contiguous, the input's shape with `kept` elements along the dimension
    at::Tensor indices; ///< out: int64, the same shape; select_medians and select_lines: may be undefined

    [[nodiscard]] std::int64_t last() const { return first + kept - 1; }
};

/// The parameters that the sorting and selection kernels have in common.
template <class P>
P line_parameters(const SortedLines& sorted) {
    P p{};
    p.input = address(sorted.input);
    p.values = address(sorted.values);
    p.indices = sorted.indices.defined() ? address(sorted.indices) : 0;
    p.lines = static_cast<std::uint32_t>(sorted.lines.lines);
    p.size = static_cast<std::uint32_t>(sorted.lines.size);
    p.inner = static_cast<std::uint32_t>(sorted.lines.inner);
    p.kept = static_cast<std::uint32_t>(sorted.kept);
    return p;
}

/// Sorts a contiguous tensor along a dimension and stores positions first to first + kept - 1 of every line:
/// values and their indices (int64), in contiguous tensors of the input's shape with `kept` elements along
/// the dimension. Throws c10::NotImplementedError for complex dtypes.
void sort_lines(const at::Tensor& input, std::int64_t dim, bool descending, std::int64_t first,
                std::int64_t kept, const at::Tensor& values, const at::Tensor& indices);

/// Whether select_lines can find these positions.
bool can_select(const SortedLines& sorted);
/// Does the same without sorting whole lines (kernels/sorting/select.slang), for lines longer than
/// longest_run. Scratch memory: none if each line has its own workgroup (many or short lines); otherwise, for
/// each line, 8 KiB plus 6 to 24 KiB (12 bytes for each of bit_ceil(4 * kept) entries).
void select_lines(const SortedLines& sorted);
/// The lower median of each line; first and kept are ignored. If a line has NaNs, its first NaN is the
/// result, unless NaN is ignored.
void select_medians(const SortedLines& sorted, bool ignores_nan);

/// Whether radix_sort's counts can be indexed in 31 bits: up to about 2^35 elements.
bool can_radix_sort(const SortedLines& sorted);
/// Sorts lines by their digits (kernels/sorting/radix.slang). Scratch memory: for each element, two copies
/// with a position of 4 bytes each (one for 2-byte dtypes, none for 1-byte dtypes), and 2 KiB for each block
/// of 4096 elements of a line.
void radix_sort(const SortedLines& sorted);

} // namespace rvk
