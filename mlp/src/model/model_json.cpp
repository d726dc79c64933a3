#include "model/json_fields.h"

#include <rekindle/mlp/model.h>

namespace rekindle::mlp {

namespace {

constexpr Words<Layer::Kind, 6> kinds{
    {"linear", "layer_norm", "activation", "dropout", "residual_begin", "residual_end"}};
constexpr Words<Activation, 5> activations{{"identity", "silu", "relu", "gelu", "tanh"}};
constexpr Words<Initialization, 2> initializations{{"pytorch_default", "kaiming_normal_leaky"}};

nlohmann::json write_layer(const Layer& layer) {
    nlohmann::json json{{"kind", kinds.write(layer.kind)}, {"inputs", layer.inputs}};
    if (!layer.name.empty())
        json["name"] = layer.name;
    if (layer.kind == Layer::Kind::linear)
        json["outputs"] = layer.outputs;
    else if (layer.kind == Layer::Kind::activation)
        json["activation"] = activations.write(layer.activation);
    else if (layer.kind == Layer::Kind::dropout)
        json["dropout_rate"] = layer.dropout_rate;
    else if (layer.kind == Layer::Kind::layer_norm)
        json["epsilon"] = layer.epsilon;
    return json;
}

Layer read_layer(const nlohmann::json& json, const std::string& place) {
    const JsonFields fields(json, place);
    fields.only({"kind", "name", "inputs", "outputs", "activation", "dropout_rate", "epsilon"});
    Layer layer;
    fields.required("kind", kinds, layer.kind);
    fields.optional("name", layer.name);
    fields.required("inputs", layer.inputs);
    layer.outputs = layer.inputs;
    if (layer.kind == Layer::Kind::linear)
        fields.required("outputs", layer.outputs);
    else
        fields.optional("outputs", layer.outputs);
    if (layer.kind == Layer::Kind::activation)
        fields.required("activation", activations, layer.activation);
    if (layer.kind == Layer::Kind::dropout)
        fields.required("dropout_rate", layer.dropout_rate);
    fields.optional("epsilon", layer.epsilon);
    return layer;
}

} // namespace

void to_json(nlohmann::json& json, const ModelDescription& model) {
    json = nlohmann::json{{"version", 1},
                          {"inputs", model.inputs},
                          {"initialization", initializations.write(model.initialization)},
                          {"layers", nlohmann::json::array()}};
    for (const Layer& layer : model.layers)
        json["layers"].push_back(write_layer(layer));
}

void from_json(const nlohmann::json& json, ModelDescription& model) {
    const JsonFields fields(json, "");
    const char* const early =
        "initialisation"; // codespell:ignore (early runs spell the key in the British way)
    const char* const initialization = fields.has(early) ? early : "initialization";
    fields.only({"version", "inputs", initialization, "layers"});
    unsigned version = 1;
    fields.optional("version", version);
    if (version != 1)
        throw usage_error("unknown version " + std::to_string(version)).at("version").expected("1");
    ModelDescription read;
    fields.required("inputs", read.inputs);
    fields.optional(initialization, initializations, read.initialization);
    const nlohmann::json& layers = fields.get("layers");
    if (!layers.is_array())
        throw usage_error("not a list").at("layers").expected("a list of layers");
    for (std::size_t i = 0; i < layers.size(); ++i)
        read.layers.push_back(read_layer(layers[i], "layers[" + std::to_string(i) + "]"));
    read.validate();
    model = std::move(read);
}

} // namespace rekindle::mlp
