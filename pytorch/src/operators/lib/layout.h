#pragma once
/// The layout of an iterator's operands, as kernels with REKINDLE_LAYOUT_FIELDS expect it
/// (kernels/lib/layout.slang).

#include "../../dispatch/launch.h"

#include <ATen/TensorIterator.h>
#include <array>
#include <cstdint>
#include <span>

namespace rvk {

/// Up to four operands of the same shape. Strides are in elements of the operand.
class OperandLayout {
  public:
    static constexpr int max_operands = 4, max_dimensions = 8;
    enum class Kind : std::uint32_t { contiguous = 0, inlined = 1, in_memory = 2 };

    /// operands: their indices in the iterator, in the kernel's order; -1 for an operand without memory (a
    /// scalar). Throws c10::NotImplementedError for more than eight dimensions.
    OperandLayout(const at::TensorIteratorBase& iterator, std::span<const int> operands);

    /// Treats groups of adjacent elements as one wider element. The groups are as large as the strides and
    /// the row length allow: a power of two, at most `most`. Returns their size, 1 if nothing can be joined.
    /// Every operand must have memory, and its address must be aligned for `most` elements.
    std::int64_t join(std::int64_t most);

    Kind kind() const { return kind_; }
    /// Fills the fields of REKINDLE_LAYOUT_FIELDS. Returns the block that they point to, which has memory
    /// only for kind in_memory: keep it until the launch.
    template <class P>
    [[nodiscard]] UploadedBlock fill(P& p, DeviceIndex device) const {
        if (kind_ == Kind::contiguous)
            return {};
        if (kind_ == Kind::in_memory) {
            UploadedBlock uploaded(device, block());
            p.layout_block = uploaded.address();
            return uploaded;
        }
        const auto size = [&](int d) { return d < dimensions_ ? static_cast<std::uint32_t>(sizes_[d]) : 1u; };
        p.size_0 = size(0);
        p.size_1 = size(1);
        const auto stride = [&](int operand, int d) {
            return static_cast<std::int32_t>(strides_[operand][d]);
        };
        p.stride_0_0 = stride(0, 0);
        p.stride_0_1 = stride(0, 1);
        p.stride_0_2 = stride(0, 2);
        p.stride_1_0 = stride(1, 0);
        p.stride_1_1 = stride(1, 1);
        p.stride_1_2 = stride(1, 2);
        p.stride_2_0 = stride(2, 0);
        p.stride_2_1 = stride(2, 1);
        p.stride_2_2 = stride(2, 2);
        p.stride_3_0 = stride(3, 0);
        p.stride_3_1 = stride(3, 1);
        p.stride_3_2 = stride(3, 2);
        return {};
    }

  private:
    std::span<const std::int64_t> block() const;
    /// Whether groups of `count` adjacent elements fill every operand's rows without a remainder.
    bool can_join(std::int64_t count) const;

    Kind kind_ = Kind::contiguous;
    int dimensions_ = 0;
    std::size_t operands_ = 0;
    bool small_ = true; ///< all offsets fit in 32 bits
    std::array<std::int64_t, max_dimensions> sizes_{};
    std::array<std::array<std::int64_t, max_dimensions>, max_operands> strides_{};
    mutable std::array<std::int64_t, 1 + max_dimensions * (1 + max_operands)> block_{};
};

} // namespace rvk
