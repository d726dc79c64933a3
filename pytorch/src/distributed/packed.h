#pragma once
/// Packs small tensors into one buffer, so that a broadcast sends all of them in one round. A round
/// (one_host.h) takes as long for a few bytes as for 2 MiB.

#include "transport.h"

#include <cstdint>
#include <vector>

namespace rvk::distributed {

/// The tensors of a broadcast. Large tensors are sent as they are, and small ones in one buffer of bytes. All
/// tensors are flat and on one device, and every rank must pass the same sizes and dtypes in the same order.
/// For one thread.
class Packed {
  public:
    explicit Packed(Tensors tensors);

    /// Copies the small tensors into the buffer. The sender calls it before the broadcast.
    void pack();
    /// Copies the small tensors out of the buffer. The receivers call it after the broadcast.
    void unpack() const;
    /// The tensors to broadcast: the large ones, then the buffer unless there are no small ones.
    const std::vector<at::Tensor>& parts() const noexcept { return parts_; }

  private:
    /// The largest element size comes first, which keeps each tensor aligned in the buffer.
    std::vector<at::Tensor> small_;
    std::vector<at::Tensor> parts_;
};

} // namespace rvk::distributed
