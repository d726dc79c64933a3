#pragma once
/// The recurrence of a layer over all time steps: the launches of kernels/recurrent/recurrent_layer.slang.

#include <ATen/core/Tensor.h>
#include <cstdint>

namespace rvk {

/// Numbered as in kernels/include/rekindle/kernels/values.def.
enum class RecurrentCell : std::uint32_t { lstm, gru, tanh, relu };

/// Number of gates stacked in a weight's rows.
std::int64_t gate_count(RecurrentCell cell);
/// Whether the cell has a cell state.
inline bool has_cell_state(RecurrentCell cell) {
    return cell == RecurrentCell::lstm;
}
/// Whether the backward pass needs Walk::second.
inline bool has_second(RecurrentCell cell) {
    return cell == RecurrentCell::lstm || cell == RecurrentCell::gru;
}

struct RecurrentSizes {
    RecurrentCell cell;
    c10::Device device;
    at::ScalarType dtype;
    std::int64_t length, batch, hidden, directions; ///< length: time steps
};

/// The tensors of a layer, contiguous, in the layout of the kernel's Parameters. Those that are not needed
/// stay undefined.
struct Walk {
    at::Tensor gates;  ///< [direction, time * batch, gates * hidden]
    at::Tensor output; ///< [time, batch, directions * hidden]
    at::Tensor second; ///< [direction, time, batch, hidden]
    at::Tensor weight; ///< from `walking_weight`
    at::Tensor carry;  ///< [direction, 2, batch, hidden], of dtype `carry_type`
};
struct WalkBack : Walk {
    at::Tensor initial;                       ///< [direction, batch, hidden]
    at::Tensor grad_output;                   ///< as `output`
    at::Tensor grad_gates, grad_hidden_gates; ///< results, as `gates`; the second: GRU's hidden half
};

/// Whether the kernels exist for these sizes and are faster than a product and a cell for each step.
bool should_walk(const RecurrentSizes& sizes);
/// The dtype of Walk::carry, the states that one launch passes to the next.
at::ScalarType carry_type(at::ScalarType dtype);
/// Arranges each direction's weight_hh [gates * hidden, hidden] for the kernel: padded, and transposed for
/// the forward pass.
at::Tensor walking_weight(const RecurrentSizes& sizes, at::TensorList weights, bool forward);

/// Queues all time steps. `walk.gates` holds the input half of the gates and, if `keeps`, receives the gates
/// for the backward pass. bias: [direction, gates * hidden], or undefined.
void walk_forward(const RecurrentSizes& sizes, const Walk& walk, const at::Tensor& bias, bool keeps);
void walk_backward(const RecurrentSizes& sizes, const WalkBack& walk);

} // namespace rvk
