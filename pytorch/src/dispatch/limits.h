#pragma once
/// The limits of one launch on any device, and how to respect them.

#include <rekindle/products/limits.h>

#include <algorithm>
#include <cstdint>

namespace rvk {

using rekindle::products::groups_per_row;
using rekindle::products::most_groups;
using rekindle::products::most_iterations;

/// Divides `count` items into consecutive ranges of at most `most` and calls launch_range(begin, end) for
/// each, so that the loops of one launch stay within most_iterations.
template <class F>
void in_ranges(std::int64_t count, std::int64_t most, F&& launch_range) {
    for (std::int64_t begin = 0; begin < count; begin += most)
        launch_range(static_cast<std::uint32_t>(begin),
                     static_cast<std::uint32_t>(std::min(begin + most, count)));
}

} // namespace rvk
