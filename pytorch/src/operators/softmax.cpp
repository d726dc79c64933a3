/// softmax and log-softmax: kernels/normalisation/softmax.slang.

#include "../dispatch/structured.h"
#include "reduction_launch.h"

#include <ATen/WrapDimUtils.h>
#include <ATen/ops/_log_softmax_backward_data_meta.h>
#include <ATen/ops/_log_softmax_meta.h>
#include <ATen/ops/_softmax_backward_data_meta.h>
#include <ATen/ops/_softmax_meta.h>
#include <ATen/ops/empty.h>
#include <array>
#include <limits>

namespace rvk {

namespace {

/// Rows along a dimension of a contiguous tensor.
struct Rows {
    std::int64_t rows = 1, size = 1, inner = 1;

    Rows(const at::Tensor& tensor, std::int64_t dim) {
        if (tensor.dim() > 0) {
            dim = at::maybe_wrap_dim(dim, tensor.dim());
            size = tensor.size(dim);
            for (std::int64_t d = dim + 1; d < tensor.dim(); ++d)
                inner *= tensor.size(d);
        }
        rows = size == 0 ? 0 : tensor.numel() / size;
        TORCH_CHECK_NOT_IMPLEMENTED(rows <= std::numeric_limits<std::int32_t>::max() &&
                                        size <= std::numeric_limits<std::int32_t>::max(),
                                    "softmax of 2^31 rows or columns");
    }

    ReductionSchedule schedule() const {
        // A workgroup keeps its rows: never in parts.
        return schedule_reduction(rows, size, inner == 1);
    }
};

using Parameters = kernels::SoftmaxParameters;
static_assert(sizeof(Parameters) == sizeof(kernels::SoftmaxFloat64Parameters));

/// forward: input, output; backward: input is the gradient of `result`.
void launch_softmax(const at::Tensor& input, const at::Tensor& result, const at::Tensor& output, std::int64_t dim,
                    bool logarithmic, bool backward) {
    if (output.numel() == 0)
        return;
    const bool wide = input.scalar_type() == at::kDouble || output.scalar_type() == at::kDouble;
    require_float64(wide ? at::kDouble : at::kFloat, input.device());
    const Rows rows(input, dim);
    const auto schedule = rows.schedule();
    const Parameters p{.input = address(input),
                       .result = result.defined() ? address(result) : 0,
                       .output = address(output),
                       .rows = static_cast<std::uint32_t>(rows.rows),
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
    const auto& kernel = backward ? (wide ? kernels::softmax_backward_float64.kernel : kernels::softmax_backward.kernel)
                                  : (wide ? kernels::softmax_forward_float64.kernel : kernels::softmax_forward.kernel);
    c10::SmallVector<Access, 3> accesses{reads(input), writes(output)};
    if (result.defined())
        accesses.push_back(reads(result));
    launch(input.device().index(), kernel, linear_groups(rows.rows, schedule.columns),
           std::as_bytes(std::span(&p, 1)), accesses, constants);
}

/// Calls `function(contiguous)`, where the kernel writes, and copies that to `output` if it is not.
template <class F>
void with_contiguous_output(const at::Tensor& output, F&& function) {
    if (output.is_contiguous()) {
        function(output);
        return;
    }
    const at::Tensor contiguous = at::empty(output.sizes(), output.options());
    function(contiguous);
    output.copy_(contiguous);
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
    register_structured<LogSoftmaxBackward>(m, "_log_softmax_backward_data", "_log_softmax_backward_data.out");
}

} // namespace
} // namespace rvk
