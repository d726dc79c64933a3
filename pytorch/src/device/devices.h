#pragma once
/// The Vulkan devices as PyTorch sees them: numbered from 0, opened at first use, each with its streams.

#include <rekindle/runtime/device.h>
#include <rekindle/runtime/stream.h>

#include <c10/core/Device.h>
#include <c10/core/Stream.h>
#include <cstdint>
#include <memory>
#include <string>

namespace rvk {

namespace kernels = rekindle::kernels;
namespace runtime = rekindle::runtime;

/// The number of a device, 0 to device_count() - 1.
using DeviceIndex = c10::DeviceIndex;

/// How many devices there are. Never throws (0: none); opens none. Drivers that run on the processor count
/// only where there is no GPU or REKINDLE_VISIBLE_DEVICES names them.
DeviceIndex device_count() noexcept;
/// Whether this process was forked from one that had looked for devices: the drivers' threads stayed behind,
/// so that no device can be opened here.
bool is_forked() noexcept;
/// One sentence why device_count() is 0; empty when it is not.
std::string why_no_device();

/// Whether the device has been opened in this process.
bool is_open(DeviceIndex index) noexcept;
/// What the driver says of a device; opens none. Throws c10::IndexError for a number that does not exist.
const runtime::DeviceInfo& device_info(DeviceIndex index);
/// The device, opened at first use. Throws c10::IndexError, runtime::Error.
runtime::Device& device(DeviceIndex index);

/// The calling thread's current device, as of CUDA: 0 at the start.
DeviceIndex current_device() noexcept;
/// Throws c10::IndexError.
void set_current_device(DeviceIndex index);
void set_current_device_unchecked(DeviceIndex index) noexcept;
/// A device without a number ("rvk") is the current one. Throws c10::IndexError for one that does not exist.
DeviceIndex index_of(c10::Device device);

/// Streams: id 0 is the default one of every device and shared by all threads; others come from a pool of 32,
/// given out in turn.
c10::Stream current_stream_id(DeviceIndex index) noexcept;
c10::Stream default_stream_id(DeviceIndex index) noexcept;
c10::Stream next_pool_stream(DeviceIndex index);
/// Makes it the calling thread's stream of its device; returns the one before.
c10::Stream exchange_stream(c10::Stream stream);
/// The runtime's stream of that id, made at first use. Thread-safe, lives as long as the process.
runtime::Stream& stream(c10::Stream id);
/// The calling thread's current stream of a device.
runtime::Stream& current_stream(DeviceIndex index);

/// Waits for all streams of the device; nothing to do when it is not open.
void synchronize(DeviceIndex index);
/// At the end of the process: waits for all open devices and keeps their pipelines on disk. Never throws.
void finish_process() noexcept;

} // namespace rvk
