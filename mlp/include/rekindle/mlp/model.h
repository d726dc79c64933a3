#pragma once
/// The description of a network: a value that round-trips through JSON.

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace rekindle::mlp {

enum class Activation { identity, silu, relu, gelu, tanh };

/// One step of the network. `name` is the state-dict prefix of its parameters ("input_layer",
/// "hidden_layers.0.0").
struct Layer {
    enum class Kind { linear, layer_norm, activation, dropout, residual_begin, residual_end };
    Kind kind = Kind::linear;
    std::string name;
    std::size_t inputs = 0, outputs = 0;          ///< linear (inputs == outputs otherwise)
    Activation activation = Activation::identity; ///< activation
    double dropout_rate = 0;                      ///< dropout, in [0, 1)
    double epsilon = 1e-5;                        ///< layer_norm
    friend bool operator==(const Layer&, const Layer&) = default;
};

/// How the weights of a Linear are initialized.
enum class Initialization { pytorch_default, kaiming_normal_leaky };

struct ModelDescription {
    std::size_t inputs = 0;
    std::vector<Layer> layers;
    Initialization initialization = Initialization::pytorch_default;

    std::size_t outputs() const;
    /// Throws Error (status usage) naming the layer when sizes, names or the nesting of residuals are wrong.
    void validate() const;
    /// One for each dropout layer, in order.
    std::vector<double> dropout_rates() const;
    /// The same network with these rates; no rates: unchanged. Throws Error (status usage) unless there
    /// are as many as dropout layers, each in [0, 1).
    ModelDescription with_dropout_rates(std::span<const double> rates) const;
    friend bool operator==(const ModelDescription&, const ModelDescription&) = default;

    /// The network of the original system: Linear + SiLU, then [Linear, LayerNorm, SiLU,
    /// Dropout(rate·(1+0.2·i))]*, LayerNorm, Linear(→outputs); state-dict keys input_layer.*,
    /// hidden_layers.{i}.0.*, hidden_layers.{i}.1.*, final_norm.*, output_layer.*.
    static ModelDescription default_network(std::size_t inputs, std::span<const std::size_t> hidden,
                                            double dropout_rate, Activation activation = Activation::silu,
                                            std::size_t outputs = 1);
    /// Linear + activation per hidden width, then Linear: no norms, no dropout. Keys layers.{i}.*
    static ModelDescription plain(std::size_t inputs, std::span<const std::size_t> hidden,
                                  Activation activation = Activation::relu, std::size_t outputs = 1);
};

void to_json(nlohmann::json& json, const ModelDescription& model);
/// Throws Error (status usage) naming the wrong key.
void from_json(const nlohmann::json& json, ModelDescription& model);

/// A parameter in PyTorch's layout: Linear weights are [outputs][inputs], row-major.
struct NamedTensor {
    std::string name;
    std::vector<std::size_t> shape;
    std::vector<float> values;
};

} // namespace rekindle::mlp
