/// The fused cells that PyTorch's LSTM and GRU use on this device; mm and addmm compute the products with the
/// weights.

#include "../../dispatch/structured.h"
#include "../product/matrices.h"

#include <rekindle/kernels/families/recurrent.h>
#include <rekindle/kernels/families/recurrent_float64.h>

#include <ATen/ops/empty.h>
#include <ATen/ops/sum.h>
#include <vector>

namespace rvk {

namespace {

using at::Tensor;
using OptionalTensor = std::optional<Tensor>;

/// The tensors of a launch, all contiguous; those that were not given stay undefined and have address 0.
class Launch {
  public:
    Launch(const Tensor& like, std::int64_t count, std::int64_t width)
        : device_(like.device()), dtype_(like.scalar_type()) {
        TORCH_CHECK_NOT_IMPLEMENTED(at::isFloatingType(dtype_), "recurrent cells of ", dtype_);
        number_family(dtype_, device_);
        TORCH_CHECK_NOT_IMPLEMENTED(count < (std::int64_t{1} << 31), "recurrent cells of ", count,
                                    " elements");
        parameters.count = static_cast<std::uint32_t>(count);
        parameters.width = static_cast<std::uint32_t>(width);
    }

    std::uint64_t input(const OptionalTensor& tensor) {
        if (!tensor || !tensor->defined())
            return 0;
        kept_.push_back(tensor->contiguous());
        accesses_.push_back(reads(kept_.back()));
        return address(kept_.back());
    }
    std::uint64_t output(const Tensor& tensor) {
        accesses_.push_back(writes(tensor));
        return address(tensor);
    }
    void run(const kernels::Kernel& in_float32, const kernels::Kernel& in_float64, bool has_bias,
             bool has_grad_hidden = true, bool has_grad_cell = true) {
        if (parameters.count == 0)
            return;
        const kernels::RecurrentConstants constants{.dtype = dtype_code(dtype_),
                                                    .has_bias = has_bias ? 1u : 0u,
                                                    .has_grad_hidden = has_grad_hidden ? 1u : 0u,
                                                    .has_grad_cell = has_grad_cell ? 1u : 0u};
        launch(device_.index(), dtype_ == at::kDouble ? in_float64 : in_float32,
               linear_groups(parameters.count, 256), std::as_bytes(std::span(&parameters, 1)), accesses_,
               constants);
    }

    kernels::RecurrentParameters parameters{};

  private:
    c10::Device device_;
    at::ScalarType dtype_;
    std::vector<Tensor> kept_;
    std::vector<Access> accesses_;
};

bool given(const OptionalTensor& tensor) {
    return tensor && tensor->defined();
}

void check_sizes(const Tensor& input_gates, const Tensor& hidden_gates, const Tensor& state,
                 std::int64_t gates) {
    TORCH_CHECK(input_gates.dim() == 2 && input_gates.sizes() == hidden_gates.sizes() && state.dim() == 2 &&
                    input_gates.size(0) == state.size(0) && input_gates.size(1) == gates * state.size(1),
                "recurrent cell: the gates' sizes ", input_gates.sizes(), " and ", hidden_gates.sizes(),
                " do not match the state's sizes ", state.sizes());
}

std::tuple<Tensor, Tensor, Tensor> lstm_cell(const Tensor& input_gates, const Tensor& hidden_gates,
                                             const Tensor& cx, const OptionalTensor& input_bias,
                                             const OptionalTensor& hidden_bias) {
    check_sizes(input_gates, hidden_gates, cx, 4);
    const Tensor hy = at::empty(cx.sizes(), cx.options()), cy = at::empty(cx.sizes(), cx.options());
    const Tensor workspace = at::empty(input_gates.sizes(), input_gates.options());
    Launch cell(cx, cx.numel(), cx.size(1));
    auto& p = cell.parameters;
    p.input_gates = cell.input(input_gates);
    p.hidden_gates = cell.input(hidden_gates);
    p.input_bias = cell.input(input_bias);
    p.hidden_bias = cell.input(hidden_bias);
    p.state = cell.input(cx);
    p.cell = cell.output(cy);
    p.hidden = cell.output(hy);
    p.workspace = cell.output(workspace);
    cell.run(kernels::lstm_cell_forward.kernel, kernels::lstm_cell_forward_float64.kernel, given(input_bias));
    return {hy, cy, workspace};
}

std::tuple<Tensor, Tensor, Tensor> lstm_cell_backward(const OptionalTensor& grad_hy,
                                                      const OptionalTensor& grad_cy, const Tensor& cx,
                                                      const Tensor& cy, const Tensor& workspace,
                                                      bool has_bias) {
    if (!given(grad_hy) && !given(grad_cy))
        return {};
    const Tensor grad_gates = at::empty(workspace.sizes(), workspace.options());
    const Tensor grad_cx = at::empty(cx.sizes(), cx.options());
    Launch cell(cx, cx.numel(), cx.size(1));
    auto& p = cell.parameters;
    p.state = cell.input(cx);
    p.cell = cell.input(cy);
    p.workspace = cell.input(workspace);
    p.grad_hidden = cell.input(grad_hy);
    p.grad_cell = cell.input(grad_cy);
    p.grad_gates = cell.output(grad_gates);
    p.grad_state = cell.output(grad_cx);
    cell.run(kernels::lstm_cell_backward.kernel, kernels::lstm_cell_backward_float64.kernel, false,
             given(grad_hy), given(grad_cy));
    return {grad_gates, grad_cx, has_bias ? at::sum(grad_gates, 0) : Tensor()};
}

std::tuple<Tensor, Tensor> gru_cell(const Tensor& input_gates, const Tensor& hidden_gates, const Tensor& hx,
                                    const OptionalTensor& input_bias, const OptionalTensor& hidden_bias) {
    check_sizes(input_gates, hidden_gates, hx, 3);
    const Tensor hy = at::empty(hx.sizes(), hx.options());
    const Tensor workspace = at::empty({hx.size(0), hx.size(1) * 5}, hx.options());
    Launch cell(hx, hx.numel(), hx.size(1));
    auto& p = cell.parameters;
    p.input_gates = cell.input(input_gates);
    p.hidden_gates = cell.input(hidden_gates);
    p.input_bias = cell.input(input_bias);
    p.hidden_bias = cell.input(hidden_bias);
    p.state = cell.input(hx);
    p.hidden = cell.output(hy);
    p.workspace = cell.output(workspace);
    cell.run(kernels::gru_cell_forward.kernel, kernels::gru_cell_forward_float64.kernel, given(input_bias));
    return {hy, workspace};
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> gru_cell_backward(const Tensor& grad_hy,
                                                                     const Tensor& workspace, bool has_bias) {
    const std::int64_t batch = workspace.size(0), width = workspace.size(1) / 5;
    const Tensor grad_input_gates = at::empty({batch, width * 3}, workspace.options());
    const Tensor grad_hidden_gates = at::empty({batch, width * 3}, workspace.options());
    const Tensor grad_hx = at::empty({batch, width}, workspace.options());
    Launch cell(workspace, batch * width, width);
    auto& p = cell.parameters;
    p.workspace = cell.input(workspace);
    p.grad_hidden = cell.input(grad_hy);
    p.grad_gates = cell.output(grad_input_gates);
    p.grad_hidden_gates = cell.output(grad_hidden_gates);
    p.grad_state = cell.output(grad_hx);
    cell.run(kernels::gru_cell_backward.kernel, kernels::gru_cell_backward_float64.kernel, false);
    return {grad_input_gates, grad_hidden_gates, grad_hx, has_bias ? at::sum(grad_input_gates, 0) : Tensor(),
            has_bias ? at::sum(grad_hidden_gates, 0) : Tensor()};
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
    register_operator(m, "_thnn_fused_lstm_cell", &lstm_cell);
    register_operator(m, "_thnn_fused_lstm_cell_backward_impl", &lstm_cell_backward);
    register_operator(m, "_thnn_fused_gru_cell", &gru_cell);
    register_operator(m, "_thnn_fused_gru_cell_backward", &gru_cell_backward);
}

} // namespace

} // namespace rvk
