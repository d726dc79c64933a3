#pragma once
/// Recurrent layers through time: the kernels of kernels/recurrent/recurrent_layer.slang.

#include <ATen/core/Tensor.h>
#include <cstdint>

namespace rvk {

/// The numbers of kernels/include/rekindle/kernels/values.def.
enum class RecurrentCell : std::uint32_t { lstm, gru, tanh, relu };

/// Number of gates in a weight's rows.
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

/// The tensors of a layer, contiguous, in the layout of the kernel's Parameters. Unneeded ones stay
/// undefined.
struct Walk {
    at::Tensor gates;  ///< [direction, time * batch, gates * hidden]
    at::Tensor output; ///< [time, batch, directions * hidden]
    at::Tensor second; ///< [direction, time, batch, hidden]
    at::Tensor weight; ///< from `walking_weight`
    at::Tensor carry;  ///< [direction, 2, batch, hidden] of the dtype of `carry_type`
};
struct WalkBack : Walk {
    at::Tensor initial;                       ///< [direction, batch, hidden]
    at::Tensor grad_output;                   ///< as `output`
    at::Tensor grad_gates, grad_hidden_gates; ///< as `gates`, written; GRU: the second is for the hidden half
};

/// Whether the kernels exist for these sizes and are faster than a product and a cell for each step.
bool should_walk(const RecurrentSizes& sizes);
/// The dtype of the states that launches pass on.
at::ScalarType carry_type(at::ScalarType dtype);
/// The matrices by which the kernel multiplies, for each direction [gates * hidden, hidden], padded as it
/// needs them. Forward takes the transpose.
at::Tensor walking_weight(const RecurrentSizes& sizes, at::TensorList weights, bool forward);

/// Queues all time steps. `walk.gates` holds the input half of the gates and, if `keeps`, receives the gates.
/// bias: [direction, gates * hidden], or undefined.
void walk_forward(const RecurrentSizes& sizes, const Walk& walk, const at::Tensor& bias, bool keeps);
void walk_backward(const RecurrentSizes& sizes, const WalkBack& walk);

} // namespace rvk
