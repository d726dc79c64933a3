#include "layout.h"

#include <algorithm>
#include <c10/util/Exception.h>
#include <cstdlib>
#include <limits>

namespace rvk {

OperandLayout::OperandLayout(const at::TensorIteratorBase& iterator, std::span<const int> operands)
    : dimensions_(iterator.ndim()), operands_(operands.size()),
      small_(iterator.numel() < std::numeric_limits<std::int32_t>::max()) {
    const auto shape = iterator.shape();
    TORCH_CHECK_NOT_IMPLEMENTED(dimensions_ <= max_dimensions, "operands of ", dimensions_,
                                " dimensions that do not merge");
    bool contiguous = dimensions_ <= 1;
    for (int d = 0; d < dimensions_; ++d)
        sizes_[d] = shape[d];
    for (std::size_t k = 0; k < operands.size(); ++k) {
        if (operands[k] < 0)
            continue;
        const auto strides = iterator.strides(operands[k]);
        const auto bytes = static_cast<std::int64_t>(iterator.element_size(operands[k]));
        std::int64_t span = 0;
        for (int d = 0; d < dimensions_; ++d) {
            strides_[k][d] = strides[d] / bytes;
            span += std::abs(strides_[k][d]) * (shape[d] - 1);
        }
        small_ = small_ && span < std::numeric_limits<std::int32_t>::max();
        contiguous = contiguous && (dimensions_ == 0 || shape[0] == 1 || strides_[k][0] == 1);
    }
    kind_ = contiguous ? Kind::contiguous : dimensions_ <= 3 && small_ ? Kind::inlined : Kind::in_memory;
}

bool OperandLayout::can_join(std::int64_t count) const {
    if (sizes_[0] % count != 0)
        return false;
    for (std::size_t k = 0; k < operands_; ++k) {
        if (strides_[k][0] != 1)
            return false;
        for (int d = 1; d < dimensions_; ++d)
            if (strides_[k][d] % count != 0)
                return false;
    }
    return true;
}

std::int64_t OperandLayout::join(std::int64_t most) {
    std::int64_t count = 1;
    while (dimensions_ > 0 && 2 * count <= most && can_join(2 * count))
        count *= 2;
    if (count == 1)
        return count;
    sizes_[0] /= count;
    for (std::size_t k = 0; k < operands_; ++k)
        for (int d = 1; d < dimensions_; ++d)
            strides_[k][d] /= count;
    if (sizes_[0] == 1 && dimensions_ > 1) {
        --dimensions_;
        std::shift_left(sizes_.begin(), sizes_.end(), 1);
        for (std::size_t k = 0; k < operands_; ++k)
            std::shift_left(strides_[k].begin(), strides_[k].end(), 1);
    }
    if (kind_ == Kind::in_memory && dimensions_ <= 3 && small_)
        kind_ = Kind::inlined;
    return count;
}

std::span<const std::int64_t> OperandLayout::block() const {
    block_[0] = dimensions_;
    std::copy(sizes_.begin(), sizes_.end(), block_.begin() + 1);
    for (int k = 0; k < max_operands; ++k)
        std::copy(strides_[k].begin(), strides_[k].end(),
                  block_.begin() + 1 + std::ptrdiff_t{max_dimensions} * (1 + k));
    return block_;
}

} // namespace rvk
