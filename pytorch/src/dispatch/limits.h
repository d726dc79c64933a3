#pragma once
/// The limits of one launch on any device.

#include <cstdint>

namespace rvk {

/// Workgroups of a dispatch in one dimension.
inline constexpr std::int64_t most_groups = 65535;
/// Total iterations of all loops of one invocation, including inner ones; code that launches a kernel whose
/// loops depend on sizes divides the work (kernels/README.md, "Loops on lavapipe").
inline constexpr std::int64_t most_iterations = 60'000;

} // namespace rvk
