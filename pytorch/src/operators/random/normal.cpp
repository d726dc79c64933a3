/// Normally distributed numbers whose mean or standard deviation is a tensor.

#include "../../dispatch/structured.h"
#include "../lib/value_checks.h"

#include <ATen/ExpandUtils.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/empty.h>

namespace rvk {

namespace {

using Generator = std::optional<at::Generator>;

void check_stds(const at::Tensor& stds) {
    TORCH_CHECK(!stds.is_complex(), "normal expects standard deviation to be non-complex");
    if (stds.numel() != 0)
        assert_nonzero(stds.ge(0).all(), "normal expects all elements of std >= 0.0");
}
void check_std(double std) {
    TORCH_CHECK(std >= 0.0, "normal expects std >= 0.0, but found std ", std);
}
/// Leaves complex numbers to the CPU.
void require_real(const at::Tensor& tensor) {
    TORCH_CHECK_NOT_IMPLEMENTED(at::isFloatingType(tensor.scalar_type()), "normal numbers of ",
                                tensor.scalar_type());
}

at::Tensor& of_mean_out(const at::Tensor& mean, double std, Generator generator, at::Tensor& out) {
    require_real(out);
    check_std(std);
    const at::Tensor kept = out.is_alias_of(mean) ? mean.clone() : mean;
    at::native::resize_output(out, mean.sizes());
    return out.normal_(0, std, std::move(generator)).add_(kept);
}
at::Tensor of_mean(const at::Tensor& mean, double std, Generator generator) {
    at::Tensor out = at::empty(mean.sizes(), mean.options());
    return of_mean_out(mean, std, std::move(generator), out);
}

at::Tensor& of_std_out(double mean, const at::Tensor& std, Generator generator, at::Tensor& out) {
    require_real(out);
    check_stds(std);
    const at::Tensor kept = out.is_alias_of(std) ? std.clone() : std;
    at::native::resize_output(out, std.sizes());
    return out.normal_(0, 1, std::move(generator)).mul_(kept).add_(mean);
}
at::Tensor of_std(double mean, const at::Tensor& std, Generator generator) {
    at::Tensor out = at::empty(std.sizes(), std.options());
    return of_std_out(mean, std, std::move(generator), out);
}

at::Tensor& of_both_out(const at::Tensor& mean, const at::Tensor& std, Generator generator, at::Tensor& out) {
    require_real(out);
    check_stds(std);
    const at::Tensor means = out.is_alias_of(mean) ? mean.clone() : mean;
    const at::Tensor stds = out.is_alias_of(std) ? std.clone() : std;
    at::native::resize_output(out, at::infer_size(mean.sizes(), std.sizes()));
    return out.normal_(0, 1, std::move(generator)).mul_(stds).add_(means);
}
at::Tensor of_both(const at::Tensor& mean, const at::Tensor& std, Generator generator) {
    at::Tensor out = at::empty({0}, mean.options());
    return of_both_out(mean, std, std::move(generator), out);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
    register_operator(m, "normal.Tensor_float", &of_mean);
    register_operator(m, "normal.Tensor_float_out", &of_mean_out);
    register_operator(m, "normal.float_Tensor", &of_std);
    register_operator(m, "normal.float_Tensor_out", &of_std_out);
    register_operator(m, "normal.Tensor_Tensor", &of_both);
    register_operator(m, "normal.Tensor_Tensor_out", &of_both_out);
}

} // namespace

} // namespace rvk
