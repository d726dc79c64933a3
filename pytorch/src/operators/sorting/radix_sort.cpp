/// The launches of kernels/sorting/radix.slang.

#include "../indexing/grouping.h"
#include "sorting.h"

#include <rekindle/kernels/ceil_div.h>
#include <rekindle/kernels/families/radix.h>

#include <ATen/ops/empty.h>
#include <limits>
#include <utility>

namespace rvk {

namespace {

using kernels::RadixParameters;

constexpr std::int64_t digits = 256, digit_bits = 8;
constexpr std::int64_t block_size = 4096; // elements per workgroup

std::int64_t blocks_of(const Lines& lines) {
    return lines.lines * kernels::ceil_div(lines.size, block_size);
}

/// The elements of all lines after a pass, and their original positions in their lines.
struct Moved {
    at::Tensor elements, places;

    void allocate(const at::Tensor& input) {
        if (elements.defined())
            return;
        elements = at::empty({input.numel()}, input.options());
        places = make_words(input.numel(), input.device());
    }
};

/// An empty `from` stands for the input, an empty `to` for the results.
void sort_by_digit(RadixParameters p, const SortedLines& sorted, const Moved& from, const Moved& to) {
    const bool first = !from.elements.defined(), last = !to.elements.defined();
    const at::Tensor& source = first ? sorted.input : from.elements;
    const c10::Device device = source.device();
    const std::int64_t blocks = blocks_of(sorted.lines);
    const RadixParameters::Constants constants{.input_type = dtype_code(source.scalar_type()),
                                               .descending = sorted.descending ? 1u : 0u,
                                               .first_pass = first ? 1u : 0u,
                                               .last_pass = last ? 1u : 0u};
    at::Tensor counts = make_words(blocks * digits, device);
    p.counts = address(counts);
    if (!first) {
        p.from_elements = address(from.elements);
        p.from_places = address(from.places);
    }
    launch(device, kernels::radix_sort_count, linear_groups(blocks, 1), p, {reads(source), writes(counts)},
           constants);
    counts = exclusive_sums(counts);
    p.counts = address(counts);
    c10::SmallVector<Access, 5> accesses{reads(source), reads(counts)};
    if (!first)
        accesses.push_back(reads(from.places));
    if (last) {
        accesses.append({writes(sorted.values), writes(sorted.indices)});
    } else {
        p.to_elements = address(to.elements);
        p.to_places = address(to.places);
        accesses.append({writes(to.elements), writes(to.places)});
    }
    launch(device, kernels::radix_sort_scatter, linear_groups(blocks, 1), p, accesses, constants);
}

} // namespace

bool can_radix_sort(const SortedLines& sorted) {
    return blocks_of(sorted.lines) <= std::numeric_limits<std::int32_t>::max() / digits;
}

void radix_sort(const SortedLines& sorted) {
    auto p = line_parameters<RadixParameters>(sorted);
    p.first = static_cast<std::uint32_t>(sorted.first);
    const auto bits = static_cast<std::uint32_t>(8 * sorted.input.element_size());
    Moved from, to;
    for (p.shift = 0; p.shift < bits; p.shift += digit_bits) {
        const bool last = p.shift + digit_bits == bits;
        if (last)
            to = {};
        else
            to.allocate(sorted.input);
        sort_by_digit(p, sorted, from, to);
        std::swap(from, to);
    }
}

} // namespace rvk
