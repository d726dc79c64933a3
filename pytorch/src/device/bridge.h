#pragma once
/// Copies from one device's memory to another's, through host memory that both devices access.

#include "devices.h"

#include <cstdint>
#include <memory>

namespace rvk {

/// Copies from one device to another. Thread-safe; concurrent copies run one after the other.
class Bridge {
  public:
    /// Lives as long as the process. Throws c10::IndexError, runtime::Error.
    static Bridge& between(DeviceIndex from, DeviceIndex to);

    /// Copies in pieces: the source is read by the current stream of its device, the target written by that
    /// of its own. Returns when the source has been read and the writes are queued. Throws DeviceLost,
    /// OutOfMemory.
    void copy(runtime::DevicePointer to, runtime::DevicePointer from, std::uint64_t bytes);

    ~Bridge();
    Bridge(const Bridge&) = delete;
    Bridge& operator=(const Bridge&) = delete;

  private:
    struct Pieces;
    Bridge(DeviceIndex from, DeviceIndex to);

    const DeviceIndex from_, to_;
    const std::unique_ptr<Pieces> pieces_;
};

} // namespace rvk
