#pragma once
/// Packs small tensors into one buffer, so that a broadcast sends all of them in a single round. A round with
/// a few bytes takes about as long as one with 2 MiB (pieces.h).

#include "transport.h"

#include <cstdint>
#include <vector>

namespace rvk::distributed {

/// The tensors of a broadcast: large tensors themselves, and one buffer of bytes with all small ones. The
/// tensors must be flat and on one device, and all ranks must pass the same sizes and dtypes in the same
/// order. For use by one thread.
class Packed {
  public:
    explicit Packed(Tensors tensors);

    /// Copies the small tensors into the buffer. The sender calls it before the broadcast.
    void pack();
    /// Copies the small tensors out of the buffer. The receivers call it after the broadcast.
    void unpack() const;
    /// Returns the tensors to broadcast: the large ones, then the buffer if there are small ones.
    const std::vector<at::Tensor>& parts() const noexcept { return parts_; }

  private:
    /// Sorted by element size, largest first, so that each tensor is aligned in the buffer.
    std::vector<at::Tensor> small_;
    std::vector<at::Tensor> parts_;
};

} // namespace rvk::distributed
