#include "packed.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <algorithm>

namespace rvk::distributed {

namespace {

/// Tensors of at most this many bytes are packed.
constexpr std::size_t largest_packed = 64 << 10;

} // namespace

Packed::Packed(Tensors tensors) {
    std::int64_t bytes = 0;
    for (const at::Tensor& tensor : tensors) {
        const bool packs = tensors.size() > 1 && tensor.nbytes() <= largest_packed;
        (packs ? small_ : parts_).push_back(tensor);
        bytes += packs ? static_cast<std::int64_t>(tensor.nbytes()) : 0;
    }
    std::ranges::stable_sort(small_, std::ranges::greater(),
                             [](const at::Tensor& tensor) { return tensor.element_size(); });
    if (!small_.empty())
        parts_.push_back(at::empty({bytes}, small_[0].options().dtype(at::kByte)));
}

void Packed::pack() {
    if (small_.empty())
        return;
    std::vector<at::Tensor> bytes;
    bytes.reserve(small_.size());
    for (const at::Tensor& tensor : small_)
        bytes.push_back(tensor.view(at::kByte));
    at::cat_out(parts_.back(), bytes);
}

void Packed::unpack() const {
    std::int64_t begin = 0;
    for (const at::Tensor& tensor : small_) {
        const std::int64_t end = begin + static_cast<std::int64_t>(tensor.nbytes());
        tensor.copy_(parts_.back().slice(0, begin, end).view(tensor.scalar_type()));
        begin = end;
    }
}

} // namespace rvk::distributed
