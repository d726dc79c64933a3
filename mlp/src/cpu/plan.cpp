#include "cpu/plan.h"

#include <rekindle/base/text.h>
#include <rekindle/foundation/error.h>
#include <rekindle/mlp/dropout.h>

#include <utility>

namespace rekindle::mlp::cpu {

static_assert(static_cast<int>(Function::tanh) == static_cast<int>(Activation::tanh));
static_assert(static_cast<int>(Loss::Kind::gaussian_nll) == static_cast<int>(LossSpec::Kind::gaussian_nll));

std::vector<std::size_t> Parameter::shape() const {
    return layout == Layout::vector ? std::vector{outputs} : std::vector{outputs, inputs};
}

std::size_t Parameter::position(std::size_t i) const {
    switch (layout) {
    case Layout::vector:
        return offset + i;
    case Layout::transposed:
        return offset + (i % inputs) * stride + i / inputs;
    case Layout::rows:
        return offset + (i / inputs) * stride + i % inputs;
    }
    return offset;
}

Plan::Plan(const ModelDescription& model, const TrainingSpec& training)
    : inputs_(model.inputs), round_to_bf16_(training.bf16_storage) {
    model.validate();
    training.validate();
    const std::size_t expected_outputs = training.loss.kind == LossSpec::Kind::gaussian_nll ? 2 : 1;
    if (model.outputs() != expected_outputs)
        throw usage_error("the network has " + counted(model.outputs(), "output"))
            .at("loss")
            .expected(std::to_string(expected_outputs) + " for this loss")
            .hint(expected_outputs == 2 ? "gaussian_nll predicts a mean and a log-variance." : "");
    loss_ = {static_cast<Loss::Kind>(training.loss.kind), static_cast<float>(training.loss.huber_delta)};
    input_value_ = workspace_block(padded(inputs_));
    current_ = {inputs_, input_value_, 0, npos};
    const bool ends_linear = model.layers.back().kind == Layer::Kind::linear;
    const std::size_t inner = model.layers.size() - (ends_linear ? 1 : 0);
    for (std::size_t i = 0; i < inner; ++i)
        add_layer(model.layers[i], i);
    add_head(ends_linear ? &model.layers.back() : nullptr);
    if (parameters_.empty())
        throw usage_error("the network has no parameters").at("layers").expected("a linear layer");
    connect_gradients();
}

Network Plan::network() const& {
    return {stages_.data(), stages_.size(),  head_,        loss_,
            inputs_,        padded(inputs_), input_value_, round_to_bf16_};
}

std::size_t Plan::take(std::size_t& total, std::size_t floats) {
    return std::exchange(total, total + padded(floats));
}

void Plan::add_layer(const Layer& layer, std::size_t position) {
    switch (layer.kind) {
    case Layer::Kind::linear:
        return add_linear(layer);
    case Layer::Kind::layer_norm:
        return add_norm(layer);
    case Layer::Kind::activation: {
        if (layer.activation == Activation::identity)
            return;
        Stage* stage = open_stage();
        if (stage == nullptr || stage->function != Function::identity || stage->dropout.active)
            stage = &add_stage(Stage::Core::none, current_.width);
        stage->function = static_cast<Function>(layer.activation);
        return;
    }
    case Layer::Kind::dropout:
        return add_dropout(layer, position);
    case Layer::Kind::residual_begin:
        residuals_.push_back(current_);
        residual_stages_.push_back(stages_.size());
        add_stage(Stage::Core::residual_begin, current_.width);
        return;
    case Layer::Kind::residual_end:
        return add_residual_end();
    }
}

Stage& Plan::add_stage(Stage::Core core, std::size_t outputs) {
    Stage s{};
    s.core = core;
    s.inputs = current_.width;
    s.outputs = outputs;
    s.input_stride = padded(s.inputs);
    s.output_stride = padded(outputs);
    s.input_gradient = !parameters_.empty();
    s.input_value = current_.value;
    s.input_gradient_at = current_.gradient;
    if (core == Stage::Core::residual_begin) {
        s.output_value = s.input_value;
        s.output_gradient_at = current_.gradient;
    } else {
        s.output_value = workspace_block(s.output_stride);
        s.output_gradient_at = workspace_block(s.output_stride);
    }
    current_ = {outputs, s.output_value, s.output_gradient_at, stages_.size()};
    stages_.push_back(s);
    return stages_.back();
}

/// The last stage, if an activation or a dropout can still join it.
Stage* Plan::open_stage() {
    if (stages_.empty() || stages_.back().core == Stage::Core::residual_begin ||
        stages_.back().core == Stage::Core::residual_end)
        return nullptr;
    return &stages_.back();
}

void Plan::name_parameters(const Layer& layer, Parameter::Layout layout, std::size_t weights,
                           std::size_t bias, std::size_t stride) {
    const bool norm = layer.kind == Layer::Kind::layer_norm;
    using Role = Parameter::Role;
    parameters_.push_back({layer.name + ".weight", layout, norm ? Role::gain : Role::weight, layer.outputs,
                           norm ? 1 : layer.inputs, weights, stride});
    parameters_.push_back({layer.name + ".bias", Parameter::Layout::vector, norm ? Role::shift : Role::bias,
                           layer.outputs, norm ? 1 : layer.inputs, bias, padded(layer.outputs)});
}

void Plan::add_linear(const Layer& layer) {
    Stage& s = add_stage(Stage::Core::linear, layer.outputs);
    s.weights = take(parameter_floats_, s.inputs * s.output_stride);
    s.bias = take(parameter_floats_, s.output_stride);
    if (s.input_gradient)
        s.transposed = take(transposed_floats_, s.output_stride * s.input_stride);
    name_parameters(layer, Parameter::Layout::transposed, s.weights, s.bias, s.output_stride);
}

void Plan::add_norm(const Layer& layer) {
    Stage& s = add_stage(Stage::Core::layer_norm, layer.outputs);
    s.epsilon = static_cast<float>(layer.epsilon);
    s.weights = take(parameter_floats_, s.output_stride);
    s.bias = take(parameter_floats_, s.output_stride);
    s.normalized = workspace_block(s.output_stride);
    s.rstd = take(workspace_floats_, block_rows);
    name_parameters(layer, Parameter::Layout::vector, s.weights, s.bias, s.output_stride);
}

void Plan::add_dropout(const Layer& layer, std::size_t position) {
    if (dropout_threshold(layer.dropout_rate) == 0)
        return;
    Stage* stage = open_stage();
    if (stage == nullptr || stage->dropout.active)
        stage = &add_stage(Stage::Core::none, current_.width);
    Dropout& d = stage->dropout;
    d.active = true;
    d.threshold = dropout_threshold(layer.dropout_rate);
    d.scale = dropout_scale(layer.dropout_rate);
    d.layer = static_cast<std::uint32_t>(position);
    d.blocks_per_row = static_cast<std::uint32_t>(stage->output_stride / 4);
    d.row_step = static_cast<std::uint32_t>(lanes) / d.blocks_per_row;
    d.block_step = static_cast<std::uint32_t>(lanes) % d.blocks_per_row;
    for (std::uint32_t lane = 0; lane < lanes; ++lane) {
        const std::uint32_t flat = 4 * (lane % 4) + lane / 4; // see dropout_factors
        d.first_row[lane] = flat / d.blocks_per_row;
        d.first_block[lane] = flat % d.blocks_per_row;
    }
    stage->factors = workspace_block(stage->output_stride);
}

void Plan::add_residual_end() {
    const Value saved = residuals_.back();
    Stage& s = add_stage(Stage::Core::residual_end, current_.width);
    s.skip_value = saved.value;
    stages_[residual_stages_.back()].skip_gradient_at = s.output_gradient_at;
    residuals_.pop_back();
    residual_stages_.pop_back();
}

void Plan::add_head(const Layer* linear) {
    head_.linear = linear != nullptr;
    head_.outputs = linear ? linear->outputs : current_.width;
    head_.inputs = current_.width;
    head_.input_stride = padded(current_.width);
    head_.input_gradient = !parameters_.empty();
    head_.input_value = current_.value;
    head_.input_gradient_at = current_.gradient;
    head_.values = workspace_block(max_outputs);
    head_.gradients = workspace_block(max_outputs);
    head_.losses = workspace_block(1);
    head_.targets = workspace_block(1);
    if (linear == nullptr)
        return;
    head_.weights = take(parameter_floats_, head_.outputs * head_.input_stride);
    head_.bias = take(parameter_floats_, max_outputs);
    name_parameters(*linear, Parameter::Layout::rows, head_.weights, head_.bias, head_.input_stride);
}

/// Lets each consumer with parameters apply its producer's derivative while writing the gradient.
void Plan::connect_gradients() {
    for (Stage& s : stages_) {
        s.writes_derivative =
            s.dropout.active || (s.function != Function::identity && s.function != Function::relu);
        if (s.writes_derivative)
            s.derivative = workspace_block(s.output_stride);
    }
    const auto prepare = [this](std::size_t producer, GradientEpilogue& epilogue, std::size_t& derivative) {
        Stage& p = stages_[producer];
        if (p.writes_derivative) {
            epilogue = GradientEpilogue::derivative;
            derivative = p.derivative;
        } else if (p.function == Function::relu) {
            epilogue = GradientEpilogue::relu;
        }
        p.gradient_is_prepared = true;
    };
    for (std::size_t i = 1; i < stages_.size(); ++i) {
        Stage& s = stages_[i];
        if (s.input_gradient && (s.core == Stage::Core::linear || s.core == Stage::Core::layer_norm))
            prepare(i - 1, s.epilogue, s.producer_derivative);
    }
    if (head_.linear && head_.input_gradient)
        prepare(stages_.size() - 1, head_.epilogue, head_.producer_derivative);
}

} // namespace rekindle::mlp::cpu
