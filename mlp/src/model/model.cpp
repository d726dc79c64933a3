#include <rekindle/base/text.h>
#include <rekindle/foundation/error.h>
#include <rekindle/foundation/text.h>
#include <rekindle/mlp/model.h>

#include <nlohmann/json.hpp>

#include <cmath>
#include <set>

namespace rekindle::mlp {

namespace {

using Kind = Layer::Kind;

std::string label(const Layer& layer, std::size_t index) {
    return "layer " + std::to_string(index) + (layer.name.empty() ? "" : " (" + layer.name + ")");
}

Error wrong(const Layer& layer, std::size_t index, std::string what) {
    return usage_error(std::move(what)).at(label(layer, index));
}

Layer linear(std::string name, std::size_t inputs, std::size_t outputs) {
    return {.kind = Kind::linear, .name = std::move(name), .inputs = inputs, .outputs = outputs};
}
Layer layer_norm(std::string name, std::size_t width) {
    return {.kind = Kind::layer_norm, .name = std::move(name), .inputs = width, .outputs = width};
}
Layer activation_of(Activation activation, std::size_t width) {
    return {
        .kind = Kind::activation, .name = {}, .inputs = width, .outputs = width, .activation = activation};
}
Layer dropout_of(double rate, std::size_t width) {
    return {.kind = Kind::dropout, .name = {}, .inputs = width, .outputs = width, .dropout_rate = rate};
}

void check_dropout(const Layer& layer, std::size_t index) {
    if (layer.kind == Kind::dropout && !(layer.dropout_rate >= 0 && layer.dropout_rate < 1))
        throw wrong(layer, index, "dropout rate " + std::to_string(layer.dropout_rate))
            .expected("0 <= rate < 1");
}

void check_values(const Layer& layer, std::size_t index, std::set<std::string>& names) {
    if (layer.inputs == 0 || layer.outputs == 0)
        throw wrong(layer, index, "a layer needs at least one input and one output");
    if (layer.kind != Kind::linear && layer.inputs != layer.outputs)
        throw wrong(layer, index, "only a linear layer may change the width");
    if (layer.kind == Kind::linear || layer.kind == Kind::layer_norm) {
        if (layer.name.empty())
            throw wrong(layer, index, "a layer with parameters needs a name");
        if (!names.insert(layer.name).second)
            throw wrong(layer, index, "the name is used twice");
    }
    check_dropout(layer, index);
    if (layer.kind == Kind::layer_norm && !(layer.epsilon > 0 && std::isfinite(layer.epsilon)))
        throw wrong(layer, index, "epsilon " + std::to_string(layer.epsilon)).expected("a positive number");
}

} // namespace

std::size_t ModelDescription::outputs() const {
    for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer)
        if (layer->kind == Layer::Kind::linear)
            return layer->outputs;
    return inputs;
}

std::vector<double> ModelDescription::dropout_rates() const {
    std::vector<double> rates;
    for (const Layer& layer : layers)
        if (layer.kind == Kind::dropout)
            rates.push_back(layer.dropout_rate);
    return rates;
}

ModelDescription ModelDescription::with_dropout_rates(std::span<const double> rates) const {
    ModelDescription model = *this;
    if (rates.empty())
        return model;
    std::size_t used = 0;
    for (std::size_t i = 0; i < layers.size(); ++i)
        if (Layer& layer = model.layers[i]; layer.kind == Kind::dropout) {
            layer.dropout_rate = used < rates.size() ? rates[used] : 0;
            check_dropout(layer, i);
            ++used;
        }
    if (used != rates.size())
        throw usage_error(counted(rates.size(), "dropout rate") + " for " + counted(used, "dropout layer"))
            .at("dropout_rates")
            .expected("one rate for each dropout layer");
    return model;
}

void ModelDescription::validate() const {
    if (inputs == 0)
        throw usage_error("the network has no inputs").at("inputs");
    if (layers.empty())
        throw usage_error("the network has no layers").at("layers");
    constexpr std::size_t max_layers = std::size_t{1} << 24; // a dropout's position is 24 bits of its key
    if (layers.size() >= max_layers)
        throw usage_error("the network has too many layers").at("layers").expected("fewer than 16,777,216");
    std::set<std::string> names;
    std::vector<std::size_t> open;
    std::size_t width = inputs;
    for (std::size_t i = 0; i < layers.size(); ++i) {
        const Layer& layer = layers[i];
        check_values(layer, i, names);
        if (layer.inputs != width)
            throw wrong(layer, i, "takes " + counted(layer.inputs, "input"))
                .expected(std::to_string(width) + ", the width of the previous layer");
        if (layer.kind == Kind::residual_begin) {
            open.push_back(width);
        } else if (layer.kind == Kind::residual_end) {
            if (open.empty())
                throw wrong(layer, i, "ends a residual that has not been started");
            if (open.back() != width)
                throw wrong(layer, i,
                            "adds " + counted(open.back(), "value") + " to " + std::to_string(width));
            open.pop_back();
        }
        width = layer.outputs;
    }
    if (!open.empty())
        throw usage_error("a residual is started but not ended").at("layers");
}

ModelDescription ModelDescription::default_network(std::size_t inputs, std::span<const std::size_t> hidden,
                                                   double dropout_rate, Activation activation,
                                                   std::size_t outputs) {
    if (hidden.empty())
        throw usage_error("the default network needs at least one hidden width").at("hidden layers");
    ModelDescription model{
        .inputs = inputs, .layers = {}, .initialization = Initialization::kaiming_normal_leaky};
    model.layers.push_back(linear("input_layer", inputs, hidden[0]));
    model.layers.push_back(activation_of(activation, hidden[0]));
    for (std::size_t i = 0; i + 1 < hidden.size(); ++i) {
        const std::string block = "hidden_layers." + std::to_string(i);
        const std::size_t width = hidden[i + 1];
        model.layers.push_back(linear(block + ".0", hidden[i], width));
        model.layers.push_back(layer_norm(block + ".1", width));
        model.layers.push_back(activation_of(activation, width));
        const double rate = dropout_rate * (1.0 + 0.2 * static_cast<double>(i));
        if (rate > 0)
            model.layers.push_back(dropout_of(rate, width));
    }
    model.layers.push_back(layer_norm("final_norm", hidden.back()));
    model.layers.push_back(linear("output_layer", hidden.back(), outputs));
    model.validate();
    return model;
}

ModelDescription ModelDescription::plain(std::size_t inputs, std::span<const std::size_t> hidden,
                                         Activation activation, std::size_t outputs) {
    ModelDescription model{.inputs = inputs, .layers = {}, .initialization = Initialization::pytorch_default};
    std::size_t width = inputs;
    for (std::size_t i = 0; i < hidden.size(); ++i) {
        model.layers.push_back(linear("layers." + std::to_string(i), width, hidden[i]));
        width = hidden[i];
        model.layers.push_back(activation_of(activation, width));
    }
    model.layers.push_back(linear("layers." + std::to_string(hidden.size()), width, outputs));
    model.validate();
    return model;
}

} // namespace rekindle::mlp
