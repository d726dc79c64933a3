#pragma once
/// A model as the stages that the GPU kernels execute, with the places of their values in shared memory.
/// kernels/population/constants.slang defines a stage.

#include "gpu/layout.h"

#include <rekindle/mlp/model.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rekindle::mlp::gpu {

/// Order and values are the same as in the kernels.
enum class Core : std::uint32_t { none, linear, layer_norm, residual_begin, residual_end };
enum class Epilogue : std::uint32_t { plain, positive, derivative };

/// A stage without dropout.
inline constexpr std::uint32_t no_dropout = ~0u;

/// Quads between two rows in shared memory; odd, so that eight consecutive rows are in different banks.
constexpr std::uint32_t row_stride(std::uint32_t row_quads) {
    return row_quads | 1u;
}

/// Quads for the sums that `parts` threads give to each other for every tile of four rows: of two threads,
/// each gives two rows; of four, each gives four.
constexpr std::uint32_t partial_quads(std::uint32_t columns, std::uint32_t rows, std::uint32_t parts) {
    return (parts == 2 ? 1 : 4) * columns * rows;
}

struct Stage {
    Core core{};
    Activation function = Activation::identity;
    std::uint32_t inputs = 0, width = 0;
    bool input_gradient = false;        ///< an earlier stage has parameters
    bool keeps_derivative = false;      ///< stores the derivative of activation and dropout combined
    Epilogue epilogue{};                ///< of the gradient that it writes for the stage before it
    std::uint32_t dropout = no_dropout; ///< its number among the network's dropout layers
    std::uint32_t dropout_layer = 0;    ///< its position among all layers
    float epsilon = 0;
    std::size_t partner = 0;                                ///< residual: the stage at the other end
    std::uint32_t weights = 0, transposed = 0, vectors = 0; ///< in quads, as in Layout
    std::uint32_t first_owner = 0;                          ///< as in kernels/population/ownership.slang
    /// The places of its values, in quads of the activations' part of shared memory.
    std::uint32_t input_at = 0, value_at = 0, gradient_at = 0, input_gradient_at = 0, extra_at = 0,
                  rstd_at = 0;
    /// How many threads share a tile of the product and of the input's gradient (1: none do), and where
    /// their sums are.
    std::uint32_t forward_parts = 1, backward_parts = 1;
    std::uint32_t forward_partials_at = 0, backward_partials_at = 0;

    std::uint32_t tiles() const { return core == Core::linear ? quads(inputs) * quads(width) : 0; }
    /// Quads of its bias, or of its gain and shift.
    std::uint32_t vector_quads() const {
        return core == Core::linear ? quads(width) : core == Core::layer_norm ? 2 * quads(width) : 0;
    }
    bool drops() const { return dropout != no_dropout; }
};

/// The last Linear, or the columns of the last stage.
struct Head {
    bool linear = false, input_gradient = false;
    Epilogue epilogue{};
    std::uint32_t outputs = 0, width = 0, vectors = 0, first_owner = 0;
    std::uint32_t input_at = 0, gradient_at = 0;

    std::uint32_t vector_quads() const { return linear ? outputs * quads(width) + 1 : 0; }
};

struct Network {
    std::uint32_t inputs = 0;
    std::uint32_t input_at = 0;
    std::vector<Stage> stages;
    Head head;
    std::uint32_t transposed_quads = 0; ///< for the weights whose inputs need a gradient
    std::uint32_t activation_quads = 0; ///< shared memory for the rows given to place()

    /// Assigns a place to every value for blocks of `rows` rows. Values that are never needed at the same
    /// time share memory. dividing_threads: of a workgroup, if they divide products among them
    /// (kernels/population/linear.slang); 0: they do not.
    void place(std::uint32_t rows, std::uint32_t dividing_threads);
    /// Chooses which of `threads` threads owns each quad of the vectors, with as few slots as possible.
    /// with_tiles: if possible, the owner of a quad of a bias also owns a tile in that column.
    void assign_vectors(std::uint32_t threads, bool with_tiles);
};

/// Precondition: cpu::Plan accepts the model.
Network network_of(const ModelDescription& model, const Layout& layout);

} // namespace rekindle::mlp::gpu
