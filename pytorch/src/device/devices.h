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

/// The index of a device, 0 to device_count() - 1.
using DeviceIndex = c10::DeviceIndex;

/// The number of devices. Never throws and never opens a device. CPU drivers count only if there is no GPU or
/// REKINDLE_VISIBLE_DEVICES names them.
DeviceIndex device_count() noexcept;
/// Whether this process, or one from which it was forked, has enumerated the devices. Does not do it itself.
bool has_enumerated_devices() noexcept;
/// Whether this process was forked from one that had looked for devices: the drivers' threads were not
/// copied, so no device can be opened here.
bool is_forked() noexcept;
/// One sentence that says why device_count() is 0; empty if it is not.
std::string why_no_device();

/// Whether the device has been opened in this process.
bool is_open(DeviceIndex index) noexcept;
/// The properties of a device that the driver reports; does not open it. Throws c10::IndexError for a device
/// that does not exist.
const runtime::DeviceInfo& device_info(DeviceIndex index);
/// The device, opened at first use. Throws c10::IndexError, runtime::Error.
runtime::Device& device(DeviceIndex index);

/// The calling thread's current device, as in CUDA: initially 0.
DeviceIndex current_device() noexcept;
/// Throws c10::IndexError.
void set_current_device(DeviceIndex index);
void set_current_device_unchecked(DeviceIndex index) noexcept;
/// A device without an index ("rvk") means the current one. Throws c10::IndexError for a device that does not
/// exist.
DeviceIndex index_of(c10::Device device);

/// Streams: id 0 is every device's default stream, shared by all threads; others come from a pool of 32,
/// handed out round-robin. Those of the pool use a second queue, if the device has one, so their work
/// overlaps with the default stream's.
c10::Stream current_stream_id(DeviceIndex index) noexcept;
c10::Stream default_stream_id(DeviceIndex index) noexcept;
c10::Stream next_pool_stream(DeviceIndex index);

/// A stream that nobody else uses while this object exists. The work of collectives needs one. On a stream of
/// the pool, PyTorch may run the callback of a future, which waits for the promise that a collective keeps;
/// the collective's work, queued behind it, would wait forever.
class OwnStream {
  public:
    /// kernels: like a stream of the pool. copies: uses the queues of the copy engines, if the device has
    /// any; a kernel on it throws runtime::Error.
    enum class Kind { kernels, copies };
    /// Throws c10::Error if all are in use: 256 for kernels, 512 for copies.
    OwnStream(DeviceIndex index, Kind kind);
    /// Does not wait for queued work; the next owner's work runs after it.
    ~OwnStream();
    OwnStream(const OwnStream&) = delete;
    OwnStream& operator=(const OwnStream&) = delete;

    c10::Stream id() const noexcept { return id_; }

  private:
    const c10::Stream id_;
};

/// Makes it the calling thread's current stream on its device; returns the previous one.
c10::Stream exchange_stream(c10::Stream stream);
/// The runtime's stream with that id, created at first use. Thread-safe; lives as long as the process.
runtime::Stream& stream(c10::Stream id);
/// The calling thread's current stream of a device.
runtime::Stream& current_stream(DeviceIndex index);

/// For the end of the process: waits for all open devices and saves their pipelines to disk. Never throws.
void finish_process() noexcept;

} // namespace rvk
