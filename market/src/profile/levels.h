#pragma once
/// Functions that evaluate a profile, given the volumes of consecutive price levels; level 0 is the lowest
/// price.

#include <rekindle/market/profile_rules.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace rekindle::market::profile {

/// Levels low … high, both inclusive, and the sum of their volumes.
struct LevelRange {
    std::size_t low = 0;
    std::size_t high = 0;
    std::int64_t volume = 0;
};

/// Whether level a comes before level b of equal volume, among `count` levels.
bool comes_first(std::size_t a, std::size_t b, std::size_t count, TieRule tie) noexcept;

/// The level with the most volume. Precondition: not empty.
std::size_t peak(std::span<const std::int64_t> volumes, TieRule tie) noexcept;

/// A share in millionths. Throws Error (usage), calling it `name`, if it is not in (0, 1].
std::int64_t share_in_millionths(double share, const char* name);

/// The smallest volume that is at least this share of the total.
std::int64_t target_volume(std::int64_t total, std::int64_t share_in_millionths) noexcept;

/// The value area around `peak` that holds at least `target` (or all volume).
LevelRange value_area(std::span<const std::int64_t> volumes, std::size_t peak, std::int64_t target,
                      ValueAreaMethod method, TieRule tie);

} // namespace rekindle::market::profile
