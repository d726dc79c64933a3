/// arange, linspace, eye.

#include "../../dispatch/structured.h"
#include "../lib/layout.h"

#include <rekindle/kernels/families/sequence.h>
#include <rekindle/kernels/families/sequence_float64.h>

#include <ATen/TensorIterator.h>
#include <ATen/native/RangeFactories.h>
#include <ATen/ops/arange_native.h>
#include <ATen/ops/linspace_native.h>
#include <bit>
#include <torch/library.h>

namespace rvk {

namespace {

/// A number as the sum of two numbers of the type that the kernel computes in.
struct Pair {
    std::uint64_t high, low;
};
Pair pair_of(double value, bool float64) {
    if (float64)
        return {std::bit_cast<std::uint64_t>(value), 0};
    const auto high = static_cast<float>(value);
    const auto low = static_cast<float>(value - static_cast<double>(high));
    return {std::bit_cast<std::uint32_t>(high), std::bit_cast<std::uint32_t>(low)};
}

template <class P>
void launch_sequence(const kernels::TypedKernel<P>& kernel, const at::TensorIteratorBase& iterator, P p,
                     bool from_both_ends) {
    const std::array<int, 1> operands{0};
    const OperandLayout layout(iterator, operands);
    p.output = address(iterator, 0);
    p.count = static_cast<std::uint64_t>(iterator.numel());
    const UploadedBlock layout_block = layout.fill(p, iterator.device(0).index());
    launch(iterator.device(0), kernel, linear_groups(iterator.numel(), 256), p, {writes(iterator, 0)},
           {.layout = static_cast<std::uint32_t>(layout.kind()),
            .output_dtype = dtype_code(iterator.dtype(0)),
            .from_both_ends = from_both_ends ? 1u : 0u});
}

template <class P>
void launch_real(const kernels::TypedKernel<P>& kernel, const at::TensorIteratorBase& iterator, double start,
                 double step, std::optional<double> end) {
    const bool float64 = iterator.dtype(0) == at::kDouble;
    P p;
    const auto set = [&](double value, std::uint64_t& high, std::uint64_t& low) {
        const Pair pair = pair_of(value, float64);
        high = pair.high;
        low = pair.low;
    };
    set(start, p.start, p.start_low);
    set(step, p.step, p.step_low);
    set(end.value_or(0), p.end, p.end_low);
    launch_sequence(kernel, iterator, p, end.has_value());
}

void real_sequence(const at::TensorIteratorBase& iterator, double start, double step,
                   std::optional<double> end) {
    if (iterator.dtype(0) == at::kDouble) {
        require_float64(at::kDouble, iterator.device(0));
        launch_real(kernels::sequence_float64, iterator, start, step, end);
    } else {
        launch_real(kernels::sequence, iterator, start, step, end);
    }
}

void check_dtype(const at::TensorIteratorBase& iterator) {
    const auto type = iterator.dtype(0);
    TORCH_CHECK_NOT_IMPLEMENTED(at::isFloatingType(type) ? type == at::kFloat || type == at::kDouble ||
                                                               type == at::kHalf || type == at::kBFloat16
                                                         : at::isIntegralType(type, false),
                                "sequences of ", type);
}

void arange(at::TensorIterator& iterator, const at::Scalar& start, const at::Scalar&,
            const at::Scalar& step) {
    check_dtype(iterator);
    if (iterator.numel() == 0)
        return;
    if (!at::isIntegralType(iterator.dtype(0), false)) {
        real_sequence(iterator, start.toDouble(), step.toDouble(), {});
        return;
    }
    kernels::SequenceParameters p;
    p.start = static_cast<std::uint64_t>(start.to<std::int64_t>());
    p.step = static_cast<std::uint64_t>(step.to<std::int64_t>());
    launch_sequence(kernels::sequence_integers, iterator, p, false);
}

void linspace(at::TensorIterator& iterator, const at::Scalar& start, const at::Scalar& end,
              std::int64_t steps) {
    check_dtype(iterator);
    if (iterator.numel() == 0)
        return;
    TORCH_CHECK_NOT_IMPLEMENTED(at::isFloatingType(iterator.dtype(0)), "linspace of integers");
    const double from = start.toDouble(), to = end.toDouble();
    real_sequence(iterator, from, (to - from) / static_cast<double>(steps - 1), to);
}

at::Tensor& eye_rectangle(std::int64_t rows, std::int64_t columns, at::Tensor& out) {
    TORCH_CHECK(rows >= 0, "n must be greater or equal to 0, got ", rows);
    TORCH_CHECK(columns >= 0, "m must be greater or equal to 0, got ", columns);
    out.resize_({rows, columns});
    out.zero_();
    out.diagonal().fill_(1);
    return out;
}
at::Tensor& eye(std::int64_t rows, at::Tensor& out) {
    return eye_rectangle(rows, rows, out);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
    register_operator(
        m, "arange.start_out",
        static_cast<at::Tensor& (*)(const at::Scalar&, const at::Scalar&, const at::Scalar&, at::Tensor&)>(
            &at::native::arange_out));
    register_operator(
        m, "linspace.out",
        static_cast<at::Tensor& (*)(const at::Scalar&, const at::Scalar&, std::int64_t, at::Tensor&)>(
            &at::native::linspace_out));
    register_operator(m, "eye.out", &eye);
    register_operator(m, "eye.m_out", &eye_rectangle);
}

} // namespace

} // namespace rvk

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(arange_stub, &rvk::arange)
REGISTER_PRIVATEUSE1_DISPATCH(linspace_stub, &rvk::linspace)
} // namespace at::native
