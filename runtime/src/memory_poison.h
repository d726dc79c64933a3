#pragma once
/// The values that poison mode puts where nobody should read or write.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace rekindle::runtime {

/// Before and behind every block.
constexpr std::uint64_t sentinel_bytes = 256;
/// Fresh and released memory: a signalling NaN as float32; two of them as float64, four as float16 pairs, are
/// NaNs too.
constexpr std::uint32_t poison_word = 0x7FA07FA0;

void write_poison(std::span<std::byte> bytes);
void write_sentinel(std::span<std::byte> bytes);
/// Index of the first byte that is not the sentinel's.
std::optional<std::size_t> changed_byte(std::span<const std::byte> sentinel);

} // namespace rekindle::runtime
