#pragma once
/// Sends small tensors together, because a round takes as long for a few bytes as for a piece (one_host.h).

#include "transport.h"

#include <cstdint>
#include <vector>

namespace rvk::distributed {

/// Flat tensors, of which the small ones travel in one tensor of bytes. On all ranks, the sizes and dtypes
/// must be the same. For one thread.
class Packed {
  public:
    explicit Packed(Tensors tensors);

    /// The sender: copies the small tensors into the packed one.
    void pack();
    /// The receivers: copies the small tensors out of the packed one.
    void unpack() const;
    /// What travels: the large tensors, and the packed one, if any.
    const std::vector<at::Tensor>& parts() const noexcept { return parts_; }

  private:
    std::vector<at::Tensor> small_; ///< sorted by element size, so that each is aligned in the packed one
    std::vector<at::Tensor> parts_;
};

} // namespace rvk::distributed
