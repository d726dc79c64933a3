#pragma once
/// One layer of PyTorch's nn.LSTM, nn.GRU or nn.RNN as one node of the autograd graph.

#include "recurrent_walk.h"

#include <ATen/core/Tensor.h>
#include <cstddef>
#include <vector>

namespace rvk {

/// The tensors of a layer as a list, in this order: the input [time, batch, features]; the hidden states and,
/// for LSTM, the cell states [directions, batch, hidden]; for each direction weight_ih, weight_hh and, if
/// there are biases, bias_ih and bias_hh.
class RecurrentTensors {
  public:
    RecurrentTensors(RecurrentCell cell, bool has_biases, at::TensorList tensors)
        : states_(has_cell_state(cell) ? 2 : 1), each_(has_biases ? 4 : 2), tensors_(tensors) {}

    const at::Tensor& input() const { return tensors_[0]; }
    const at::Tensor& hidden() const { return tensors_[1]; }
    const at::Tensor& cell_state() const { return tensors_[2]; }
    at::TensorList states() const { return tensors_.slice(1, states_); }
    at::TensorList weights() const { return tensors_.slice(1 + states_); }

    bool has_biases() const { return each_ == 4; }
    std::size_t directions() const { return weights().size() / each_; }
    /// The index of a parameter in the list. which: 0 weight_ih, 1 weight_hh, 2 bias_ih, 3 bias_hh.
    std::size_t place(std::size_t direction, std::size_t which) const {
        return 1 + states_ + direction * each_ + which;
    }
    const at::Tensor& weight(std::size_t direction, std::size_t which) const {
        return tensors_[place(direction, which)];
    }

  private:
    std::size_t states_, each_;
    at::TensorList tensors_;
};

/// Returns the layer's outputs [time, batch, directions * hidden], last hidden states and, for LSTM, last
/// cell states [directions, batch, hidden]. Requires that the tensors have one dtype and one device, and that
/// should_walk() is true for their sizes. records: the results are differentiable, also more than once.
std::vector<at::Tensor> recurrent_layer(RecurrentCell cell, bool has_biases, at::TensorList tensors,
                                        bool records);
/// Whether the tensors are ordinary tensors on this device and nothing transforms or observes operator calls
/// (no torch.func, forward-mode gradients, dispatch mode or tensors without memory). recurrent_layer requires
/// this.
bool are_plain(at::TensorList tensors);
RecurrentSizes recurrent_sizes(RecurrentCell cell, const RecurrentTensors& tensors);

/// A stack of layers. compose() computes it with PyTorch's own composition of operators.
struct RecurrentStack {
    RecurrentCell cell;
    at::Tensor input;
    at::TensorList states, weights;
    bool has_biases;
    std::int64_t layers;
    double dropout;
    bool train, bidirectional, batch_first;
};
std::vector<at::Tensor> compose(const RecurrentStack& stack);

} // namespace rvk
