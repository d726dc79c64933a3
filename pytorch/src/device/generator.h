#pragma once
/// Random numbers: Philox4x32-10 keyed by a seed, at an offset, like PyTorch's CUDA generator.

#include "devices.h"

#include <ATen/core/Generator.h>
#include <optional>

namespace rvk {

/// The input of a random kernel. Thread i of a launch draws the numbers of the Philox counter (offset / 4, i)
/// under the key `seed`.
struct PhiloxState {
    std::uint64_t seed = 0;
    std::uint64_t offset = 0; ///< a multiple of 4; counts 32-bit numbers per thread
};

/// Reserves `numbers_per_thread` 32-bit numbers per thread (rounded up to a multiple of 4) from the
/// generator, or from the device's default generator if none is given. Thread-safe. Throws c10::Error if the
/// generator belongs to another kind of device.
PhiloxState reserve_random(const std::optional<at::Generator>& generator, DeviceIndex index,
                           std::uint64_t numbers_per_thread);

/// The default generator of a device; does not open the device.
const at::Generator& default_generator(DeviceIndex index);

/// Sets the seed of the calling thread's current device, or of all devices. Does not enumerate
/// the devices, so a process may seed, then fork, and use a device in the child.
void seed_current_device(std::uint64_t seed);
void seed_all_devices(std::uint64_t seed);

at::Generator make_generator(DeviceIndex index);

} // namespace rvk
