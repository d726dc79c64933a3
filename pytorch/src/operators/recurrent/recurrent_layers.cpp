/// nn.LSTM, nn.GRU and nn.RNN. Where it is faster, a launch computes many time steps of a layer
/// (recurrent_layer.h). Otherwise (large hidden sizes, large batches, projections), PyTorch's composition
/// computes a product and a cell for each time step. It also processes packed sequences, whose operators are
/// not registered here.

#include "recurrent_layer.h"

#include <ATen/autocast_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/gru.h>
#include <ATen/ops/lstm.h>
#include <ATen/ops/rnn_relu.h>
#include <ATen/ops/rnn_tanh.h>
#include <algorithm>
#include <torch/library.h>

namespace rvk {

namespace {

using at::Tensor;
using Single = std::tuple<Tensor, Tensor>;
using Double = std::tuple<Tensor, Tensor, Tensor>;

std::int64_t directions_of(const RecurrentStack& stack) {
    return stack.bidirectional ? 2 : 1;
}

/// The tensors of one layer, in the order of RecurrentTensors.
std::vector<Tensor> layer_tensors(const RecurrentStack& stack, const Tensor& input, std::int64_t layer) {
    const std::int64_t directions = directions_of(stack);
    std::vector<Tensor> tensors{input};
    for (const Tensor& state : stack.states)
        tensors.push_back(state.narrow(0, layer * directions, directions));
    const auto each = stack.weights.size() / static_cast<std::size_t>(stack.layers);
    const auto weights = stack.weights.slice(static_cast<std::size_t>(layer) * each, each);
    tensors.insert(tensors.end(), weights.begin(), weights.end());
    return tensors;
}

/// PyTorch's composition handles everything else, such as a missing weight: it computes the layer or reports
/// the error.
bool has_expected_sizes(const RecurrentStack& stack) {
    const std::int64_t directions = directions_of(stack), each = stack.has_biases ? 4 : 2;
    if (stack.input.dim() != 3 || stack.layers < 1 ||
        stack.states.size() != (has_cell_state(stack.cell) ? 2u : 1u) || stack.states[0].dim() != 3 ||
        static_cast<std::int64_t>(stack.weights.size()) != stack.layers * directions * each)
        return false;
    const std::int64_t batch = stack.input.size(stack.batch_first ? 0 : 1), hidden = stack.states[0].size(2);
    const std::vector<std::int64_t> state{stack.layers * directions, batch, hidden};
    if (!std::ranges::all_of(stack.states, [&](const Tensor& s) { return s.sizes() == state; }))
        return false;
    const std::int64_t rows = gate_count(stack.cell) * hidden;
    std::int64_t features = stack.input.size(2);
    for (std::size_t i = 0; i < stack.weights.size(); ++i) {
        const auto which = static_cast<std::int64_t>(i) % each;
        const std::vector<std::int64_t> weight{rows, which == 0 ? features : hidden}, bias{rows};
        if (stack.weights[i].sizes() != (which < 2 ? weight : bias))
            return false;
        if (static_cast<std::int64_t>(i + 1) % (each * directions) == 0)
            features = directions * hidden;
    }
    return true;
}

bool has_one_type(const RecurrentStack& stack) {
    const auto matches = [&](const Tensor& tensor) {
        return tensor.device() == stack.input.device() && tensor.scalar_type() == stack.input.scalar_type();
    };
    return std::ranges::all_of(stack.states, matches) && std::ranges::all_of(stack.weights, matches);
}

bool can_run_layers(const RecurrentStack& stack) {
    const auto defined = [](const Tensor& tensor) { return tensor.defined(); };
    if (!are_plain(stack.input) || !are_plain(stack.states) || !are_plain(stack.weights) ||
        !std::ranges::all_of(stack.states, defined) || !std::ranges::all_of(stack.weights, defined) ||
        !has_expected_sizes(stack) || !has_one_type(stack))
        return false;
    const bool is_empty = stack.input.numel() == 0 || stack.states[0].numel() == 0;
    return !is_empty && should_walk({.cell = stack.cell,
                                     .device = stack.input.device(),
                                     .dtype = stack.input.scalar_type(),
                                     .length = stack.input.size(stack.batch_first ? 1 : 0),
                                     .batch = stack.input.size(stack.batch_first ? 0 : 1),
                                     .hidden = stack.states[0].size(2),
                                     .directions = directions_of(stack)});
}

/// Returns the outputs, the last hidden states and, for LSTM, the last cell states. records: they are
/// differentiable.
std::vector<Tensor> run(const RecurrentStack& stack, bool records) {
    if (!can_run_layers(stack))
        return compose(stack);
    Tensor output = stack.batch_first ? stack.input.transpose(0, 1) : stack.input;
    std::vector<std::vector<Tensor>> last(stack.states.size());
    for (std::int64_t layer = 0; layer < stack.layers; ++layer) {
        if (layer > 0 && stack.train && stack.dropout != 0)
            output = at::dropout(output, stack.dropout, /*train=*/true);
        const auto results =
            recurrent_layer(stack.cell, stack.has_biases, layer_tensors(stack, output, layer), records);
        output = results[0];
        for (std::size_t i = 0; i < last.size(); ++i)
            last[i].push_back(results[i + 1]);
    }
    std::vector<Tensor> results{stack.batch_first ? output.transpose(0, 1) : output};
    for (const auto& states : last)
        results.push_back(states.size() == 1 ? states[0] : at::cat(states));
    return results;
}

template <bool records>
Double lstm(const Tensor& input, at::TensorList states, at::TensorList weights, bool has_biases,
            std::int64_t layers, double dropout, bool train, bool bidirectional, bool batch_first) {
    const auto results = run({RecurrentCell::lstm, input, states, weights, has_biases, layers, dropout, train,
                              bidirectional, batch_first},
                             records);
    return {results[0], results[1], results[2]};
}

template <RecurrentCell cell, bool records>
Single without_cell_state(const Tensor& input, const Tensor& state, at::TensorList weights, bool has_biases,
                          std::int64_t layers, double dropout, bool train, bool bidirectional,
                          bool batch_first) {
    const auto results =
        run({cell, input, state, weights, has_biases, layers, dropout, train, bidirectional, batch_first},
            records);
    return {results[0], results[1]};
}

/// Calls function(cast); cast(tensors) converts tensors to autocast's dtype.
template <class F>
auto with_autocast(F&& function) {
    const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::DispatchKey::AutocastPrivateUse1);
    const at::ScalarType dtype = at::autocast::get_autocast_dtype(at::kPrivateUse1);
    return function(
        [dtype](const auto& tensors) { return at::autocast::cached_cast(dtype, tensors, at::kPrivateUse1); });
}

Double lstm_with_autocast(const Tensor& input, at::TensorList states, at::TensorList weights, bool has_biases,
                          std::int64_t layers, double dropout, bool train, bool bidirectional,
                          bool batch_first) {
    return with_autocast([&](const auto& cast) {
        return at::lstm(cast(input), cast(states), cast(weights), has_biases, layers, dropout, train,
                        bidirectional, batch_first);
    });
}

using SingleOperator = Single(const Tensor&, const Tensor&, at::TensorList, bool, std::int64_t, double, bool,
                              bool, bool);
template <SingleOperator* function>
Single single_with_autocast(const Tensor& input, const Tensor& state, at::TensorList weights, bool has_biases,
                            std::int64_t layers, double dropout, bool train, bool bidirectional,
                            bool batch_first) {
    return with_autocast([&](const auto& cast) {
        return function(cast(input), cast(state), cast(weights), has_biases, layers, dropout, train,
                        bidirectional, batch_first);
    });
}

template <bool records>
void register_layers(torch::Library& m) {
    m.impl("lstm.input", &lstm<records>);
    m.impl("gru.input", &without_cell_state<RecurrentCell::gru, records>);
    m.impl("rnn_tanh.input", &without_cell_state<RecurrentCell::tanh, records>);
    m.impl("rnn_relu.input", &without_cell_state<RecurrentCell::relu, records>);
}

// For inference mode, whose tensors have no autograd keys.
TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
    register_layers<false>(m);
}
TORCH_LIBRARY_IMPL(aten, AutogradPrivateUse1, m) {
    register_layers<true>(m);
}
TORCH_LIBRARY_IMPL(aten, AutocastPrivateUse1, m) {
    m.impl("lstm.input", &lstm_with_autocast);
    m.impl("gru.input", &single_with_autocast<at::gru>);
    m.impl("rnn_tanh.input", &single_with_autocast<at::rnn_tanh>);
    m.impl("rnn_relu.input", &single_with_autocast<at::rnn_relu>);
}

} // namespace

} // namespace rvk
