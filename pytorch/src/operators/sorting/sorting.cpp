/// sort, topk, kthvalue, median, randperm.

#include "sorting.h"

#include "../../dispatch/launch.h"
#include "../../dispatch/structured.h"

#include <rekindle/kernels/families/sorting.h>

#include <ATen/native/Resize.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mode.h>
#include <ATen/ops/sort_meta.h>
#include <ATen/ops/topk_meta.h>
#include <vector>

namespace rvk {

namespace {

using Pair = std::tuple<at::Tensor, at::Tensor>;
using PairOut = std::tuple<at::Tensor&, at::Tensor&>;

/// Calls function(values, indices) with contiguous tensors and copies the results to the given ones if those
/// are different tensors.
template <class F>
void with_contiguous_outputs(const at::Tensor& values, const at::Tensor& indices, F&& function) {
    with_contiguous_output(values, [&](const at::Tensor& to) {
        with_contiguous_output(indices, [&](const at::Tensor& at_index) { function(to, at_index); });
    });
}

struct Sort : at::meta::structured_sort_stable {
    void impl(const at::Tensor& self, std::optional<bool>, std::int64_t dim, bool descending,
              const at::Tensor& values, const at::Tensor& indices) {
        const at::Tensor input = self.contiguous();
        const std::int64_t size = self.dim() == 0 ? 1 : self.size(at::maybe_wrap_dim(dim, self.dim()));
        with_contiguous_outputs(values, indices, [&](const at::Tensor& to, const at::Tensor& at_index) {
            sort_lines(input, dim, descending, 0, size, to, at_index);
        });
    }
};

struct TopK : at::meta::structured_topk {
    void impl(const at::Tensor& self, std::int64_t k, std::int64_t dim, bool largest, bool,
              const at::Tensor& values, const at::Tensor& indices) {
        const at::Tensor input = self.contiguous();
        with_contiguous_outputs(values, indices, [&](const at::Tensor& to, const at::Tensor& at_index) {
            sort_lines(input, dim, largest, 0, self.dim() == 0 ? 1 : k, to, at_index);
        });
    }
};

std::vector<std::int64_t> without(const at::Tensor& self, std::int64_t dim, bool keepdim) {
    auto sizes = self.sizes().vec();
    if (keepdim)
        sizes[static_cast<std::size_t>(dim)] = 1;
    else
        sizes.erase(sizes.begin() + dim);
    return sizes;
}

/// Resizes both to `sizes` and copies these tensors' elements into them; the number of elements is the same.
void give(const at::Tensor& values, const at::Tensor& indices, at::IntArrayRef sizes, at::Tensor& to_values,
          at::Tensor& to_indices) {
    at::native::resize_output(to_values, sizes);
    at::native::resize_output(to_indices, sizes);
    to_values.copy_(values.reshape(sizes));
    to_indices.copy_(indices.reshape(sizes));
}

void check_outputs(const at::Tensor& self, const at::Tensor& values, const at::Tensor& indices) {
    TORCH_CHECK(values.scalar_type() == self.scalar_type(), "expected scalar type '", self.scalar_type(),
                "' but got '", values.scalar_type(), "' for values output");
    TORCH_CHECK(indices.scalar_type() == at::kLong, "expected scalar type 'Long' but got '",
                indices.scalar_type(), "' for indices output");
}

PairOut kth_value(const at::Tensor& self, std::int64_t k, std::int64_t dim, bool keepdim, at::Tensor& values,
                  at::Tensor& indices) {
    check_outputs(self, values, indices);
    at::assert_no_overlap(self, values);
    const bool scalar = self.dim() == 0;
    const at::Tensor input = scalar ? self.reshape({1}) : self.contiguous();
    dim = at::maybe_wrap_dim(dim, input.dim());
    TORCH_CHECK_NOT_IMPLEMENTED(input.scalar_type() != at::kBool,
                                "kthvalue of bool"); // as on the CPU
    TORCH_CHECK_INDEX(input.size(dim) != 0, "kthvalue(): Expected reduction dim ", dim,
                      " to have non-zero size.");
    TORCH_CHECK(k >= 1 && k <= input.size(dim), "kthvalue(): selected number k out of range for dimension ",
                dim);
    auto sizes = input.sizes().vec();
    sizes[static_cast<std::size_t>(dim)] = 1;
    const at::Tensor found = at::empty(sizes, input.options());
    const at::Tensor places = at::empty(sizes, input.options().dtype(at::kLong));
    sort_lines(input, dim, false, k - 1, 1, found, places);
    give(found, places, scalar ? std::vector<std::int64_t>() : without(self, dim, keepdim), values, indices);
    return {values, indices};
}

void medians_of_short_lines(const SortedLines& lines, bool ignores_nan) {
    const at::Tensor& input = lines.input;
    const at::Tensor sorted = at::empty(input.sizes(), input.options());
    const at::Tensor order = at::empty(input.sizes(), input.options().dtype(at::kLong));
    sort_lines(input, -1, false, 0, lines.lines.size, sorted, order);
    kernels::SortingParameters p{};
    p.input = address(sorted);
    p.sorter = address(order);
    p.values = address(lines.values);
    p.indices = lines.indices.defined() ? address(lines.indices) : 0;
    p.lines = static_cast<std::uint32_t>(lines.lines.lines);
    p.size = static_cast<std::uint32_t>(lines.lines.size);
    c10::SmallVector<Access, 4> accesses{reads(sorted), reads(order), writes(lines.values)};
    if (lines.indices.defined())
        accesses.push_back(writes(lines.indices));
    launch(input.device(), kernels::median_of_sorted, linear_groups(p.lines, 256), p, accesses,
           {.input_type = dtype_code(input.scalar_type()), .ignores_nan = ignores_nan ? 1u : 0u});
}

/// Writes the lower medians along the last dimension of a contiguous tensor to contiguous tensors with one
/// element per line.
void medians(const at::Tensor& input, bool ignores_nan, const at::Tensor& values, const at::Tensor& indices) {
    const SortedLines lines{
        .input = input, .lines = Lines(input, -1), .kept = 1, .values = values, .indices = indices};
    if (lines.lines.size > longest_run)
        select_medians(lines, ignores_nan);
    else
        medians_of_short_lines(lines, ignores_nan);
}

template <bool ignores_nan>
at::Tensor median_of_all(const at::Tensor& self) {
    TORCH_CHECK_NOT_IMPLEMENTED(self.numel() > 0, "the median of no elements");
    TORCH_CHECK_NOT_IMPLEMENTED(self.scalar_type() != at::kBool,
                                "the median of bool"); // as on the CPU
    const at::Tensor value = at::empty({}, self.options());
    medians(self.reshape({-1}).contiguous(), ignores_nan, value, {});
    return value;
}

template <bool ignores_nan>
PairOut median_along(const at::Tensor& self, std::int64_t dim, bool keepdim, at::Tensor& values,
                     at::Tensor& indices) {
    check_outputs(self, values, indices);
    TORCH_CHECK_NOT_IMPLEMENTED(self.numel() > 0, "the median of no elements");
    TORCH_CHECK_NOT_IMPLEMENTED(self.scalar_type() != at::kBool,
                                "the median of bool"); // as on the CPU
    const bool scalar = self.dim() == 0;
    const at::Tensor whole = scalar ? self.reshape({1}) : self;
    dim = at::maybe_wrap_dim(dim, whole.dim());
    const at::Tensor input = whole.movedim(dim, -1).contiguous();
    const std::int64_t lines = input.numel() / input.size(-1);
    const at::Tensor found = at::empty({lines}, input.options());
    const at::Tensor places = at::empty({lines}, input.options().dtype(at::kLong));
    medians(input, ignores_nan, found, places);
    give(found, places, scalar ? std::vector<std::int64_t>() : without(self, dim, keepdim), values, indices);
    return {values, indices};
}

/// PyTorch's own function rejects this device.
PairOut mode_out(const at::Tensor& self, std::int64_t dim, bool keepdim, at::Tensor& values,
                 at::Tensor& indices) {
    check_outputs(self, values, indices);
    const auto [found, places] = at::mode(self, dim, keepdim);
    give(found, places, found.sizes(), values, indices);
    return {values, indices};
}

/// The order that sorts random keys.
at::Tensor& random_permutation(std::int64_t n, std::optional<at::Generator> generator, at::Tensor& result) {
    TORCH_CHECK(n >= 0, "n must be non-negative, got", n);
    const auto dtype = result.scalar_type();
    TORCH_CHECK_NOT_IMPLEMENTED(at::isFloatingType(dtype) ||
                                    (dtype != at::kBool && dtype_code(dtype) <= dtype_code(at::kLong)),
                                "permutations in ", dtype);
    at::native::resize_output(result, {n});
    if (n == 0)
        return result;
    at::Tensor keys = at::empty({n}, result.options().dtype(at::kLong));
    keys.random_(std::move(generator));
    const at::Tensor sorted = at::empty({n}, keys.options()), order = at::empty({n}, keys.options());
    sort_lines(keys, 0, false, 0, n, sorted, order);
    result.copy_(order);
    return result;
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
    register_structured<Sort, 2>(m, "sort.stable", "sort.values_stable");
    register_structured<TopK, 2>(m, "topk", "topk.values");
    register_operator(m, "kthvalue.values", &kth_value);
    register_operator(m, "median", &median_of_all<false>);
    register_operator(m, "nanmedian", &median_of_all<true>);
    register_operator(m, "median.dim_values", &median_along<false>);
    register_operator(m, "nanmedian.dim_values", &median_along<true>);
    register_operator(m, "mode.values", &mode_out);
    register_operator(m, "randperm.generator_out", &random_permutation);
}

} // namespace
} // namespace rvk
