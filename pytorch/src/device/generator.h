#pragma once
/// Random numbers: Philox4x32-10 keyed by a seed, at an offset, as PyTorch's CUDA generator does it.

#include "devices.h"

#include <ATen/core/Generator.h>
#include <optional>

namespace rvk {

/// What a random kernel is given. Thread i of a launch draws the numbers of the Philox counter (offset / 4,
/// i) under the key `seed`.
struct PhiloxState {
    std::uint64_t seed = 0;
    std::uint64_t offset = 0; ///< a multiple of 4, in 32-bit numbers a thread
};

/// Takes `numbers_per_thread` 32-bit numbers a thread from the generator (rounded up to a multiple of 4),
/// from the device's default one when none is given. Thread-safe. Throws c10::Error when it belongs to
/// another kind of device.
PhiloxState reserve_random(const std::optional<at::Generator>& generator, DeviceIndex index,
                           std::uint64_t numbers_per_thread);

/// The default generator of a device; exists without opening it.
const at::Generator& default_generator(DeviceIndex index);
at::Generator make_generator(DeviceIndex index);

} // namespace rvk
