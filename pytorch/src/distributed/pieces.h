#pragma once
/// How tensors are divided into pieces that travel through shared memory one after the other.

#include <ATen/core/Tensor.h>
#include <cstdint>

namespace rvk::distributed {

/// Returns the size of the pieces for tensors that have this many bytes in total. All ranks must pass the
/// same number.
std::int64_t piece_bytes(std::int64_t bytes);

/// The pieces of a flat tensor.
class Pieces {
  public:
    /// bytes: the size of a piece; a multiple of the size of an element.
    Pieces(at::Tensor tensor, std::int64_t bytes);
    std::int64_t count() const;
    /// Returns a view of the piece with this number; it is empty if the number is count() or more.
    at::Tensor operator[](std::int64_t number) const;

  private:
    at::Tensor tensor_;
    std::int64_t length_; ///< elements in a piece
};

/// Divides a flat tensor into pieces of piece_bytes() of its size.
Pieces pieces_of(const at::Tensor& tensor);

} // namespace rvk::distributed
