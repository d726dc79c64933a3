#pragma once
/// Lists of tensors for kernels that process many of them in one launch (kernels/lib/tensor_list.slang).

#include "../../dispatch/launch.h"

#include <rekindle/kernels/ceil_div.h>

#include <ATen/core/Tensor.h>
#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace rvk {

/// Whether one launch can process many tensors of these lists: the lists have the same number of tensors, all
/// on one device with the same 16-bit or 32-bit floating-point dtype (float16, bfloat16, float32); the i-th
/// tensors have the same shape and strides, and no gaps. Empty lists of optional states are accepted.
bool fit_one_launch(std::initializer_list<at::TensorList> lists);

/// The table of a launch, with `Words` 64-bit words per tensor: its number of elements, its first workgroup,
/// and the caller's values from word 2 on.
template <std::size_t Words>
class TensorTable {
  public:
    /// The number of tensors that fit in a block.
    static constexpr std::size_t most_tensors = UploadedBlock::most_bytes / (8 * Words);

    std::span<std::uint64_t, Words> add(std::uint64_t elements) {
        words_.resize(words_.size() + Words);
        const std::span<std::uint64_t, Words> entry(&words_[words_.size() - Words], Words);
        entry[0] = elements;
        total_ += elements;
        return entry;
    }
    std::uint32_t tensors() const { return static_cast<std::uint32_t>(words_.size() / Words); }
    bool full() const { return tensors() == most_tensors; }
    /// Elements per workgroup. Each workgroup first searches the table for its tensor, so a few thousand
    /// workgroups (about as many as a large GPU runs at once) are faster than more.
    std::uint32_t elements_per_group() const {
        std::uint32_t elements = 1024;
        while (elements < 16'384 && total_ / elements > 4096)
            elements *= 2;
        return elements;
    }
    /// Enters each tensor's first workgroup in the table, and returns the number of workgroups that all
    /// tensors need.
    std::int64_t number_groups() {
        const std::uint32_t elements = elements_per_group();
        std::uint64_t count = 0;
        for (std::size_t entry = 0; entry < words_.size(); entry += Words) {
            words_[entry + 1] = count;
            count += kernels::ceil_div(words_[entry], elements);
        }
        return static_cast<std::int64_t>(count);
    }
    /// Uploads the table. Sets `groups` to the size of the launch.
    UploadedBlock upload(DeviceIndex index, Groups& groups) {
        groups = linear_groups(number_groups(), 1);
        return {index, std::span<const std::uint64_t>(words_)};
    }
    void clear() {
        words_.clear();
        total_ = 0;
    }

  private:
    std::vector<std::uint64_t> words_;
    std::uint64_t total_ = 0; ///< elements
};

} // namespace rvk
