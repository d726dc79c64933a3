/// histc for integers, with CUDA's results; the CPU has no kernel for integers and handles floating-point
/// numbers.

#include "../dispatch/structured.h"

#include <ATen/native/Resize.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

namespace rvk {

namespace {

/// The smallest and the largest number that is counted.
std::pair<std::int64_t, std::int64_t> counted_range(const at::Tensor& self, const at::Scalar& min,
                                                    const at::Scalar& max) {
    std::int64_t low = min.toLong(), high = max.toLong();
    if (low == high && self.numel() > 0) {
        const AllowCopyToHost allow("the range depends on values");
        low = self.min().item().toLong();
        high = self.max().item().toLong();
    }
    if (low == high) {
        --low;
        ++high;
    }
    TORCH_CHECK(low < high, "torch.histc: max must be larger than min");
    return {low, high};
}

at::Tensor histogram(const at::Tensor& self, std::int64_t bins, const at::Scalar& min,
                     const at::Scalar& max) {
    TORCH_CHECK_NOT_IMPLEMENTED(at::isIntegralType(self.scalar_type(), /*includeBool=*/false), "histc of ",
                                self.scalar_type());
    TORCH_CHECK(bins > 0, "torch.histc(): bins must be > 0, but got ", bins);
    const auto [low, high] = counted_range(self, min, max);
    const at::Tensor counts = at::zeros({bins}, self.options().dtype(at::kLong));
    if (self.numel() == 0)
        return counts.to(self.scalar_type());
    const at::Tensor values = self.reshape({-1}).to(at::kLong);
    const at::Tensor counted = values.ge(low).logical_and_(values.le(high));
    const at::Tensor bin =
        values.sub(low).mul_(bins).div_(high - low, "floor").clamp_(0, bins - 1).mul_(counted);
    counts.index_add_(0, bin, counted.to(at::kLong));
    return counts.to(self.scalar_type());
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
    register_operator(m, "histc", &histogram);
    register_operator(m, "histc.out", &histogram_out);
}

} // namespace

} // namespace rvk
