#pragma once
/// Lists of tensors for kernels that process all of them in one dispatch
/// (kernels/lib/tensor_list.slang).

#include "../dispatch/launch.h"

#include <rekindle/kernels/ceil_div.h>

#include <ATen/core/Tensor.h>
#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace rvk {

/// Whether one launch can process these lists: they have the same number of tensors, all on one device with
/// the same 16-bit or 32-bit floating-point dtype (float16, bfloat16, float32); the i-th tensors have equal
/// shapes and strides, without gaps. Empty lists of optional states are accepted.
bool fit_one_launch(std::initializer_list<at::TensorList> lists);

/// The table of a launch, with `Words` 64-bit words per tensor: its number of elements, its first workgroup,
/// and what the caller writes from word 2 on.
template <std::size_t Words>
class TensorTable {
  public:
    /// The number of tensors that fit in a block.
    static constexpr std::size_t most_tensors = UploadedBlock::most_bytes / (8 * Words);

    std::span<std::uint64_t, Words> add(std::uint64_t elements) {
        words_.resize(words_.size() + Words);
        const std::span<std::uint64_t, Words> entry(&words_[words_.size() - Words], Words);
        entry[0] = elements;
        entry[1] = groups_;
        groups_ += kernels::ceil_div(elements, elements_per_group);
        return entry;
    }
    std::uint32_t tensors() const { return static_cast<std::uint32_t>(words_.size() / Words); }
    bool full() const { return tensors() == most_tensors; }
    /// A copy of the table for a launch.
    UploadedBlock upload(DeviceIndex index) const { return {index, std::span<const std::uint64_t>(words_)}; }
    Groups groups() const {
        return linear_groups(static_cast<std::int64_t>(groups_ * elements_per_group), elements_per_group);
    }
    void clear() {
        words_.clear();
        groups_ = 0;
    }

  private:
    static constexpr std::uint64_t elements_per_group = 1024;
    std::vector<std::uint64_t> words_;
    std::uint64_t groups_ = 0;
};

} // namespace rvk
