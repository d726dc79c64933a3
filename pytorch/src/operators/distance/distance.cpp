/// Distances between all pairs of rows (kernels/distance/distance.slang).

#include "../../dispatch/launch.h"
#include "../../dispatch/limits.h"
#include "../../dispatch/structured.h"
#include "../reduction/reduction_launch.h"

#include <rekindle/kernels/ceil_div.h>
#include <rekindle/kernels/families/distance.h>
#include <rekindle/kernels/families/distance_float64.h>

#include <ATen/ExpandUtils.h>
#include <ATen/ops/_euclidean_dist.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <algorithm>
#include <cmath>
#include <limits>

namespace rvk {

namespace {

constexpr std::int64_t tile = 16; ///< as in the kernel

using Parameters = kernels::DistanceParameters;

std::uint32_t norm_of(double p) {
    enum Norm : std::uint32_t { nonzero, one, two, largest, any };
    return p == 0 ? nonzero : p == 1 ? one : p == 2 ? two : std::isinf(p) ? largest : any;
}

/// Two contiguous batches of matrices with the same number of columns.
struct Rows {
    at::Tensor first, second;
    std::int64_t batch = 0;
    double p = 2;

    std::int64_t first_rows() const { return first.size(-2); }
    std::int64_t second_rows() const { return second.size(-2); }
    std::int64_t columns() const { return first.size(-1); }
    bool is_wide() const { return first.scalar_type() == at::kDouble; }

    Parameters parameters(const at::Tensor& distances) const {
        Parameters result{};
        result.first = address(first);
        result.second = address(second);
        result.distances = address(distances);
        result.p = compute_bits(p, is_wide());
        result.batch = static_cast<std::uint32_t>(batch);
        result.first_rows = static_cast<std::uint32_t>(first_rows());
        result.second_rows = static_cast<std::uint32_t>(second_rows());
        result.columns = static_cast<std::uint32_t>(columns());
        return result;
    }
    kernels::DistanceConstants constants() const { return {.norm = norm_of(p)}; }
};

void require_kernel(const at::Tensor& first, const at::Tensor& second) {
    const auto type = first.scalar_type();
    TORCH_CHECK_NOT_IMPLEMENTED(type == second.scalar_type() && (type == at::kFloat || type == at::kDouble),
                                "cdist of ", type, " and ", second.scalar_type());
    require_float64(type, first.device());
    constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
    TORCH_CHECK_NOT_IMPLEMENTED(first.numel() <= most && second.numel() <= most, "cdist of 2^31 elements");
}

void measure(const Rows& rows, const at::Tensor& distances) {
    Parameters p = rows.parameters(distances);
    const std::int64_t groups =
        rows.batch * kernels::ceil_div(rows.first_rows(), tile) * kernels::ceil_div(rows.second_rows(), tile);
    in_ranges(rows.columns(), (most_iterations - 1) * tile, [&](std::uint32_t begin, std::uint32_t end) {
        p.begin = begin;
        p.end = end;
        launch(distances.device().index(),
               rows.is_wide() ? kernels::distances_float64.kernel : kernels::distances.kernel,
               linear_groups(groups, 1), std::as_bytes(std::span(&p, 1)),
               std::array{reads(rows.first), reads(rows.second), writes(distances)}, rows.constants());
    });
}

void measure_backward(const Rows& rows, const at::Tensor& gradient, const at::Tensor& distances,
                      const at::Tensor& result) {
    Parameters p = rows.parameters(distances);
    p.gradient = address(gradient);
    p.output = address(result);
    in_ranges(rows.second_rows(), most_iterations - 1, [&](std::uint32_t begin, std::uint32_t end) {
        p.begin = begin;
        p.end = end;
        launch(result.device().index(),
               rows.is_wide() ? kernels::distances_backward_float64.kernel
                              : kernels::distances_backward.kernel,
               linear_groups(result.numel(), 256), std::as_bytes(std::span(&p, 1)),
               std::array{reads(rows.first), reads(rows.second), reads(distances), reads(gradient),
                          writes(result)},
               rows.constants());
    });
}

at::Tensor matrices_of(const at::Tensor& tensor, at::IntArrayRef batch) {
    std::vector<std::int64_t> sizes = batch.vec();
    sizes.insert(sizes.end(), {tensor.size(-2), tensor.size(-1)});
    return tensor.expand(sizes).contiguous();
}

void check_rows(const at::Tensor& x1, const at::Tensor& x2, double p) {
    TORCH_CHECK(x1.dim() >= 2, "cdist only supports at least 2D tensors, X1 got: ", x1.dim(), "D");
    TORCH_CHECK(x2.dim() >= 2, "cdist only supports at least 2D tensors, X2 got: ", x2.dim(), "D");
    TORCH_CHECK(x1.size(-1) == x2.size(-1),
                "X1 and X2 must have the same number of columns. X1: ", x1.size(-1), " X2: ", x2.size(-1));
    TORCH_CHECK(at::isFloatingType(x1.scalar_type()),
                "cdist only supports floating-point dtypes, X1 got: ", x1.scalar_type());
    TORCH_CHECK(at::isFloatingType(x2.scalar_type()),
                "cdist only supports floating-point dtypes, X2 got: ", x2.scalar_type());
    TORCH_CHECK(p >= 0, "cdist only supports non-negative p values");
}

/// Whether PyTorch computes these distances with a matrix product, which is faster but less accurate.
bool uses_product(const Rows& rows, std::int64_t mode) {
    return rows.p == 2 && (mode == 1 || (mode == 0 && (rows.first_rows() > 25 || rows.second_rows() > 25)));
}

at::Tensor cdist(const at::Tensor& x1, const at::Tensor& x2, double p, std::optional<std::int64_t> mode) {
    check_rows(x1, x2, p);
    const std::int64_t chosen = mode.value_or(0);
    TORCH_CHECK(chosen >= 0 && chosen <= 2, "possible modes: 0, 1, 2, but was: ", chosen);
    require_kernel(x1, x2);
    const auto batch = at::infer_size(x1.sizes().slice(0, x1.dim() - 2), x2.sizes().slice(0, x2.dim() - 2));
    Rows rows{matrices_of(x1, batch), matrices_of(x2, batch), c10::multiply_integers(batch), p};
    std::vector<std::int64_t> sizes = batch;
    sizes.insert(sizes.end(), {rows.first_rows(), rows.second_rows()});
    if (c10::multiply_integers(sizes) == 0)
        return at::empty(sizes, x1.options());
    if (rows.columns() == 0)
        return at::zeros(sizes, x1.options());
    if (uses_product(rows, chosen)) {
        const at::Tensor distances =
            at::_euclidean_dist(rows.first.view({-1, rows.first_rows(), rows.columns()}),
                                rows.second.view({-1, rows.second_rows(), rows.columns()}));
        return distances.view(sizes);
    }
    at::Tensor distances = at::empty(sizes, x1.options());
    measure(rows, distances);
    return distances;
}

at::Tensor cdist_backward(const at::Tensor& grad, const at::Tensor& x1, const at::Tensor& x2, double p,
                          const at::Tensor& distances) {
    require_kernel(x1, x2);
    const auto batch = at::infer_size(x1.sizes().slice(0, x1.dim() - 2), x2.sizes().slice(0, x2.dim() - 2));
    const Rows rows{matrices_of(x1, batch), matrices_of(x2, batch), c10::multiply_integers(batch), p};
    if (rows.batch == 0 || rows.first_rows() == 0 || rows.second_rows() == 0 || rows.columns() == 0 || p == 0)
        return at::zeros_like(rows.first, at::MemoryFormat::Contiguous);
    at::Tensor result = at::empty(rows.first.sizes(), x1.options());
    measure_backward(rows, grad.contiguous(), distances.contiguous(), result);
    return result;
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
    register_operator(m, "_cdist_forward", &cdist);
    register_operator(m, "_cdist_backward", &cdist_backward);
}

} // namespace

} // namespace rvk
