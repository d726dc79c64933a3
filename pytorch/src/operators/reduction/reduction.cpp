/// Sums, means, products, extremes, norms, variances: PyTorch's own operators over the reductions of
/// kernels/reduction.

#include "../../dispatch/structured.h"
#include "reduction_launch.h"

#include <ATen/OpMathType.h>
#include <ATen/WrapDimUtils.h>
#include <ATen/WrapDimUtilsMulti.h>
#include <ATen/native/ReduceAllOps.h>
#include <ATen/native/ReduceOps.h>
#include <ATen/native/TensorCompare.h>
#include <ATen/ops/_aminmax_native.h>
#include <ATen/ops/all_native.h>
#include <ATen/ops/amax_native.h>
#include <ATen/ops/amin_native.h>
#include <ATen/ops/aminmax_native.h>
#include <ATen/ops/any_native.h>
#include <ATen/ops/argmax_native.h>
#include <ATen/ops/argmin_native.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/linalg_vector_norm_native.h>
#include <ATen/ops/max_native.h>
#include <ATen/ops/mean_native.h>
#include <ATen/ops/min_native.h>
#include <ATen/ops/nansum_native.h>
#include <ATen/ops/norm_native.h>
#include <ATen/ops/prod_native.h>
#include <ATen/ops/renorm_meta.h>
#include <ATen/ops/std_mean_native.h>
#include <ATen/ops/std_native.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/sum_native.h>
#include <ATen/ops/var_mean_native.h>
#include <ATen/ops/var_native.h>
#include <ATen/ops/where.h>
#include <cmath>

namespace rvk {

namespace {

template <Reduction operation>
void reduce_stub(at::TensorIterator& iterator) {
    reduce(reduction_of(iterator, operation));
}

void nansum_kernel(at::TensorIterator& iterator) {
    TORCH_CHECK_NOT_IMPLEMENTED(at::isFloatingType(iterator.dtype(0)), "nansum in ", iterator.dtype(0));
    reduce(reduction_of(iterator, Reduction::nan_sum));
}

void mean_kernel(at::TensorIterator& iterator) {
    const auto result = iterator.dtype(0);
    TORCH_CHECK(at::isFloatingType(result) || at::isComplexType(result),
                "mean(): a mean can't be cast to the desired output type ", result);
    const auto divisor =
        static_cast<double>(iterator.numel()) / static_cast<double>(iterator.num_output_elements());
    reduce(reduction_of(iterator, Reduction::mean, divisor));
}

void norm_kernel(at::TensorIterator& iterator, const at::Scalar& order) {
    const double p = order.toDouble();
    const Reduction operation = p == 0           ? Reduction::nonzero
                                : p == 1         ? Reduction::norm_1
                                : p == 2         ? Reduction::norm_2
                                : p == INFINITY  ? Reduction::norm_max
                                : p == -INFINITY ? Reduction::norm_min
                                                 : Reduction::norm_p;
    reduce(reduction_of(iterator, operation, p));
}

} // namespace

void variance_kernel(at::TensorIterator& iterator, double correction, bool take_root);
void variance_kernel(at::TensorIterator& iterator, double correction, bool take_root) {
    reduce(reduction_of(iterator, take_root ? Reduction::std : Reduction::variance, correction));
}

namespace {

/// The value and the index of the extreme along a dimension; scalars for a tensor without dimensions.
template <Reduction operation>
void extreme_with_index_kernel(const at::Tensor& values, const at::Tensor& indices, const at::Tensor& self,
                               std::int64_t dim, bool) {
    if (self.numel() == 0)
        return;
    const at::Tensor input = self.dim() == 0 ? self.reshape({1}) : self;
    dim = at::maybe_wrap_dim(dim, input.dim());
    // The kernel writes both results with the same strides.
    const bool same = values.strides() == indices.strides();
    const at::Tensor to = same ? values : at::empty(values.sizes(), values.options());
    const at::Tensor at_index = same ? indices : at::empty(indices.sizes(), indices.options());
    reduce(reduction_of(at_index, to, input, dim, operation));
    if (!same) {
        values.copy_(to);
        indices.copy_(at_index);
    }
}

template <Reduction operation>
void extreme_of_all_kernel(at::Tensor& result, const at::Tensor& self) {
    reduce(reduction_of(result, {}, self, -1, operation));
}

void extremes_kernel(const at::Tensor& self, std::int64_t dim, bool, at::Tensor& smallest,
                     at::Tensor& largest) {
    const at::Tensor input = self.dim() == 0 ? self.reshape({1}) : self;
    const bool same = smallest.strides() == largest.strides();
    const at::Tensor other = same ? largest : at::empty(smallest.sizes(), smallest.options());
    reduce(reduction_of(smallest, other, input, at::maybe_wrap_dim(dim, input.dim()), Reduction::extremes));
    if (!same)
        largest.copy_(other);
}

void extremes_of_all_kernel(const at::Tensor& self, at::Tensor& smallest, at::Tensor& largest) {
    reduce(reduction_of(smallest, largest, self, -1, Reduction::extremes));
}

at::Tensor count_nonzero(const at::Tensor& self, at::IntArrayRef dims) {
    const auto mask = at::dim_list_to_bitset(dims.empty() ? at::OptionalIntArrayRef() : dims, self.dim());
    c10::SmallVector<std::int64_t, 8> sizes;
    for (std::int64_t d = 0; d < self.dim(); ++d)
        if (!mask[static_cast<std::size_t>(d)])
            sizes.push_back(self.size(d));
    const at::Tensor result = at::empty(sizes, self.options().dtype(at::kLong));
    ReductionRequest request{Reduction::nonzero, 0, self, result, {}, {}};
    std::int64_t to = 0;
    for (std::int64_t d = 0; d < self.dim(); ++d) {
        const bool reduced = mask[static_cast<std::size_t>(d)];
        request.dimensions.push_back(
            {self.size(d), self.stride(d), reduced ? 0 : result.stride(to), reduced});
        to += reduced ? 0 : 1;
    }
    reduce(request);
    return result;
}

/// Scales slices along `dim` whose norm exceeds `largest` down to it.
struct Renorm : at::meta::structured_renorm {
    void impl(const at::Tensor& self, const at::Scalar& p, std::int64_t dim, const at::Scalar& largest,
              const at::Tensor& out) {
        dim = at::maybe_wrap_dim(dim, self.dim());
        c10::SmallVector<std::int64_t, 8> others;
        for (std::int64_t d = 0; d < self.dim(); ++d)
            if (d != dim)
                others.push_back(d);
        const auto type = at::toOpMathType(self.scalar_type());
        const at::Tensor norm = at::linalg_vector_norm(self, p, others, true, type);
        const at::Tensor scaled = norm.add(1e-7).reciprocal().mul(largest);
        out.copy_(self.mul(at::where(norm.gt(largest), scaled, at::Scalar(1.0)).to(self.scalar_type())));
    }
};

bool equal(const at::Tensor& self, const at::Tensor& other) {
    TORCH_CHECK(self.device() == other.device(), "Expected all tensors to be on the same device, but found ",
                self.device(), " and ", other.device());
    TORCH_CHECK(self.scalar_type() == other.scalar_type(), "Expected object of data type ",
                self.scalar_type(), " but got data type ", other.scalar_type(),
                " for argument 'other' in call to equal");
    if (self.sizes() != other.sizes())
        return false;
    if (self.numel() == 0)
        return true;
    const AllowCopyToHost allow("the result is a bool of the host");
    return self.eq(other).all().item<bool>();
}

#if !RVK_REGISTERS_VARIANCE // variance.cpp does
at::Tensor variance(const at::Tensor& self, at::OptionalIntArrayRef dim,
                    const std::optional<at::Scalar>& correction, bool keepdim) {
    return at::native::var(self, dim, correction, keepdim);
}
at::Tensor& variance_out(const at::Tensor& self, at::OptionalIntArrayRef dim,
                         const std::optional<at::Scalar>& correction, bool keepdim, at::Tensor& out) {
    return at::native::var_out(self, dim, correction, keepdim, out);
}
at::Tensor std_correction(const at::Tensor& self, at::OptionalIntArrayRef dim,
                          const std::optional<at::Scalar>& correction, bool keepdim) {
    return at::native::std(self, dim, correction, keepdim);
}
at::Tensor& std_correction_out(const at::Tensor& self, at::OptionalIntArrayRef dim,
                               const std::optional<at::Scalar>& correction, bool keepdim, at::Tensor& out) {
    return at::native::std_out(self, dim, correction, keepdim, out);
}
std::tuple<at::Tensor, at::Tensor> variance_mean(const at::Tensor& self, at::OptionalIntArrayRef dim,
                                                 const std::optional<at::Scalar>& correction, bool keepdim) {
    return at::native::var_mean(self, dim, correction, keepdim);
}
std::tuple<at::Tensor, at::Tensor> std_mean_correction(const at::Tensor& self, at::OptionalIntArrayRef dim,
                                                       const std::optional<at::Scalar>& correction,
                                                       bool keepdim) {
    return at::native::std_mean(self, dim, correction, keepdim);
}
#endif
at::Tensor maximum_of_all(const at::Tensor& self) {
    return at::native::max(self);
}
at::Tensor& maximum_of_all_out(const at::Tensor& self, at::Tensor& out) {
    return at::native::max_unary_out(self, out);
}
at::Tensor minimum_of_all(const at::Tensor& self) {
    return at::native::min(self);
}
at::Tensor& minimum_of_all_out(const at::Tensor& self, at::Tensor& out) {
    return at::native::min_unary_out(self, out);
}
/// Like CUDA, also sums complex numbers.
at::Tensor nansum(const at::Tensor& self, at::OptionalIntArrayRef dim, bool keepdim,
                  std::optional<at::ScalarType> dtype) {
    if (self.is_complex())
        return at::sum(self.masked_fill(self.isnan(), 0), dim, keepdim, dtype);
    return at::native::nansum(self, dim, keepdim, dtype);
}
at::Tensor product_of_all(const at::Tensor& self, std::optional<at::ScalarType> dtype) {
    return at::native::prod(self, dtype);
}

void register_sums(torch::Library& m) {
    register_structured<at::native::structured_sum_out>(m, "sum.dim_IntList", "sum.IntList_out");
    register_structured<at::native::structured_mean_out>(m, "mean.dim", "mean.out");
    register_structured<at::native::structured_prod_out>(m, "prod.dim_int", "prod.int_out");
    register_operator(m, "prod", &product_of_all);
    register_operator(m, "nansum", &nansum);
    register_operator(m, "nansum.out", &at::native::nansum_out);
    register_operator(m, "count_nonzero.dim_IntList", &count_nonzero);
#if !RVK_REGISTERS_VARIANCE
    register_operator(m, "var.correction", &variance);
    register_operator(m, "var.correction_out", &variance_out);
    register_operator(m, "std.correction", &std_correction);
    register_operator(m, "std.correction_out", &std_correction_out);
    register_operator(m, "var_mean.correction", &variance_mean);
    register_operator(m, "std_mean.correction", &std_mean_correction);
#endif
    register_structured<at::native::structured_norm_out>(m, "norm.ScalarOpt_dim", "norm.out");
    register_structured<at::native::structured_norm_dtype_out>(m, "norm.ScalarOpt_dim_dtype",
                                                               "norm.dtype_out");
    register_structured<at::native::structured_linalg_vector_norm_out>(m, "linalg_vector_norm",
                                                                       "linalg_vector_norm.out");
    register_structured<Renorm>(m, "renorm", "renorm.out", "renorm_");
}

void register_extremes(torch::Library& m) {
    register_structured<at::native::structured_amax_out>(m, "amax", "amax.out");
    register_structured<at::native::structured_amin_out>(m, "amin", "amin.out");
    register_structured<at::native::structured_argmax_out>(m, "argmax", "argmax.out");
    register_structured<at::native::structured_argmin_out>(m, "argmin", "argmin.out");
    register_structured<at::native::structured_max_out, 2>(m, "max.dim", "max.dim_max");
    register_structured<at::native::structured_min_out, 2>(m, "min.dim", "min.dim_min");
    register_structured<at::native::structured_aminmax_out, 2>(m, "aminmax", "aminmax.out");
    register_operator(
        m, "_aminmax",
        static_cast<std::tuple<at::Tensor, at::Tensor> (*)(const at::Tensor&)>(&at::native::_aminmax_all));
    register_operator(
        m, "_aminmax.dim",
        static_cast<std::tuple<at::Tensor, at::Tensor> (*)(const at::Tensor&, std::int64_t, bool)>(
            &at::native::_aminmax));
    register_operator(m, "max", &maximum_of_all);
    register_operator(m, "max.unary_out", &maximum_of_all_out);
    register_operator(m, "min", &minimum_of_all);
    register_operator(m, "min.unary_out", &minimum_of_all_out);
    register_operator(m, "equal", &equal);
    register_structured<at::native::structured_any_out>(m, "any.dim", "any.out");
    register_structured<at::native::structured_any_dims_out>(m, "any.dims", "any.dims_out");
    register_structured<at::native::structured_any_all_out>(m, "any", "any.all_out");
    register_structured<at::native::structured_all_out>(m, "all.dim", "all.out");
    register_structured<at::native::structured_all_dims_out>(m, "all.dims", "all.dims_out");
    register_structured<at::native::structured_all_all_out>(m, "all", "all.all_out");
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
    register_sums(m);
    register_extremes(m);
}

} // namespace
} // namespace rvk

namespace at::native {
using rvk::Reduction;
REGISTER_PRIVATEUSE1_DISPATCH(sum_stub, &rvk::reduce_stub<Reduction::sum>)
REGISTER_PRIVATEUSE1_DISPATCH(nansum_stub, &rvk::nansum_kernel)
REGISTER_PRIVATEUSE1_DISPATCH(prod_stub, &rvk::reduce_stub<Reduction::product>)
REGISTER_PRIVATEUSE1_DISPATCH(mean_stub, &rvk::mean_kernel)
REGISTER_PRIVATEUSE1_DISPATCH(and_stub, &rvk::reduce_stub<Reduction::all>)
REGISTER_PRIVATEUSE1_DISPATCH(or_stub, &rvk::reduce_stub<Reduction::any>)
REGISTER_PRIVATEUSE1_DISPATCH(min_values_stub, &rvk::reduce_stub<Reduction::minimum>)
REGISTER_PRIVATEUSE1_DISPATCH(max_values_stub, &rvk::reduce_stub<Reduction::maximum>)
REGISTER_PRIVATEUSE1_DISPATCH(argmax_stub, &rvk::reduce_stub<Reduction::argmax>)
REGISTER_PRIVATEUSE1_DISPATCH(argmin_stub, &rvk::reduce_stub<Reduction::argmin>)
REGISTER_PRIVATEUSE1_DISPATCH(norm_stub, &rvk::norm_kernel)
REGISTER_PRIVATEUSE1_DISPATCH(std_var_stub, &rvk::variance_kernel)
REGISTER_PRIVATEUSE1_DISPATCH(max_stub, &rvk::extreme_with_index_kernel<Reduction::argmax>)
REGISTER_PRIVATEUSE1_DISPATCH(min_stub, &rvk::extreme_with_index_kernel<Reduction::argmin>)
REGISTER_PRIVATEUSE1_DISPATCH(max_all_stub, &rvk::extreme_of_all_kernel<Reduction::maximum>)
REGISTER_PRIVATEUSE1_DISPATCH(min_all_stub, &rvk::extreme_of_all_kernel<Reduction::minimum>)
REGISTER_PRIVATEUSE1_DISPATCH(aminmax_stub, &rvk::extremes_kernel)
REGISTER_PRIVATEUSE1_DISPATCH(aminmax_allreduce_stub, &rvk::extremes_of_all_kernel)
} // namespace at::native
