#include "copy.h"

#include "../../device/allocator.h"
#include "../../device/operator_scope.h"
#include "../../device/transfer.h"
#include "../../dispatch/structured.h"
#include "../elementwise/elementwise.h"
#include "../lib/layout.h"

#include <rekindle/kernels/ceil_div.h>
#include <rekindle/kernels/families/copy.h>

#include <ATen/native/Fill.h>
#include <ATen/ops/fill_native.h>
#include <ATen/ops/view_as_real_native.h>
#include <ATen/ops/zero_native.h>
#include <bit>
#include <c10/util/Exception.h>
#include <cstring>
#include <limits>
#include <torch/library.h>

namespace rvk {

namespace {

constexpr std::uint32_t elements_per_group = 1024;

at::TensorIterator iterator_of(const at::Tensor& to, const at::Tensor& from) {
    return at::TensorIteratorConfig()
        .set_check_mem_overlap(false)
        .add_output(to)
        .add_const_input(from)
        .resize_outputs(false)
        .check_all_same_dtype(false)
        .build();
}

bool share_bytes(const at::Tensor& a, const at::Tensor& b) {
    const Access first = reads(a), second = reads(b);
    return first.begin < second.begin + second.bytes && second.begin < first.begin + first.bytes;
}

constexpr std::uint64_t widest = 16; // bytes that a thread copies at once

/// The widest word that divides all of these addresses and sizes, in bytes.
std::uint64_t word_of(std::uint64_t addresses_and_sizes) {
    return std::uint64_t{1} << std::countr_zero(addresses_and_sizes | widest);
}

/// Launches a kernel on the iterator's operands. `layout` treats `joined` of their elements as one.
template <class P>
void launch_bytes(const kernels::TypedKernel<P>& kernel, const at::TensorIteratorBase& iterator,
                  const OperandLayout& layout, std::int64_t joined, P p, std::span<const Access> accesses) {
    const std::int64_t count = iterator.numel() / joined;
    p.output = address(iterator, 0);
    p.count = static_cast<std::uint64_t>(count);
    const UploadedBlock layout_block = layout.fill(p, iterator.device(0).index());
    const kernels::CopyConstants constants{.layout = static_cast<std::uint32_t>(layout.kind()),
                                           .bytes =
                                               static_cast<std::uint32_t>(iterator.element_size(0) * joined),
                                           .wide = count >= (std::int64_t{1} << 31)};
    launch(iterator.device(0), kernel, linear_groups(count, elements_per_group), p, accesses, constants);
}

/// Transposes in square tiles if the tensors' fastest dimensions differ. Returns false without copying if
/// they do not, or if a tile does not pay off: the tensors need two or three dimensions, at least 16 elements
/// along both fastest ones, and 32-bit offsets.
bool copy_in_squares(const at::TensorIterator& iterator) {
    constexpr std::int64_t shortest = 16, most = std::numeric_limits<std::int32_t>::max();
    const auto bytes = static_cast<std::int64_t>(iterator.element_size(0));
    const int dimensions = iterator.ndim();
    if (dimensions < 2 || dimensions > 3 || bytes > 8)
        return false;
    const auto shape = iterator.shape(), to = iterator.strides(0), from = iterator.strides(1);
    const std::size_t last = dimensions == 3 ? 2 : 1;
    const std::size_t across = from[1] == bytes ? 1 : last, other = 3 - across;
    const auto within = [&](at::IntArrayRef strides) { // offsets fit in 32 bits
        std::int64_t span = 0;
        for (std::size_t d = 0; d <= last; ++d)
            span += strides[d] < 0 ? most : strides[d] / bytes * shape[d];
        return span < most;
    };
    if (to[0] != bytes || from[across] != bytes || from[0] == bytes || shape[0] < shortest ||
        shape[across] < shortest || !within(to) || !within(from))
        return false;
    const bool batched = dimensions == 3;
    kernels::CopyParameters p{};
    p.output = address(iterator, 0);
    p.input = address(iterator, 1);
    p.count = static_cast<std::uint64_t>(iterator.numel());
    p.size_0 = static_cast<std::uint32_t>(shape[0]);
    p.size_1 = static_cast<std::uint32_t>(shape[across]);
    p.stride_0_1 = static_cast<std::int32_t>(to[across] / bytes);
    p.stride_0_2 = static_cast<std::int32_t>(batched ? to[other] / bytes : 0);
    p.stride_1_0 = static_cast<std::int32_t>(from[0] / bytes);
    p.stride_1_2 = static_cast<std::int32_t>(batched ? from[other] / bytes : 0);
    const std::uint32_t square = bytes == 8 ? 32 : 64;
    const std::int64_t squares = kernels::ceil_div<std::int64_t>(shape[0], square) *
                                 kernels::ceil_div<std::int64_t>(shape[across], square) *
                                 (batched ? shape[other] : 1);
    launch(iterator.device(0), kernels::copy_squares, linear_groups(squares, 1), p,
           std::array{writes(iterator, 0), reads(iterator, 1)},
           kernels::CopyConstants{.layout = static_cast<std::uint32_t>(OperandLayout::Kind::inlined),
                                  .bytes = static_cast<std::uint32_t>(bytes),
                                  .square = square,
                                  .square_words = square * (square + 1) * (bytes == 8 ? 2 : 1)});
    return true;
}

/// Copies between tensors with the same dense layout, in the widest words (up to 16 bytes) that their
/// addresses and size allow. Uses a kernel, because with NVIDIA's driver, vkCmdCopyBuffer runs at half the
/// speed and delays the kernels around it.
void copy_dense(const at::Tensor& to, const at::Tensor& from) {
    const std::uint64_t bytes = to.nbytes();
    const std::uint64_t word = word_of(raw_address(to) | raw_address(from) | bytes);
    kernels::CopyParameters p{};
    p.output = address(to);
    p.input = address(from);
    p.count = bytes / word;
    launch(to.device(), kernels::copy_bytes,
           linear_groups(static_cast<std::int64_t>(p.count), elements_per_group), p,
           std::array{writes(to), reads(from)},
           kernels::CopyConstants{.layout = static_cast<std::uint32_t>(OperandLayout::Kind::contiguous),
                                  .bytes = static_cast<std::uint32_t>(word),
                                  .wide = p.count >= (std::uint64_t{1} << 31)});
}

void copy_same_dtype(const at::Tensor& to, const at::Tensor& from) {
    if (same_dense_layout(to, from) && !share_bytes(to, from)) {
        copy_dense(to, from);
        return;
    }
    const at::TensorIterator iterator = iterator_of(to, from);
    if (!share_bytes(to, from) && copy_in_squares(iterator))
        return;
    OperandLayout layout(iterator, std::array{0, 1});
    const std::uint64_t word = word_of(raw_address(to) | raw_address(from));
    const std::int64_t joined = layout.join(static_cast<std::int64_t>(word) / iterator.element_size(0));
    kernels::CopyParameters p;
    p.input = address(iterator, 1);
    launch_bytes(kernels::copy_bytes, iterator, layout, joined, p,
                 std::array{writes(iterator, 0), reads(iterator, 1)});
}

/// The real (0) or imaginary (1) parts of a complex tensor, as a view.
at::Tensor part_of(const at::Tensor& tensor, std::int64_t part) {
    return at::native::view_as_real(tensor).select(-1, part);
}

/// Whether the real or the imaginary part is nonzero.
void copy_truth(const at::Tensor& to, const at::Tensor& from) {
    const at::Tensor real = part_of(from, 0), imaginary = part_of(from, 1);
    at::TensorIterator iterator = at::TensorIteratorConfig()
                                      .set_check_mem_overlap(false)
                                      .add_output(to)
                                      .add_const_input(real)
                                      .add_const_input(imaginary)
                                      .resize_outputs(false)
                                      .check_all_same_dtype(false)
                                      .build();
    compute_as(real.scalar_type(), iterator, Operation::logical_or);
}

void copy_complex(const at::Tensor& to, const at::Tensor& from) {
    const bool to_complex = to.is_complex(), from_complex = from.is_complex();
    if (to.scalar_type() == at::kBool) {
        copy_truth(to, from);
        return;
    }
    copy_on_device(to_complex ? part_of(to, 0) : to, from_complex ? part_of(from, 0) : from);
    if (!to_complex)
        return;
    if (from_complex)
        copy_on_device(part_of(to, 1), part_of(from, 1));
    else
        part_of(to, 1).zero_();
}

/// A fill value as an element of its dtype: up to 16 bytes.
struct Pattern {
    std::uint64_t low = 0, high = 0;
};
Pattern pattern_of(at::ScalarType type, const c10::Scalar& value) {
    Pattern pattern;
    const at::Tensor element = at::detail::empty_cpu({1}, type);
    at::native::fill_(const_cast<at::Tensor&>(element), value);
    std::memcpy(&pattern, element.const_data_ptr(), element.element_size());
    return pattern;
}

/// The 32-bit word to repeat in order to fill a contiguous range with the pattern, if there is one.
std::optional<std::uint32_t> repeated_word(const Pattern& pattern, std::size_t element_bytes) {
    const auto word = static_cast<std::uint32_t>(pattern.low);
    switch (element_bytes) {
    case 1:
        return (word & 0xffu) * 0x01010101u;
    case 2:
        return (word & 0xffffu) * 0x00010001u;
    case 4:
        return word;
    default: {
        const bool same = pattern.low >> 32 == word && (element_bytes == 8 || pattern.high == pattern.low);
        return same ? std::optional(word) : std::nullopt;
    }
    }
}

void fill(at::TensorIterator& iterator, const c10::Scalar& value) {
    if (iterator.numel() == 0)
        return;
    const std::size_t bytes = iterator.element_size(0);
    const Pattern pattern = pattern_of(iterator.dtype(0), value);
    const auto pointer = device_pointer(iterator.data_ptr(0));
    const std::uint64_t all = static_cast<std::uint64_t>(iterator.numel()) * bytes;
    const auto word = repeated_word(pattern, bytes);
    if (word && iterator.is_contiguous() && all % 4 == 0 && pointer.address % 4 == 0) {
        current_stream(iterator.device(0).index()).fill(pointer, all, *word);
        return;
    }
    kernels::CopyParameters p;
    p.low = pattern.low;
    p.high = pattern.high;
    const OperandLayout layout(iterator, std::array{0});
    launch_bytes(kernels::fill_bytes, iterator, layout, 1, p, std::array{writes(iterator, 0)});
}

at::Tensor& zero(at::Tensor& self) {
    return at::native::fill_(self, 0);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
    register_operator(m, "fill_.Scalar",
                      static_cast<at::Tensor& (*)(at::Tensor&, const at::Scalar&)>(&at::native::fill_));
    register_operator(m, "fill_.Tensor",
                      static_cast<at::Tensor& (*)(at::Tensor&, const at::Tensor&)>(&at::native::fill_));
    register_operator(m, "zero_", &zero);
}

const bool is_registered = (register_copy_on_device(&copy_on_device), true);

} // namespace

void copy_on_device(const at::Tensor& to, const at::Tensor& from) {
    if (to.numel() == 0)
        return;
    if (to.scalar_type() == from.scalar_type()) {
        copy_same_dtype(to, from);
        return;
    }
    if (to.is_complex() || from.is_complex()) {
        copy_complex(to, from);
        return;
    }
    at::TensorIterator iterator = iterator_of(to, from);
    try {
        compute_as(from.scalar_type(), iterator, Operation::identity);
    } catch (const c10::NotImplementedError&) {
        // No kernel supports this dtype: convert on the host, which strict mode rejects.
        to.copy_(from.to(at::kCPU).to(to.scalar_type()));
    }
}

} // namespace rvk

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(fill_stub, &rvk::fill)
} // namespace at::native
