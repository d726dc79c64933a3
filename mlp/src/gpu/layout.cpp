#include "gpu/layout.h"

namespace rekindle::mlp::gpu {

std::vector<std::size_t> Tensor::shape() const {
    return form == Form::vector ? std::vector{outputs} : std::vector{outputs, inputs};
}

std::size_t Tensor::position(std::size_t i) const {
    if (form == Form::vector)
        return offset + i;
    const std::size_t output = i / inputs, input = i % inputs;
    if (form == Form::rows)
        return offset + output * 4 * quads(inputs) + input;
    const std::size_t row = input % 4 * quads(inputs) + input / 4;
    return offset + row * 4 * quads(outputs) + output;
}

Layout::Layout(const ModelDescription& model) {
    using Kind = Layer::Kind;
    const bool ends_linear = model.layers.back().kind == Kind::linear;
    const std::size_t inner = model.layers.size() - (ends_linear ? 1 : 0);
    for (std::size_t i = 0; i < inner; ++i)
        if (const Layer& layer = model.layers[i]; layer.kind == Kind::linear)
            weight_quads_ += 4 * quads(layer.inputs) * quads(layer.outputs);
    std::size_t weights = 0;
    floats_ = 4 * std::size_t{weight_quads_};
    const auto take = [](std::size_t& total, std::size_t floats) {
        const std::size_t at = total;
        total += std::size_t{4} * quads(floats);
        return at;
    };
    for (std::size_t i = 0; i < model.layers.size(); ++i) {
        const Layer& layer = model.layers[i];
        const std::string weight = layer.name + ".weight", bias = layer.name + ".bias";
        if (layer.kind == Kind::layer_norm) {
            tensors_.push_back(
                {weight, Tensor::Form::vector, layer.outputs, 1, take(floats_, layer.outputs)});
        } else if (layer.kind == Kind::linear && i < inner) {
            tensors_.push_back({weight, Tensor::Form::tiles, layer.outputs, layer.inputs,
                                take(weights, std::size_t{16} * quads(layer.inputs) * quads(layer.outputs))});
        } else if (layer.kind == Kind::linear) {
            tensors_.push_back({weight, Tensor::Form::rows, layer.outputs, layer.inputs,
                                take(floats_, layer.outputs * 4 * quads(layer.inputs))});
        } else {
            continue;
        }
        tensors_.push_back({bias, Tensor::Form::vector, layer.outputs, 1, take(floats_, layer.outputs)});
    }
}

} // namespace rekindle::mlp::gpu
