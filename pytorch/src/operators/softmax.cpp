/// softmax and log-softmax: kernels/normalisation/softmax.slang.

#include "../dispatch/structured.h"
#include "lines.h"
#include "reduction_launch.h"

#include <rekindle/kernels/families/softmax.h>
#include <rekindle/kernels/families/softmax_float64.h>

#include <ATen/ops/_log_softmax_backward_data_meta.h>
#include <ATen/ops/_log_softmax_meta.h>
#include <ATen/ops/_softmax_backward_data_meta.h>
#include <ATen/ops/_softmax_meta.h>
#include <array>

namespace rvk {

namespace {

using Parameters = kernels::SoftmaxParameters;
static_assert(sizeof(Parameters) == sizeof(kernels::SoftmaxFloat64Parameters));

/// forward: input, output; backward: input is the gradient of `result`.
void launch_softmax(const at::Tensor& input, const at::Tensor& result, const at::Tensor& output,
                    std::int64_t dim, bool logarithmic, bool backward) {
    if (output.numel() == 0)
        return;
    const bool wide = input.scalar_type() == at::kDouble || output.scalar_type() == at::kDouble;
    require_float64(wide ? at::kDouble : at::kFloat, input.device());
    const Lines rows(input, dim);
    const auto schedule = schedule_reduction(rows.lines, rows.size, rows.inner == 1);
    const Parameters p{.input = address(input),
                       .result = result.defined() ? address(result) : 0,
                       .output = address(output),
                       .rows = static_cast<std::uint32_t>(rows.lines),
                       .size = static_cast<std::uint32_t>(rows.size),
                       .inner = static_cast<std::uint32_t>(rows.inner)};
    const bool vectors = !backward && !wide && rows.inner == 1 && rows.size % 4 == 0 && p.input % 16 == 0 &&
                         p.output % 16 == 0;
    const std::array<ConstantValue, 7> constants{{
        {"logarithmic", logarithmic},
        {"input_type", dtype_code(input.scalar_type())},
        {"result_type", result.defined() ? dtype_code(result.scalar_type()) : 6},
        {"output_type", dtype_code(output.scalar_type())},
        {"vectors", vectors},
        {"columns", schedule.columns},
        {"columns_fastest", schedule.columns_fastest},
    }};
    const auto& kernel =
        backward ? (wide ? kernels::softmax_backward_float64.kernel : kernels::softmax_backward.kernel)
                 : (wide ? kernels::softmax_forward_float64.kernel : kernels::softmax_forward.kernel);
    c10::SmallVector<Access, 3> accesses{reads(input), writes(output)};
    if (result.defined())
        accesses.push_back(reads(result));
    launch(input.device().index(), kernel, linear_groups(rows.lines, schedule.columns),
           std::as_bytes(std::span(&p, 1)), accesses, constants);
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
