#pragma once
/// The limits of one launch on any device.

#include <algorithm>
#include <cstdint>

namespace rvk {

/// Workgroups of a dispatch in one dimension.
inline constexpr std::int64_t most_groups = 65535;
/// Workgroups in x of a dispatch that needs several rows of them (`linear_group` in
/// kernels/lib/layout.slang).
inline constexpr std::int64_t groups_per_row = 32768;
/// Total iterations of all loops of one invocation, including inner ones; code that launches a kernel whose
/// loops depend on sizes divides the work (kernels/README.md, "Loops on lavapipe").
inline constexpr std::int64_t most_iterations = 60'000;

/// Calls launch_range(begin, end) for consecutive ranges of at most `most` out of `count`, so that the loops
/// of one launch stay within most_iterations.
template <class F>
void in_ranges(std::int64_t count, std::int64_t most, F&& launch_range) {
    for (std::int64_t begin = 0; begin < count; begin += most)
        launch_range(static_cast<std::uint32_t>(begin),
                     static_cast<std::uint32_t>(std::min(begin + most, count)));
}

} // namespace rvk
