#pragma once
/// Turns a model description into stages, arena offsets and a table of named parameters.

#include "cpu/kernels.h"

#include <rekindle/kernels/ceil_div.h>
#include <rekindle/mlp/model.h>
#include <rekindle/mlp/training.h>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace rekindle::mlp::cpu {

constexpr std::size_t padded(std::size_t width) {
    return kernels::ceil_div(width, lanes) * lanes;
}

/// The place and layout of a PyTorch tensor in the arenas.
struct Parameter {
    enum class Layout {
        vector,     ///< [outputs]
        transposed, ///< [inputs][stride]: a Linear inside the network
        rows,       ///< [outputs][stride]: the last Linear
    };
    enum class Role { weight, bias, gain, shift };
    std::string name;
    Layout layout;
    Role role;
    std::size_t outputs, inputs; ///< inputs: the Linear's, also for its bias; 1 for a norm
    std::size_t offset, stride;

    std::vector<std::size_t> shape() const;
    std::size_t size() const { return layout == Layout::vector ? outputs : outputs * inputs; }
    /// Position in the arena of element i of the tensor in PyTorch's order.
    std::size_t position(std::size_t i) const;
};

/// Immutable after construction.
class Plan {
  public:
    /// Throws Error (usage) when the model or the training is invalid or the two do not match.
    Plan(const ModelDescription& model, const TrainingSpec& training);
    Plan(const Plan&) = delete;
    Plan& operator=(const Plan&) = delete;

    /// Points into the plan, so the plan must not be a temporary.
    Network network() const&;
    Network network() const&& = delete;
    std::span<const Stage> stages() const { return stages_; }
    std::span<const Parameter> parameters() const { return parameters_; }
    std::size_t parameter_floats() const { return parameter_floats_; }
    std::size_t transposed_floats() const { return transposed_floats_; }
    std::size_t workspace_floats() const { return workspace_floats_; }

  private:
    /// A value between stages, its gradient, and the stage that produces it (npos: the network's input).
    struct Value {
        std::size_t width, value, gradient, producer;
    };
    static constexpr std::size_t npos = static_cast<std::size_t>(-1);

    std::size_t take(std::size_t& total, std::size_t floats);
    std::size_t workspace_block(std::size_t stride) { return take(workspace_floats_, block_rows * stride); }
    void add_layer(const Layer& layer, std::size_t position);
    Stage& add_stage(Stage::Core core, std::size_t outputs);
    Stage* open_stage();
    void add_linear(const Layer& layer);
    void add_norm(const Layer& layer);
    void add_dropout(const Layer& layer, std::size_t position);
    void add_residual_end();
    void add_head(const Layer* linear);
    void connect_gradients();
    void name_parameters(const Layer& layer, Parameter::Layout layout, std::size_t weights, std::size_t bias,
                         std::size_t stride);

    std::vector<Stage> stages_;
    std::vector<Parameter> parameters_;
    Head head_{};
    Loss loss_{};
    std::size_t inputs_, input_value_ = 0;
    bool round_to_bf16_;
    std::size_t parameter_floats_ = 0, transposed_floats_ = 0, workspace_floats_ = 0;
    Value current_{};
    std::vector<Value> residuals_;
    std::vector<std::size_t> residual_stages_;
};

} // namespace rekindle::mlp::cpu
