#pragma once
/// Lists of tensors for kernels that go through all of them in one dispatch
/// (kernels/slang/tensor_list.slang).

#include "../dispatch/launch.h"

#include <ATen/core/Tensor.h>
#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace rvk {

/// Whether one launch can take these lists: equally many tensors, all on one device and of one dtype of 16 or
/// 32 bits (float16, bfloat16, float32), the i-th ones alike in shape and strides without gaps. Empty lists
/// of optional states count as fitting.
bool fit_one_launch(std::initializer_list<at::TensorList> lists);

/// The table of a launch, of `Words` 64-bit words a tensor: its elements, its first workgroup, and what the
/// caller writes from word 2 on.
template <std::size_t Words>
class TensorTable {
  public:
    /// As many tensors as fit the block of parameters that a stream has.
    static constexpr std::size_t most_tensors = runtime::Stream::largest_transient / (8 * Words);

    std::span<std::uint64_t, Words> add(std::uint64_t elements) {
        words_.resize(words_.size() + Words);
        const std::span<std::uint64_t, Words> entry(&words_[words_.size() - Words], Words);
        entry[0] = elements;
        entry[1] = groups_;
        groups_ += (elements + elements_per_group - 1) / elements_per_group;
        return entry;
    }
    std::uint32_t tensors() const { return static_cast<std::uint32_t>(words_.size() / Words); }
    bool full() const { return tensors() == most_tensors; }
    /// Address of a copy of the table for the next launch.
    std::uint64_t upload(DeviceIndex index) const {
        return upload_block(index, std::span<const std::uint64_t>(words_));
    }
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
