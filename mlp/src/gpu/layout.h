#pragma once
/// The layout of one network's parameters in its arrays on a GPU. Depends only on the model.
///
/// Parameters, both moments, the average and the pending gradient of a member are arrays of the same layout:
/// `floats()` numbers, a multiple of 4, with padding exactly zero. First come the weights of every Linear
/// except the last, in tiles of 4 inputs x 4 outputs: row j of tile (i, o) is the four floats at quad weights
/// + (j * inputs/4 + i) * outputs/4 + o, with inputs and outputs rounded up to multiples of 4. Then come the
/// vectors, each rounded up to 4 floats, in the order of the layers: a Linear's bias, a norm's gain and
/// shift, the last Linear's rows and its bias.

#include <rekindle/mlp/model.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace rekindle::mlp::gpu {

/// Number of groups of four floats that hold `count` floats.
constexpr std::uint32_t quads(std::size_t count) {
    return static_cast<std::uint32_t>((count + 3) / 4);
}

/// The place and layout of a PyTorch tensor.
struct Tensor {
    enum class Form {
        vector, ///< [outputs]
        tiles,  ///< [outputs][inputs], a Linear inside the network
        rows,   ///< [outputs][inputs], the last Linear: outputs rows of quads(inputs) * 4 floats
    };
    std::string name; ///< PyTorch's, as cpu::Parameter::name
    Form form;
    std::size_t outputs, inputs; ///< inputs is 1 for a vector
    std::size_t offset;          ///< floats from the member's array

    std::vector<std::size_t> shape() const;
    std::size_t size() const { return outputs * inputs; }
    /// Position in the member's array of element i of the tensor in PyTorch's order.
    std::size_t position(std::size_t i) const;
};

class Layout {
  public:
    /// Precondition: model.validate() succeeds.
    explicit Layout(const ModelDescription& model);

    /// In PyTorch's order, the same names and order as cpu::Plan::parameters().
    std::span<const Tensor> tensors() const { return tensors_; }
    /// Floats of one member's array.
    std::size_t floats() const { return floats_; }
    /// Number of quads before the vectors begin.
    std::uint32_t weight_quads() const { return weight_quads_; }
    std::uint32_t vector_quads() const { return static_cast<std::uint32_t>(floats_ / 4) - weight_quads_; }

  private:
    std::vector<Tensor> tensors_;
    std::size_t floats_ = 0;
    std::uint32_t weight_quads_ = 0;
};

} // namespace rekindle::mlp::gpu
