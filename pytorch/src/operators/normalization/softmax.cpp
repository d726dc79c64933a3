/// softmax and log-softmax: kernels/normalization/softmax.slang.

#include "../../dispatch/limits.h"
#include "../../dispatch/structured.h"
#include "../lib/lines.h"
#include "../reduction/reduction_launch.h"

#include <rekindle/kernels/families/softmax.h>
#include <rekindle/kernels/families/softmax_float64.h>

#include <ATen/ops/_log_softmax_backward_data_meta.h>
#include <ATen/ops/_log_softmax_meta.h>
#include <ATen/ops/_softmax_backward_data_meta.h>
#include <ATen/ops/_softmax_meta.h>
#include <array>

namespace rvk {

namespace {

using kernels::SoftmaxParameters;

/// What a launch computes; see kernels/normalization/softmax.slang.
enum class SoftmaxStage : std::uint32_t { whole, states, results };

struct Kernels {
    const kernels::Kernel &rows, &merge;
};
Kernels kernels_of(bool wide, bool backward) {
    if (wide)
        return {backward ? kernels::softmax_backward_float64.kernel : kernels::softmax_forward_float64.kernel,
                kernels::softmax_merge_float64.kernel};
    return {backward ? kernels::softmax_backward.kernel : kernels::softmax_forward.kernel,
            kernels::softmax_merge.kernel};
}

/// Forward: `result` is undefined. Backward: `input` is the gradient of `result`.
void launch_softmax(const at::Tensor& input, const at::Tensor& result, const at::Tensor& output,
                    std::int64_t dim, bool logarithmic, bool backward) {
    TORCH_CHECK_NOT_IMPLEMENTED(at::isFloatingType(input.scalar_type()) &&
                                    at::isFloatingType(output.scalar_type()),
                                "softmax of ", input.scalar_type());
    if (output.numel() == 0)
        return;
    constexpr std::int64_t longest = most_iterations / 4; // elements per thread, each read twice
    const bool wide = input.scalar_type() == at::kDouble || output.scalar_type() == at::kDouble;
    require_float64(wide ? at::kDouble : at::kFloat, input.device());
    const Lines rows(input, dim);
    ReductionSchedule schedule = schedule_lines(rows.lines, rows.size, rows.inner == 1, longest);
    const bool aligned = !wide && rows.inner == 1 && address(input) % 16 == 0 && address(output) % 16 == 0 &&
                         (!result.defined() || address(result) % 16 == 0);
    const std::uint32_t kept_quads = aligned ? keep_lines(schedule, rows.lines, rows.size) : 0;
    const at::Tensor scratch = reduction_scratch(schedule, rows.lines, input.device());
    const SoftmaxParameters p{.input = address(input),
                              .result = result.defined() ? address(result) : 0,
                              .output = address(output),
                              .partial = scratch.defined() ? address(scratch) : 0,
                              .rows = static_cast<std::uint32_t>(rows.lines),
                              .size = static_cast<std::uint32_t>(rows.size),
                              .inner = static_cast<std::uint32_t>(rows.inner),
                              .parts = schedule.parts,
                              .part_size = schedule.part_size};
    const bool vectors = !backward && aligned && rows.size % 4 == 0;
    const auto run = [&](const kernels::Kernel& kernel, SoftmaxStage stage,
                         std::span<const Access> accesses) {
        const bool merges = &kernel == &kernels_of(wide, backward).merge;
        const kernels::SoftmaxConstants constants{
            .logarithmic = logarithmic ? 1u : 0u,
            .input_type = dtype_code(input.scalar_type()),
            .result_type = dtype_code(result.defined() ? result.scalar_type() : at::kFloat),
            .output_type = dtype_code(output.scalar_type()),
            .vectors = vectors && !merges ? 1u : 0u,
            .stage = static_cast<std::uint32_t>(stage),
            .columns = merges ? schedule.merge_columns : schedule.columns,
            .columns_fastest = schedule.columns_fastest && !merges ? 1u : 0u,
            .kept_quads = kept_quads,
        };
        launch(input.device().index(), kernel, merges ? schedule.merge_groups : schedule.groups,
               std::as_bytes(std::span(&p, 1)), accesses, constants);
    };
    const Kernels kernels = kernels_of(wide, backward);
    c10::SmallVector<Access, 4> accesses{reads(input), writes(output)};
    if (result.defined())
        accesses.push_back(reads(result));
    if (schedule.parts == 1) {
        run(kernels.rows, SoftmaxStage::whole, accesses);
        return;
    }
    accesses.push_back(reads(scratch));
    accesses[1] = writes(scratch);
    run(kernels.rows, SoftmaxStage::states, std::span(accesses).first(result.defined() ? 3 : 2));
    accesses[1] = writes(output);
    run(kernels.merge, SoftmaxStage::whole, std::array{writes(scratch)});
    run(kernels.rows, SoftmaxStage::results, accesses);
}

void forward(const at::Tensor& self, std::int64_t dim, const at::Tensor& out, bool logarithmic) {
    with_contiguous_output(out, [&](const at::Tensor& to) {
        launch_softmax(self.contiguous(), {}, to, dim, logarithmic, false);
    });
}

void backward(const at::Tensor& gradient, const at::Tensor& result, std::int64_t dim, const at::Tensor& out,
              bool logarithmic) {
    with_contiguous_output(out, [&](const at::Tensor& to) {
        launch_softmax(gradient.contiguous(), result.contiguous(), to, dim, logarithmic, true);
    });
}

struct Softmax : at::meta::structured__softmax {
    void impl(const at::Tensor& self, std::int64_t dim, bool, const at::Tensor& out) {
        forward(self, dim, out, false);
    }
};
struct LogSoftmax : at::meta::structured__log_softmax {
    void impl(const at::Tensor& self, std::int64_t dim, bool, const at::Tensor& out) {
        forward(self, dim, out, true);
    }
};
struct SoftmaxBackward : at::meta::structured__softmax_backward_data {
    void impl(const at::Tensor& gradient, const at::Tensor& result, std::int64_t dim, at::ScalarType,
              const at::Tensor& out) {
        backward(gradient, result, dim, out, false);
    }
};
struct LogSoftmaxBackward : at::meta::structured__log_softmax_backward_data {
    void impl(const at::Tensor& gradient, const at::Tensor& result, std::int64_t dim, at::ScalarType,
              const at::Tensor& out) {
        backward(gradient, result, dim, out, true);
    }
};

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
    register_structured<Softmax>(m, "_softmax", "_softmax.out");
    register_structured<LogSoftmax>(m, "_log_softmax", "_log_softmax.out");
    register_structured<SoftmaxBackward>(m, "_softmax_backward_data", "_softmax_backward_data.out");
    register_structured<LogSoftmaxBackward>(m, "_log_softmax_backward_data",
                                            "_log_softmax_backward_data.out");
}

} // namespace
} // namespace rvk
