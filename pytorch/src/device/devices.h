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
/// Returns the device's copy-only streams in turn; they use the queues of the copy engines, if the device has
/// any. There are many, because a stream that waits for a promise holds back everything behind it, which must
/// not be what the promise depends on. A kernel on such a stream throws runtime::Error.
c10::Stream next_copy_stream(DeviceIndex index);

/// A stream that belongs to this object alone. Work that keeps a promise needs one: PyTorch runs callbacks of
/// futures on streams of the pool, where they wait for the promise and hold back all later work.
class OwnStream {
  public:
    enum class Kind { kernels, copies }; ///< kernels: like a stream of the pool; copies: only copies
    /// Throws c10::Error if the device has no more of them (there are 160 for kernels, 320 for copies).
    OwnStream(DeviceIndex index, Kind kind);
    /// The next owner's work comes after the work that was queued on it.
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
