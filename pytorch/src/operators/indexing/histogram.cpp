/// bincount and histc (kernels/indexing/counting.slang). histc of integers gives CUDA's results, because the
/// CPU has no kernel for integers.

#include "../../dispatch/launch.h"
#include "../../dispatch/structured.h"
#include "counting.h"

#include <rekindle/kernels/families/counting.h>

#include <ATen/native/Resize.h>
#include <ATen/ops/aminmax.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <algorithm>
#include <cmath>
#include <limits>

namespace rvk {

namespace {

constexpr std::int64_t shared_bins = 2048; ///< as in the kernel
constexpr std::uint32_t items_of_group = 16 * 256;

} // namespace

at::Tensor counts_of(const at::Tensor& numbers, std::int64_t bins) {
    TORCH_CHECK_NOT_IMPLEMENTED(numbers.numel() <= std::numeric_limits<std::int32_t>::max() &&
                                    bins <= std::numeric_limits<std::int32_t>::max(),
                                "counting 2^31 numbers");
    const at::Tensor counts = at::zeros({bins}, numbers.options().dtype(at::kInt));
    const at::Tensor dense = numbers.contiguous();
    if (dense.numel() != 0 && bins != 0) {
        kernels::CountingParameters p{};
        p.numbers = address(dense);
        p.counts = address(counts);
        p.count = static_cast<std::uint32_t>(dense.numel());
        p.bins = static_cast<std::uint32_t>(bins);
        const bool few = bins <= shared_bins;
        launch(dense.device(), few ? kernels::count_few_numbers : kernels::count_numbers,
               linear_groups(dense.numel(), few ? items_of_group : 256), p, {reads(dense), writes(counts)},
               {.input_dtype = dtype_code(dense.scalar_type())});
    }
    return counts.to(at::kLong);
}

namespace {

/// Returns the smallest and the largest element, copied to the host.
template <class T>
std::pair<T, T> extremes_of(const at::Tensor& self) {
    const AllowCopyToHost allow("the bins depend on values");
    const auto [smallest, largest] = self.aminmax();
    const at::Tensor both = at::stack({smallest, largest}).cpu().to(c10::CppTypeToScalarType<T>::value);
    return {both.template const_data_ptr<T>()[0], both.template const_data_ptr<T>()[1]};
}

at::Tensor bincount(const at::Tensor& self, const std::optional<at::Tensor>& weights,
                    std::int64_t minimum_length) {
    TORCH_CHECK_NOT_IMPLEMENTED(at::isIntegralType(self.scalar_type(), /*includeBool=*/false), "bincount of ",
                                self.scalar_type());
    TORCH_CHECK(minimum_length >= 0, "minlength should be >= 0");
    if (self.dim() == 1 && self.numel() == 0)
        return at::zeros({minimum_length}, self.options().dtype(at::kLong));
    const char* const expected = "bincount only supports 1-d non-negative integral inputs.";
    TORCH_CHECK(self.dim() == 1, expected);
    const bool weighted = weights && weights->defined();
    TORCH_CHECK(!weighted || (weights->dim() == 1 && weights->size(0) == self.size(0)),
                "weights should be 1-d and have the same length as input");
    const auto [smallest, largest] = extremes_of<std::int64_t>(self);
    TORCH_CHECK(smallest >= 0, expected);
    const std::int64_t bins = std::max(largest + 1, minimum_length);
    if (!weighted)
        return counts_of(self, bins);
    const auto type = weights->scalar_type() == at::kFloat ? at::kFloat : at::kDouble;
    require_float64(type, self.device());
    return at::zeros({bins}, weights->options().dtype(type))
        .index_add_(0, self.to(at::kLong), weights->to(type));
}

/// The smallest and the largest number that is counted.
std::pair<std::int64_t, std::int64_t> counted_integers(const at::Tensor& self, const at::Scalar& min,
                                                       const at::Scalar& max) {
    std::int64_t low = min.toLong(), high = max.toLong();
    if (low == high && self.numel() > 0)
        std::tie(low, high) = extremes_of<std::int64_t>(self);
    if (low == high) {
        --low;
        ++high;
    }
    TORCH_CHECK(low < high, "torch.histc: max must be larger than min");
    return {low, high};
}
at::Tensor bins_of_integers(const at::Tensor& self, std::int64_t bins, const at::Scalar& min,
                            const at::Scalar& max) {
    const auto [low, high] = counted_integers(self, min, max);
    const at::Tensor values = self.to(at::kLong);
    const at::Tensor counted = values.ge(low).logical_and_(values.le(high));
    const at::Tensor bin = values.sub(low).mul_(bins).div_(high - low, "floor").clamp_max_(bins - 1);
    return at::where(counted, bin, -1);
}

/// Rounds the number to the dtype.
double rounded_to(at::ScalarType type, double value) {
    switch (type) {
    case at::kHalf:
        return static_cast<double>(c10::Half(static_cast<float>(value)));
    case at::kBFloat16:
        return static_cast<double>(c10::BFloat16(static_cast<float>(value)));
    case at::kFloat:
        return static_cast<double>(static_cast<float>(value));
    default:
        return value;
    }
}
std::pair<double, double> counted_reals(const at::Tensor& self, const at::Scalar& min,
                                        const at::Scalar& max) {
    double low = min.toDouble(), high = max.toDouble();
    if (low == high && self.numel() > 0)
        std::tie(low, high) = extremes_of<double>(self);
    TORCH_CHECK(std::isfinite(low) && std::isfinite(high), "torch.histc: range of [", low, ", ", high,
                "] is not finite");
    if (low == high) {
        low -= 1;
        high += 1;
    }
    TORCH_CHECK(low < high, "torch.histc: max must be larger than min");
    return {low, high};
}
/// Rounds as the CPU does, which computes in the tensor's dtype.
at::Tensor bins_of_reals(const at::Tensor& self, std::int64_t bins, const at::Scalar& min,
                         const at::Scalar& max) {
    const auto type = self.scalar_type();
    auto [low, high] = counted_reals(self, min, max);
    low = rounded_to(type, low);
    high = rounded_to(type, high);
    const at::Tensor counted = self.ge(low).logical_and_(self.le(high));
    const at::Tensor bin = self.sub(low).mul_(bins).div_(rounded_to(type, high - low));
    return at::where(counted, bin.to(at::kInt).clamp_max_(bins - 1), -1);
}

at::Tensor histogram(const at::Tensor& self, std::int64_t bins, const at::Scalar& min,
                     const at::Scalar& max) {
    const bool integers = at::isIntegralType(self.scalar_type(), /*includeBool=*/false);
    TORCH_CHECK_NOT_IMPLEMENTED(integers || at::isFloatingType(self.scalar_type()), "histc of ",
                                self.scalar_type());
    require_float64(self.scalar_type(), self.device());
    TORCH_CHECK(bins > 0, "torch.histogram(): bins must be > 0, but got ", bins, " for dimension 0");
    const at::Tensor flat = self.reshape({-1});
    const at::Tensor bin =
        integers ? bins_of_integers(flat, bins, min, max) : bins_of_reals(flat, bins, min, max);
    return counts_of(bin, bins).to(self.scalar_type());
}
at::Tensor& histogram_out(const at::Tensor& self, std::int64_t bins, const at::Scalar& min,
                          const at::Scalar& max, at::Tensor& out) {
    const at::Tensor counts = histogram(self, bins, min, max);
    TORCH_CHECK(out.scalar_type() == self.scalar_type(), "torch.histc(): expected out to have dtype ",
                self.scalar_type(), ", but got ", out.scalar_type());
    at::native::resize_output(out, counts.sizes());
    return out.copy_(counts);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
    register_operator(m, "bincount", &bincount);
    register_operator(m, "histc", &histogram);
    register_operator(m, "histc.out", &histogram_out);
}

} // namespace

} // namespace rvk
