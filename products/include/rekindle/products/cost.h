#pragma once
/// The cost model: estimates how long a launch takes if all of its workgroups do the same work.

#include <rekindle/products/device_parameters.h>

#include <cstdint>

namespace rekindle::products {

/// The work of one workgroup: it loads a slice of its operands into shared memory, multiplies it, and
/// repeats that.
struct GroupWork {
    bool on_units = false;
    double slices = 0;
    double multiply_adds = 0; ///< per slice
    double loaded_bytes = 0;  ///< per slice
    double edge_bytes = 0;    ///< loaded before the first slice and stored after the last
    /// Results that pass through shared memory before they are stored. A compute unit waits for that unless
    /// it runs other workgroups meanwhile.
    double converted_bytes = 0;
    double latency = 0; ///< of a slice if no other work hides it, as a multiple of slice_latency
    std::uint32_t threads = 0;
    std::uint32_t registers = 0;    ///< 32-bit registers of a thread
    std::uint32_t shared_bytes = 0; ///< of the workgroup
    double rate = 1;                ///< as a fraction of the device's rate, for kernels that do not reach it
    double rate_alone = 1; ///< fraction of it that a workgroup reaches if it has a compute unit to itself
};

/// Workgroups that a compute unit can run at the same time; at least 1.
std::uint32_t resident_groups(const DeviceParameters& device, const GroupWork& work);

/// Estimated seconds of a launch of `groups` such workgroups that moves memory_bytes to and from the device's
/// memory. A compute unit is busy with multiplying or with loading, whichever takes longer. With several
/// resident workgroups, the work of one hides the latency of the others. The busiest compute unit runs its
/// workgroups in rounds, which partly overlap.
double launch_time(const DeviceParameters& device, const GroupWork& work, double groups, double memory_bytes);

/// Estimated seconds to add `parts` partial results of `numbers` sums each, in a launch of its own.
double combine_time(const DeviceParameters& device, std::int64_t parts, double numbers, std::uint32_t bytes);

} // namespace rekindle::products
