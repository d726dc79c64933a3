#include "pieces.h"

#include "staging.h"

#include <rekindle/kernels/ceil_div.h>

#include <algorithm>
#include <utility>

namespace rvk::distributed {

namespace {

using kernels::ceil_div;

/// Tensors of at most this many bytes are sent in one piece: sending fewer bytes would not make a round
/// shorter.
constexpr std::int64_t smallest_piece = 2 << 20;
/// Larger tensors are sent in at least this many pieces, so that copies in both directions overlap.
constexpr std::int64_t fewest_pieces = 4;
/// Piece sizes are multiples of this many bytes, so that no element and no cache line straddles two pieces.
constexpr std::int64_t piece_alignment = 64 << 10;

} // namespace

std::int64_t piece_bytes(std::int64_t bytes) {
    const std::int64_t divided = ceil_div(ceil_div(bytes, fewest_pieces), piece_alignment) * piece_alignment;
    return std::clamp(divided, smallest_piece, largest_piece);
}

Pieces::Pieces(at::Tensor tensor, std::int64_t bytes)
    : tensor_(std::move(tensor)), length_(bytes / static_cast<std::int64_t>(tensor_.element_size())) {}

std::int64_t Pieces::count() const {
    return ceil_div(tensor_.numel(), length_);
}

at::Tensor Pieces::operator[](std::int64_t number) const {
    const std::int64_t begin = std::min(number * length_, tensor_.numel());
    return tensor_.slice(0, begin, std::min(begin + length_, tensor_.numel()));
}

Pieces pieces_of(const at::Tensor& tensor) {
    return {tensor, piece_bytes(static_cast<std::int64_t>(tensor.nbytes()))};
}

} // namespace rvk::distributed
