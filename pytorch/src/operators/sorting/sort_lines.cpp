/// Chooses how to sort lines, and launches the kernels of kernels/sorting/sorting.slang.

#include "../indexing/grouping.h"
#include "sorting.h"

#include <rekindle/kernels/ceil_div.h>
#include <rekindle/kernels/families/sorting.h>

#include <ATen/ops/empty.h>
#include <algorithm>
#include <bit>
#include <utility>

namespace rvk {

namespace {

using kernels::SortingParameters;

/// Keys and indices of runs in memory.
struct Runs {
    at::Tensor keys, indices;

    explicit Runs(const at::Tensor& input)
        : keys(at::empty({input.numel()}, at::TensorOptions(input.device()).dtype(at::kLong))),
          indices(make_words(input.numel(), input.device())) {}
};

SortingParameters sort_parameters(const SortedLines& sorted) {
    auto p = line_parameters<SortingParameters>(sorted);
    p.first = static_cast<std::uint32_t>(sorted.first);
    return p;
}

/// Sorts into `runs`, or, if it is null and each line is one run, into the results.
void sort_runs(SortingParameters p, const SortedLines& sorted, const Runs* runs) {
    const auto length = std::max<std::uint32_t>(
        std::bit_ceil(static_cast<std::uint32_t>(std::min(sorted.lines.size, longest_run))), 2);
    const auto entries = std::max<std::uint32_t>(length, 512);
    c10::SmallVector<Access, 4> accesses{reads(sorted.input)};
    if (runs == nullptr) {
        accesses.append({writes(sorted.values), writes(sorted.indices)});
    } else {
        p.to_keys = address(runs->keys);
        p.to_indices = address(runs->indices);
        accesses.append({writes(runs->keys), writes(runs->indices)});
    }
    const std::int64_t count = sorted.lines.lines * kernels::ceil_div(sorted.lines.size, length);
    launch(sorted.input.device(), kernels::sort_short_runs, linear_groups(count, entries / length), p,
           accesses,
           {.input_type = dtype_code(sorted.input.scalar_type()),
            .descending = sorted.descending ? 1u : 0u,
            .line_size = length,
            .entries = entries,
            .last_pass = runs == nullptr ? 1u : 0u});
}

void merge_runs(SortingParameters p, const SortedLines& sorted, Runs from, Runs to) {
    const at::Tensor& input = sorted.input;
    for (std::int64_t run = longest_run; run < p.size; run *= 2) {
        const bool last = 2 * run >= p.size;
        p.run = static_cast<std::uint32_t>(run);
        p.from_keys = address(from.keys);
        p.from_indices = address(from.indices);
        p.to_keys = address(to.keys);
        p.to_indices = address(to.indices);
        c10::SmallVector<Access, 8> accesses{reads(from.keys), reads(from.indices)};
        if (last)
            accesses.append({reads(input), writes(sorted.values), writes(sorted.indices)});
        else
            accesses.append({writes(to.keys), writes(to.indices)});
        launch(input.device(), kernels::merge_sorted_runs, linear_groups(input.numel(), 256), p, accesses,
               {.input_type = dtype_code(input.scalar_type()),
                .descending = sorted.descending ? 1u : 0u,
                .last_pass = last ? 1u : 0u});
        std::swap(from, to);
    }
}

/// Whether sorting by digits moves fewer bytes than merging. A launch counts as the bytes that a GPU could
/// move in that time. For each element:
/// * merging stores a key and an index in 12 bytes; each pass reads and writes these, and its search in the
///   other run reads about as much again;
/// * sorting by digits has a pass for each byte of the key, with five launches: it reads elements to count
///   their digits, then reads and writes elements and their places.
bool sorts_by_digits(const SortedLines& sorted) {
    constexpr std::int64_t launch_bytes = std::int64_t(2) << 20;
    const std::int64_t element = sorted.input.element_size(), count = sorted.input.numel();
    const std::int64_t merges =
        std::bit_width(static_cast<std::uint64_t>((sorted.lines.size - 1) / longest_run));
    const std::int64_t merging = (1 + merges) * launch_bytes + count * (element + 12 + merges * 48);
    const std::int64_t by_digits = element * (5 * launch_bytes + count * (3 * element + 8));
    return by_digits < merging && can_radix_sort(sorted);
}

} // namespace

void sort_lines(const at::Tensor& input, std::int64_t dim, bool descending, std::int64_t first,
                std::int64_t kept, const at::Tensor& values, const at::Tensor& indices) {
    TORCH_CHECK_NOT_IMPLEMENTED(!c10::isComplexType(input.scalar_type()), "sorting complex numbers");
    if (values.numel() == 0)
        return;
    const SortedLines sorted{input, Lines(input, dim), descending, first, kept, values, indices};
    if (sorted.lines.size <= longest_run) {
        sort_runs(sort_parameters(sorted), sorted, nullptr);
    } else if (can_select(sorted)) {
        select_lines(sorted);
    } else if (sorts_by_digits(sorted)) {
        radix_sort(sorted);
    } else {
        const Runs runs(input);
        sort_runs(sort_parameters(sorted), sorted, &runs);
        merge_runs(sort_parameters(sorted), sorted, runs, Runs(input));
    }
}

} // namespace rvk
