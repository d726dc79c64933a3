#pragma once
/// The limits of one launch on any device.

#include <cstdint>

namespace rekindle::products {

/// Workgroups of a dispatch in one dimension.
inline constexpr std::int64_t most_groups = 65535;
/// Workgroups in x of a dispatch that needs several rows of them (`linear_group` in
/// kernels/lib/layout.slang).
inline constexpr std::int64_t groups_per_row = 32768;
/// Total iterations of all loops of one invocation, including inner ones; code that launches a kernel whose
/// loops depend on sizes must divide the work (kernels/README.md, "Loops on lavapipe").
inline constexpr std::int64_t most_iterations = 60'000;

} // namespace rekindle::products
