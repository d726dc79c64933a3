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

    /// Copies in pieces: the current stream of the source's device reads, and that of the target's device
    /// writes. Returns when the source has been read and the writes are queued. Throws DeviceLost,
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
