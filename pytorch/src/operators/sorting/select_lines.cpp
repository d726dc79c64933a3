/// The launches of kernels/sorting/select.slang.

#include "../../dispatch/limits.h"
#include "../indexing/grouping.h"
#include "sorting.h"

#include <rekindle/kernels/ceil_div.h>
#include <rekindle/kernels/families/select.h>

#include <ATen/ops/empty.h>
#include <algorithm>
#include <bit>

namespace rvk {

namespace {

using kernels::SelectParameters;
using Constants = SelectParameters::Constants;

constexpr std::int64_t most_entries = 2048; // elements that a workgroup can sort
constexpr std::int64_t select_digits = 2048, select_digit_bits = 11;
constexpr std::int64_t state_words = 10;
constexpr std::int64_t step = 1024; // elements that a workgroup reads in one iteration
/// A line gets a single workgroup if there are enough lines to fill a GPU, or if the line is so short that
/// the additional launches for several workgroups would take longer.
constexpr std::int64_t many_lines = 512, short_line = 16'384;
/// Such a workgroup reads its line at most 11 times: once per digit (up to 9), to count the elements that are
/// not NaN, and to collect the results.
constexpr std::int64_t longest_whole_line = most_iterations / 16 * step;
/// For lines that workgroups share: about this many workgroups in total, with at least this many elements
/// each.
constexpr std::int64_t target_parts = 2048, shortest_part = 8192;
constexpr std::int64_t longest_part = std::int64_t(1) << 25;
static_assert(longest_part / step <= most_iterations);

/// State, histogram and found elements of lines that workgroups share.
struct Scratch {
    at::Tensor states, histograms, keys, places;

    Scratch(std::int64_t lines, std::int64_t entries, c10::Device device)
        : states(make_words(lines * state_words, device)),
          histograms(make_words(lines * select_digits, device)),
          keys(at::empty({lines, entries}, at::TensorOptions(device).dtype(at::kLong))),
          places(make_words(lines * entries, device)) {}
};

SelectParameters select_parameters(const SortedLines& sorted) {
    auto p = line_parameters<SelectParameters>(sorted);
    p.last = static_cast<std::uint32_t>(sorted.last());
    const auto place_bits = std::bit_width(p.size - 1);
    p.passes =
        static_cast<std::uint32_t>(kernels::ceil_div(8 * sorted.input.element_size(), select_digit_bits) +
                                   kernels::ceil_div(std::int64_t(place_bits), select_digit_bits));
    return p;
}

c10::SmallVector<Access, 4> result_accesses(const SortedLines& sorted) {
    c10::SmallVector<Access, 4> accesses{reads(sorted.input), writes(sorted.values)};
    if (sorted.indices.defined())
        accesses.push_back(writes(sorted.indices));
    return accesses;
}

void select_with_shared_lines(SelectParameters p, const SortedLines& sorted, const Constants& constants) {
    const c10::Device device = sorted.input.device();
    const std::int64_t lines = sorted.lines.lines, size = sorted.lines.size;
    const std::int64_t even = kernels::ceil_div(size, std::max<std::int64_t>(target_parts / lines, 1));
    const std::int64_t part = std::clamp(kernels::ceil_div(even, step) * step, shortest_part, longest_part);
    const std::int64_t parts = kernels::ceil_div(size, part);
    const Scratch scratch(lines, constants.entries, device);
    p.parts = static_cast<std::uint32_t>(parts);
    p.part_size = static_cast<std::uint32_t>(part);
    p.states = address(scratch.states);
    p.histograms = address(scratch.histograms);
    p.found_keys = address(scratch.keys);
    p.found_places = address(scratch.places);
    const Groups of_lines = linear_groups(lines, 1), of_parts = linear_groups(lines * parts, 1);
    const Access input = reads(sorted.input), states = writes(scratch.states);
    const Access histograms = writes(scratch.histograms);
    // Each kernel gets only the constants that it uses, so that fewer pipelines are compiled.
    const auto [type, descending, entries, alone, median] = constants;
    launch(device, kernels::select_begin, of_lines, p, {states, histograms}, {.input_type = type});
    if (median != 0 && at::isFloatingType(sorted.input.scalar_type()))
        launch(device, kernels::select_count_numbers, of_parts, p, {input, states}, {.input_type = type});
    for (p.pass = 0; p.pass < p.passes; ++p.pass) {
        launch(device, kernels::select_count_digits, of_parts, p, {input, states.as_read(), histograms},
               {.input_type = type, .descending = descending});
        launch(device, kernels::select_narrow, of_lines, p, {states, histograms},
               {.input_type = type, .entries = entries, .alone = alone, .median = median});
    }
    launch(device, kernels::select_collect, of_parts, p,
           {input, states, writes(scratch.keys), writes(scratch.places)},
           {.input_type = type, .descending = descending, .entries = entries, .alone = alone});
    c10::SmallVector<Access, 6> accesses{states.as_read(), reads(scratch.keys), reads(scratch.places)};
    accesses.append(result_accesses(sorted));
    launch(device, kernels::select_sort, of_lines, p, accesses,
           {.input_type = type, .entries = entries, .alone = alone});
}

void select(const SortedLines& sorted, std::uint32_t median) {
    const SelectParameters p = select_parameters(sorted);
    const auto room = static_cast<std::int64_t>(std::bit_ceil(4 * static_cast<std::uint64_t>(sorted.kept)));
    const Constants constants{
        .input_type = dtype_code(sorted.input.scalar_type()),
        .descending = sorted.descending ? 1u : 0u,
        .entries = static_cast<std::uint32_t>(std::clamp<std::int64_t>(room, 512, most_entries)),
        .alone = sorted.kept == 1 ? 1u : 0u,
        .median = median};
    const bool whole = (sorted.lines.lines >= many_lines && sorted.lines.size <= longest_whole_line) ||
                       sorted.lines.size <= short_line;
    if (whole)
        launch(sorted.input.device(), kernels::select_whole_lines, linear_groups(sorted.lines.lines, 1), p,
               result_accesses(sorted), constants);
    else
        select_with_shared_lines(p, sorted, constants);
}

} // namespace

bool can_select(const SortedLines& sorted) {
    return sorted.lines.size > longest_run &&
           (sorted.kept == 1 || (sorted.first == 0 && sorted.kept <= most_entries));
}

void select_lines(const SortedLines& sorted) {
    select(sorted, 0);
}

void select_medians(const SortedLines& sorted, bool ignores_nan) {
    select(sorted, ignores_nan ? 2 : 1);
}

} // namespace rvk
