#include "grouping.h"

#include "../../dispatch/launch.h"
#include "../../dispatch/structured.h"

#include <rekindle/kernels/ceil_div.h>
#include <rekindle/kernels/families/grouping.h>

#include <bit>

namespace rvk {

namespace {

constexpr std::int64_t block_size = 2048;
constexpr std::uint32_t digit_bits = 4, digits = 16;

std::int64_t blocks_of(std::int64_t count) {
    return kernels::ceil_div(count, block_size);
}

SortedKeys sort_by_rank(const SortedKeys& unsorted) {
    const std::int64_t count = unsorted.keys.numel();
    const c10::Device device = unsorted.keys.device();
    SortedKeys sorted{make_words(count, device), make_words(count, device)};
    kernels::GroupingParameters p{};
    p.keys = address(unsorted.keys);
    p.positions = address(unsorted.positions);
    p.sorted_keys = address(sorted.keys);
    p.sorted_positions = address(sorted.positions);
    p.count = static_cast<std::uint32_t>(count);
    launch(device, kernels::sort_rank, linear_groups(count, 256), p,
           {reads(unsorted.keys), reads(unsorted.positions), writes(sorted.keys), writes(sorted.positions)});
    return sorted;
}

void sort_by_digit(const SortedKeys& from, const SortedKeys& to, std::uint32_t shift) {
    const std::int64_t count = from.keys.numel(), blocks = blocks_of(count);
    const c10::Device device = from.keys.device();
    const at::Tensor histogram = make_words(blocks * digits, device);
    kernels::GroupingParameters p{};
    p.keys = address(from.keys);
    p.positions = address(from.positions);
    p.sorted_keys = address(to.keys);
    p.sorted_positions = address(to.positions);
    p.histogram = address(histogram);
    p.count = static_cast<std::uint32_t>(count);
    p.shift = shift;
    launch(device, kernels::radix_count, linear_groups(blocks, 1), p, {reads(from.keys), writes(histogram)});
    const at::Tensor before = exclusive_sums(histogram);
    p.histogram = address(before);
    launch(device, kernels::radix_place, linear_groups(blocks, 1), p,
           {reads(from.keys), reads(from.positions), reads(before), writes(to.keys), writes(to.positions)});
}

} // namespace

at::Tensor make_words(std::int64_t count, c10::Device device) {
    return make_output({count}, {}, at::TensorOptions().dtype(at::kInt).device(device));
}

at::Tensor exclusive_sums(const at::Tensor& numbers) {
    const std::int64_t count = numbers.numel(), blocks = blocks_of(count);
    at::Tensor sums = make_words(count, numbers.device());
    if (count == 0)
        return sums;
    const at::Tensor totals = make_words(blocks, numbers.device());
    kernels::GroupingParameters p{};
    p.keys = address(numbers);
    p.sorted_keys = address(sums);
    p.sorted_positions = address(totals);
    p.count = static_cast<std::uint32_t>(count);
    launch(numbers.device(), kernels::scan_blocks, linear_groups(blocks, 1), p,
           {reads(numbers), writes(sums), writes(totals)});
    if (blocks == 1)
        return sums;
    const at::Tensor offsets = exclusive_sums(totals);
    p.sorted_positions = address(offsets);
    launch(numbers.device(), kernels::scan_add, linear_groups(count, 256), p, {reads(offsets), writes(sums)});
    return sums;
}

SortedKeys sort_keys(const SortedKeys& unsorted, std::int64_t keys) {
    const std::int64_t count = unsorted.keys.numel();
    if (count <= 1)
        return unsorted;
    if (count <= block_size)
        return sort_by_rank(unsorted);
    // Enough bits for the number `keys` itself: in these bits, the invalid key (all ones) is above every
    // valid key.
    const auto bits = static_cast<std::uint32_t>(std::bit_width(static_cast<std::uint64_t>(keys)));
    SortedKeys from = unsorted;
    SortedKeys to{make_words(count, unsorted.keys.device()), make_words(count, unsorted.keys.device())};
    for (std::uint32_t shift = 0; shift < bits; shift += digit_bits) {
        sort_by_digit(from, to, shift);
        std::swap(from, to);
    }
    return from;
}

} // namespace rvk
