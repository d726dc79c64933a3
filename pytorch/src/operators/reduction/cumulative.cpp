/// Cumulative sums, products, extremes: kernels/reduction/cumulative.slang.

#include "../../dispatch/structured.h"
#include "../lib/lines.h"
#include "reduction_launch.h"

#include <rekindle/kernels/families/cumulative.h>
#include <rekindle/kernels/families/cumulative_float64.h>
#include <rekindle/kernels/families/cumulative_int64.h>

#include <ATen/MemoryOverlap.h>
#include <ATen/native/ReduceOps.h>
#include <ATen/ops/_logcumsumexp_native.h>
#include <ATen/ops/cumprod_native.h>
#include <ATen/ops/cumsum_native.h>
#include <ATen/ops/empty.h>
#include <array>

namespace rvk {

namespace {

enum class Cumulation : std::uint32_t { sum, product, maximum, minimum, log_sum_exp };

using kernels::CumulativeParameters;

struct Kernels {
    const kernels::Kernel &cumulate, &totals, &before;
};

Kernels kernels_of(const at::Tensor& input, const at::Tensor& output) {
    const auto from = input.scalar_type(), to = output.scalar_type();
    TORCH_CHECK_NOT_IMPLEMENTED(!c10::isComplexType(from) && !c10::isComplexType(to),
                                "cumulative operations of complex numbers");
    if (from == at::kDouble || to == at::kDouble) {
        require_float64(at::kDouble, input.device());
        return {kernels::cumulative_float64.kernel, kernels::cumulative_totals_float64.kernel,
                kernels::cumulative_before_float64.kernel};
    }
    if (c10::isIntegralType(from, true) && c10::isIntegralType(to, true))
        return {kernels::cumulative_int64.kernel, kernels::cumulative_totals_int64.kernel,
                kernels::cumulative_before_int64.kernel};
    return {kernels::cumulative.kernel, kernels::cumulative_totals.kernel, kernels::cumulative_before.kernel};
}

/// indices: those of the extremes, contiguous like `output`; undefined for the other operations.
void cumulate(const at::Tensor& output, const at::Tensor& indices, const at::Tensor& self, std::int64_t dim,
              Cumulation operation) {
    const bool sums = operation != Cumulation::maximum && operation != Cumulation::minimum;
    TORCH_CHECK_NOT_IMPLEMENTED(!sums || output.scalar_type() != at::kBool, "cumulative sums in bool");
    TORCH_CHECK_NOT_IMPLEMENTED(operation != Cumulation::log_sum_exp ||
                                    at::isFloatingType(output.scalar_type()),
                                "logcumsumexp of ", output.scalar_type());
    if (self.numel() == 0)
        return;
    constexpr std::int64_t longest = 2048;
    const at::Tensor input = self.contiguous();
    const Kernels kernels = kernels_of(input, output);
    const Lines lines(input, dim);
    const auto schedule = schedule_lines(lines.lines, lines.size, lines.inner == 1, longest);
    const at::Tensor scratch = reduction_scratch(schedule, lines.lines, input.device());
    const CumulativeParameters p{.input = address(input),
                                 .output = address(output),
                                 .indices = indices.defined() ? address(indices) : 0,
                                 .partial = scratch.defined() ? address(scratch) : 0,
                                 .lines = static_cast<std::uint32_t>(lines.lines),
                                 .size = static_cast<std::uint32_t>(lines.size),
                                 .inner = static_cast<std::uint32_t>(lines.inner),
                                 .parts = schedule.parts,
                                 .part_size = schedule.part_size};
    const bool vectors = lines.inner == 1 && lines.size % 4 == 0 && p.input % 16 == 0 && p.output % 16 == 0;
    const kernels::CumulativeConstants of_lines{.operation = static_cast<std::uint32_t>(operation),
                                                .input_type = dtype_code(input.scalar_type()),
                                                .output_type = dtype_code(output.scalar_type()),
                                                .split = schedule.parts > 1,
                                                .vectors = vectors,
                                                .columns = schedule.columns,
                                                .columns_fastest = schedule.columns_fastest};
    const auto run = [&](const kernels::Kernel& kernel, Groups groups, std::span<const Access> accesses,
                         const kernels::CumulativeConstants& constants) {
        launch(input.device().index(), kernel, groups, std::as_bytes(std::span(&p, 1)), accesses, constants);
    };
    c10::SmallVector<Access, 4> accesses{reads(input), writes(output)};
    if (indices.defined())
        accesses.push_back(writes(indices));
    if (schedule.parts > 1) {
        accesses.push_back(reads(scratch));
        auto of_totals = of_lines;
        of_totals.split = 0;
        run(kernels.totals, schedule.groups, std::array{reads(input), writes(scratch)}, of_totals);
        auto of_prefixes = of_totals;
        of_prefixes.columns = 1;
        of_prefixes.columns_fastest = of_prefixes.vectors = 0;
        run(kernels.before, schedule.merge_groups, std::array{writes(scratch)}, of_prefixes);
    }
    run(kernels.cumulate, schedule.groups, accesses, of_lines);
}

template <Cumulation operation>
void cumulate_kernel(const at::Tensor& result, const at::Tensor& self, std::int64_t dim) {
    with_contiguous_output(result, [&](const at::Tensor& to) { cumulate(to, {}, self, dim, operation); });
}

template <Cumulation operation>
void cumulate_with_indices(const at::Tensor& self, at::Tensor& values, at::Tensor& indices,
                           std::int64_t dim) {
    with_contiguous_output(values, [&](const at::Tensor& to) {
        with_contiguous_output(
            indices, [&](const at::Tensor& at_index) { cumulate(to, at_index, self, dim, operation); });
    });
}

at::Tensor log_cumulative_sum_exp(const at::Tensor& self, std::int64_t dim) {
    at::maybe_wrap_dim(dim, self.dim());
    const at::Tensor result = at::empty(self.sizes(), self.options());
    cumulate(result, {}, self, dim, Cumulation::log_sum_exp);
    return result;
}

at::Tensor& log_cumulative_sum_exp_out(const at::Tensor& self, std::int64_t dim, at::Tensor& out) {
    at::maybe_wrap_dim(dim, self.dim());
    at::native::resize_output(out, self.sizes());
    at::assert_no_internal_overlap(out);
    at::assert_no_partial_overlap(out, self);
    cumulate_kernel<Cumulation::log_sum_exp>(out, self, dim);
    return out;
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
    register_structured<at::native::structured_cumsum_out>(m, "cumsum", "cumsum.out", "cumsum_");
    register_structured<at::native::structured_cumprod_out>(m, "cumprod", "cumprod.out", "cumprod_");
    register_operator(m, "_cummax_helper", &cumulate_with_indices<Cumulation::maximum>);
    register_operator(m, "_cummin_helper", &cumulate_with_indices<Cumulation::minimum>);
    register_operator(m, "_logcumsumexp", &log_cumulative_sum_exp);
    register_operator(m, "_logcumsumexp.out", &log_cumulative_sum_exp_out);
}

} // namespace
} // namespace rvk

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(cumsum_stub, &rvk::cumulate_kernel<rvk::Cumulation::sum>)
REGISTER_PRIVATEUSE1_DISPATCH(cumprod_stub, &rvk::cumulate_kernel<rvk::Cumulation::product>)
} // namespace at::native
