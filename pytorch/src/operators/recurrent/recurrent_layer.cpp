#include "recurrent_layer.h"

#include <ATen/functorch/DynamicLayer.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/gru_native.h>
#include <ATen/ops/lstm_native.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/rnn_relu_native.h>
#include <ATen/ops/rnn_tanh_native.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <algorithm>
#include <c10/core/impl/TorchDispatchModeTLS.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

namespace rvk {

namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// Reshapes [time, batch, n] to [time * batch, n].
Tensor lines_of(const Tensor& tensor) {
    return tensor.reshape({tensor.size(0) * tensor.size(1), tensor.size(2)});
}

/// The weights or biases of all directions. which: as in RecurrentTensors.
std::vector<Tensor> of_all_directions(const RecurrentTensors& tensors, std::size_t which) {
    std::vector<Tensor> result;
    for (std::size_t d = 0; d < tensors.directions(); ++d)
        result.push_back(tensors.weight(d, which));
    return result;
}

/// Makes Walk::carry from the hidden and cell states of all directions, or from their gradients. Undefined
/// ones are zero.
Tensor make_carry(const RecurrentSizes& sizes, const Tensor& hidden, const Tensor& cell_state) {
    const Tensor carry = at::empty({sizes.directions, 2, sizes.batch, sizes.hidden},
                                   at::TensorOptions(sizes.device).dtype(carry_type(sizes.dtype)));
    std::int64_t which = 0;
    for (const Tensor& state : {hidden, cell_state}) {
        const Tensor place = carry.select(1, which++);
        if (state.defined())
            place.copy_(state);
        else
            place.zero_();
    }
    return carry;
}

/// A state from Walk::carry: always a copy, even if the dtype is the same.
Tensor from_carry(const Tensor& carry, std::int64_t which, at::ScalarType dtype) {
    return carry.select(1, which).to(dtype, /*non_blocking=*/false, /*copy=*/true).contiguous();
}

/// The input half of the gates (the product with weight_ih), for all steps.
Tensor input_gates(const RecurrentSizes& sizes, const RecurrentTensors& tensors) {
    const Tensor lines = lines_of(tensors.input());
    const Tensor gates =
        at::empty({sizes.directions, lines.size(0), gate_count(sizes.cell) * sizes.hidden}, lines.options());
    for (std::size_t d = 0; d < tensors.directions(); ++d) {
        Tensor of_direction = gates.select(0, static_cast<std::int64_t>(d));
        const Tensor weight = tensors.weight(d, 0).t();
        if (tensors.has_biases())
            at::addmm_out(of_direction, tensors.weight(d, 2), lines, weight);
        else
            at::mm_out(of_direction, lines, weight);
    }
    return gates;
}

struct Forward {
    Walk walk;
    std::vector<Tensor> results;
};

Forward compute(const RecurrentSizes& sizes, const RecurrentTensors& tensors, bool keeps) {
    const at::AutoDispatchBelowADInplaceOrView no_recording;
    Forward forward;
    Walk& walk = forward.walk;
    const at::TensorOptions options = tensors.input().options();
    walk.gates = input_gates(sizes, tensors);
    walk.output = at::empty({sizes.length, sizes.batch, sizes.directions * sizes.hidden}, options);
    if (keeps && has_second(sizes.cell))
        walk.second = at::empty({sizes.directions, sizes.length, sizes.batch, sizes.hidden}, options);
    walk.weight = walking_weight(sizes, of_all_directions(tensors, 1), true);
    const bool is_lstm = has_cell_state(sizes.cell);
    walk.carry = make_carry(sizes, tensors.hidden(), is_lstm ? tensors.cell_state() : Tensor());
    walk_forward(sizes, walk, tensors.has_biases() ? at::stack(of_all_directions(tensors, 3)) : Tensor(),
                 keeps);
    forward.results = {walk.output, from_carry(walk.carry, 0, sizes.dtype)};
    if (is_lstm)
        forward.results.push_back(from_carry(walk.carry, 1, sizes.dtype));
    return forward;
}

/// The gradient of weight_hh in direction d: the sum over all steps of the gates' gradients times the hidden
/// state before the step. gates: those gradients, [time, batch, gates * hidden].
Tensor recurrent_weight_gradient(const RecurrentSizes& sizes, const Tensor& gates, const Tensor& output,
                                 const Tensor& initial, std::int64_t d) {
    const std::int64_t others = sizes.length - 1, first = d == 0 ? 0 : others;
    const Tensor of_initial = at::mm(gates.select(0, first).t(), initial.select(0, d));
    const Tensor before = output.narrow(0, d == 0 ? 0 : 1, others).narrow(2, d * sizes.hidden, sizes.hidden);
    return at::addmm(of_initial, lines_of(gates.narrow(0, d == 0 ? 1 : 0, others)).t(), lines_of(before));
}

/// Computes the gradients of the tensors that `needs` selects. gradients: those of the results; some may be
/// undefined.
template <class Needs>
variable_list differentiate(const RecurrentSizes& sizes, const RecurrentTensors& tensors, const Walk& kept,
                            const variable_list& gradients, const Needs& needs) {
    const at::AutoDispatchBelowADInplaceOrView no_recording;
    const bool is_lstm = has_cell_state(sizes.cell);
    WalkBack walk;
    static_cast<Walk&>(walk) = kept;
    walk.weight = walking_weight(sizes, of_all_directions(tensors, 1), false);
    walk.carry = make_carry(sizes, gradients[1], is_lstm ? gradients[2] : Tensor());
    walk.initial = (is_lstm ? tensors.cell_state() : tensors.hidden()).contiguous();
    walk.grad_output = gradients[0].defined() ? gradients[0].contiguous()
                                              : at::zeros(walk.output.sizes(), walk.output.options());
    walk.grad_gates = at::empty(walk.gates.sizes(), walk.gates.options());
    if (sizes.cell == RecurrentCell::gru)
        walk.grad_hidden_gates = at::empty(walk.gates.sizes(), walk.gates.options());
    walk_backward(sizes, walk);

    variable_list result(1 + tensors.states().size() + tensors.weights().size());
    for (std::size_t state = 0; state < tensors.states().size(); ++state)
        if (needs(1 + state))
            result[1 + state] = from_carry(walk.carry, static_cast<std::int64_t>(state), sizes.dtype);
    const Tensor input = lines_of(tensors.input());
    for (std::size_t d = 0; d < tensors.directions(); ++d) {
        const auto direction = static_cast<std::int64_t>(d);
        const Tensor gates = walk.grad_gates.select(0, direction);
        const Tensor of_hidden =
            walk.grad_hidden_gates.defined() ? walk.grad_hidden_gates.select(0, direction) : gates;
        if (needs(0))
            result[0] = d == 0 ? at::mm(gates, tensors.weight(d, 0))
                               : at::addmm(result[0], gates, tensors.weight(d, 0));
        const auto place = [&](std::size_t which) { return tensors.place(d, which); };
        if (needs(place(0)))
            result[place(0)] = at::mm(gates.t(), input);
        if (needs(place(1)))
            result[place(1)] = recurrent_weight_gradient(
                sizes, of_hidden.view({sizes.length, sizes.batch, of_hidden.size(1)}), walk.output,
                tensors.hidden(), direction);
        if (!tensors.has_biases())
            continue;
        if (needs(place(2)))
            result[place(2)] = gates.sum(0);
        if (needs(place(3)))
            result[place(3)] =
                of_hidden.is_same(gates) && needs(place(2)) ? result[place(2)] : of_hidden.sum(0);
    }
    if (needs(0))
        result[0] = result[0].view(tensors.input().sizes());
    return result;
}

/// Does the same with PyTorch's own composition of the layer, which supports higher derivatives and vmap.
variable_list differentiate_composition(RecurrentCell cell, bool has_biases, const variable_list& saved,
                                        const variable_list& gradients) {
    const bool create_graph = at::GradMode::is_enabled();
    const at::AutoGradMode recording(true);
    const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::DispatchKey::AutocastPrivateUse1);
    // With aliases, a tensor's gradient excludes what it contributes through another of these tensors.
    variable_list aliases, sources;
    for (const Tensor& tensor : saved) {
        aliases.push_back(tensor.requires_grad() ? tensor.view_as(tensor) : tensor);
        if (tensor.requires_grad())
            sources.push_back(aliases.back());
    }
    const RecurrentTensors tensors(cell, has_biases, aliases);
    const auto results = compose({.cell = cell,
                                  .input = tensors.input(),
                                  .states = tensors.states(),
                                  .weights = tensors.weights(),
                                  .has_biases = has_biases,
                                  .layers = 1,
                                  .dropout = 0,
                                  .train = false,
                                  .bidirectional = tensors.directions() == 2,
                                  .batch_first = false});
    variable_list outputs, of_outputs;
    for (std::size_t i = 0; i < results.size(); ++i) {
        if (gradients[i].defined()) {
            outputs.push_back(results[i]);
            of_outputs.push_back(gradients[i]);
        }
    }
    const variable_list found =
        torch::autograd::grad(outputs, sources, of_outputs, create_graph, create_graph,
                              /*allow_unused=*/true);
    variable_list result;
    auto next = found.begin();
    for (const Tensor& tensor : saved)
        result.push_back(tensor.requires_grad() ? *next++ : Tensor());
    return result;
}

/// The arguments after the list of tensors are the cell and whether it has biases.
class RecurrentLayer : public torch::autograd::Function<RecurrentLayer> {
  public:
    static variable_list forward(AutogradContext* context, at::TensorList list, std::int64_t cell,
                                 bool has_biases) {
        const RecurrentTensors tensors(static_cast<RecurrentCell>(cell), has_biases, list);
        const Forward forward =
            compute(recurrent_sizes(static_cast<RecurrentCell>(cell), tensors), tensors, true);
        variable_list saved = list.vec();
        saved.insert(saved.end(), {forward.walk.gates, forward.walk.output, forward.walk.second});
        context->save_for_backward(std::move(saved));
        context->saved_data["cell"] = cell;
        context->saved_data["has_biases"] = has_biases;
        context->set_materialize_grads(false);
        return forward.results;
    }

    static variable_list backward(AutogradContext* context, variable_list gradients) {
        const auto cell = static_cast<RecurrentCell>(context->saved_data["cell"].toInt());
        const bool has_biases = context->saved_data["has_biases"].toBool();
        variable_list saved = context->get_saved_variables();
        Walk kept;
        kept.second = saved.back();
        kept.output = saved[saved.size() - 2];
        kept.gates = saved[saved.size() - 3];
        saved.resize(saved.size() - 3);
        variable_list result(saved.size());
        const RecurrentTensors tensors(cell, has_biases, saved);
        const auto needs = [&](std::size_t place) { return context->needs_input_grad(place); };
        if (std::ranges::none_of(gradients, &Tensor::defined))
            ; // nothing depends on the layer
        else if (at::GradMode::is_enabled() || !are_plain(gradients) || !are_plain(saved))
            result = differentiate_composition(cell, has_biases, saved, gradients);
        else
            result = differentiate(recurrent_sizes(cell, tensors), tensors, kept, gradients, needs);
        result.resize(saved.size() + 2); // the other arguments have no gradients
        return result;
    }
};

} // namespace

bool are_plain(at::TensorList tensors) {
    using c10::DispatchKey;
    constexpr c10::DispatchKeySet others({DispatchKey::Python, DispatchKey::Functionalize,
                                          DispatchKey::Conjugate, DispatchKey::Negative,
                                          DispatchKey::ZeroTensor, DispatchKey::Batched,
                                          DispatchKey::FuncTorchBatched, DispatchKey::FuncTorchGradWrapper});
    return !c10::impl::dispatch_mode_enabled() && !at::functorch::maybeCurrentDynamicLayer() &&
           std::ranges::all_of(tensors, [&](const Tensor& tensor) {
               return !tensor.defined() ||
                      (tensor.device().is_privateuseone() && tensor.layout() == at::kStrided &&
                       !tensor.key_set().has_any(others) && !tensor._fw_grad(0).defined());
           });
}

RecurrentSizes recurrent_sizes(RecurrentCell cell, const RecurrentTensors& tensors) {
    return {.cell = cell,
            .device = tensors.input().device(),
            .dtype = tensors.input().scalar_type(),
            .length = tensors.input().size(0),
            .batch = tensors.input().size(1),
            .hidden = tensors.hidden().size(2),
            .directions = static_cast<std::int64_t>(tensors.directions())};
}

std::vector<Tensor> recurrent_layer(RecurrentCell cell, bool has_biases, at::TensorList tensors,
                                    bool records) {
    const auto requires_grad = [](const Tensor& tensor) { return tensor.requires_grad(); };
    if (records && at::GradMode::is_enabled() && std::ranges::any_of(tensors, requires_grad))
        return RecurrentLayer::apply(tensors, static_cast<std::int64_t>(cell), has_biases);
    const RecurrentTensors of_layer(cell, has_biases, tensors);
    return compute(recurrent_sizes(cell, of_layer), of_layer, false).results;
}

std::vector<Tensor> compose(const RecurrentStack& s) {
    const auto pair = [](std::tuple<Tensor, Tensor>&& results) {
        return std::vector<Tensor>{std::get<0>(results), std::get<1>(results)};
    };
    const auto call = [&](auto function) {
        return pair(function(s.input, s.states[0], s.weights, s.has_biases, s.layers, s.dropout, s.train,
                             s.bidirectional, s.batch_first));
    };
    using Single = std::tuple<Tensor, Tensor>(const Tensor&, const Tensor&, at::TensorList, bool,
                                              std::int64_t, double, bool, bool, bool);
    switch (s.cell) {
    case RecurrentCell::gru:
        return call(static_cast<Single*>(&at::native::gru));
    case RecurrentCell::tanh:
        return call(static_cast<Single*>(&at::native::rnn_tanh));
    case RecurrentCell::relu:
        return call(static_cast<Single*>(&at::native::rnn_relu));
    default:
        const auto [output, hidden, cell_state] =
            at::native::lstm(s.input, s.states, s.weights, s.has_biases, s.layers, s.dropout, s.train,
                             s.bidirectional, s.batch_first);
        return {output, hidden, cell_state};
    }
}

} // namespace rvk
