#pragma once
/// The values that poison mode writes where no code may read or write.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace rekindle::runtime {

/// Before and after every block.
constexpr std::uint64_t sentinel_bytes = 256;
/// Fills fresh and released memory. As float32 it is a signaling NaN, and each half is a NaN as float16 and
/// bfloat16; two words are about 5.8e306 as float64.
constexpr std::uint32_t poison_word = 0x7FA07FA0;

void write_poison(std::span<std::byte> bytes);
void write_sentinel(std::span<std::byte> bytes);
/// Index of the first byte that differs from the sentinel.
std::optional<std::size_t> changed_byte(std::span<const std::byte> sentinel);

} // namespace rekindle::runtime
