#pragma once
/// The interface between engine and kernels: plain structures with the same layout for every instruction set.
///
/// A block is up to 64 rows of a batch. It goes through forward and backward before the next one, so that its
/// activations stay in the cache. Every width is padded to 16 floats, and padding is exactly zero in
/// parameters, activations and gradients. Offsets into arenas and into the workspace are in floats and are
/// multiples of 16.
///
/// Objects of different instruction sets include this header, so it must not define any function.

#include <cstddef>
#include <cstdint>

namespace rekindle::mlp::cpu {

inline constexpr std::size_t lanes = 16;
inline constexpr std::size_t block_rows = 64;
inline constexpr std::size_t gradient_slots = 8;
inline constexpr std::size_t max_outputs = 2;

/// In the same order as mlp::Activation.
enum class Function : std::uint8_t { identity, silu, relu, gelu, tanh };

/// How a gradient is changed when it is stored, so that it becomes the gradient before the activation of the
/// layer that produced the value.
enum class GradientEpilogue : std::uint8_t { plain, relu, derivative };

struct Dropout {
    bool active;
    std::uint32_t threshold; ///< a unit is kept if its word is at least this
    float scale;             ///< 1 / (1 - rate)
    std::uint32_t layer;     ///< position in the model's list of layers
    std::uint32_t first_row[lanes],
        first_block[lanes]; ///< of the 16 Philox blocks computed together, in lane order
    std::uint32_t row_step, block_step, blocks_per_row;
};

/// A linear map, a norm or nothing, then an activation, then dropout; or one end of a residual.
struct Stage {
    enum class Core : std::uint8_t { none, linear, layer_norm, residual_begin, residual_end };
    Core core;
    Function function;
    bool writes_derivative; ///< activation other than ReLU, or dropout: d output / d pre-activation is kept
    bool input_gradient;    ///< an earlier stage has parameters
    bool gradient_is_prepared; ///< the consumer has already applied this stage's derivative
    GradientEpilogue epilogue; ///< for the gradient that this stage writes for its producer
    float epsilon;
    std::size_t inputs, outputs, input_stride, output_stride;
    std::size_t weights, bias; ///< in the parameter arena; linear: [inputs][output_stride]; norm: gain, shift
    std::size_t transposed;    ///< in the transposed arena: [output_stride][input_stride]
    // In the workspace, [block_rows][stride] each:
    std::size_t input_value, output_value, input_gradient_at, output_gradient_at;
    std::size_t derivative, factors, normalized;
    std::size_t rstd;                ///< [block_rows]: 1 / sqrt(variance + epsilon)
    std::size_t producer_derivative; ///< for GradientEpilogue::derivative
    std::size_t skip_value, skip_gradient_at;
    Dropout dropout;
};

/// The last Linear, fused with the loss; or, when the model ends otherwise, the columns of the last stage.
struct Head {
    bool linear;
    bool input_gradient;
    GradientEpilogue epilogue;
    std::size_t inputs, input_stride, outputs;
    std::size_t weights, bias; ///< [outputs][input_stride], [16]
    std::size_t input_value, input_gradient_at, producer_derivative;
    std::size_t values, gradients; ///< in the workspace: [max_outputs][block_rows]
    std::size_t losses, targets;   ///< in the workspace: [block_rows]
};

struct Loss {
    enum class Kind : std::uint8_t { mse, huber, bce_with_logits, gaussian_nll };
    Kind kind;
    float huber_delta;
};

struct Network {
    const Stage* stages;
    std::size_t stage_count;
    Head head;
    Loss loss;
    std::size_t inputs, input_stride;
    std::size_t input_value; ///< in the workspace
    bool round_to_bf16;      ///< values between stages
};

/// Rows of one block. order == nullptr: consecutive rows from the start.
struct Rows {
    const float* inputs;
    std::size_t stride;
    const float* targets;
    const std::uint32_t* order;
    std::size_t count;
    const std::uint32_t* upcoming; ///< rows to prefetch into the cache
    std::size_t upcoming_count;
};

struct TrainingBlock {
    Rows rows;
    const float* parameters;
    const float* transposed;
    float* workspace;
    float* gradients;
    bool accumulate;         ///< add to the gradients instead of replacing them
    float gradient_scale;    ///< 1 / (rows of the batch * accumulated batches)
    std::uint32_t first_row; ///< position of the block's first row in its batch
    std::uint64_t batch;     ///< number of the batch since the start of training
    std::uint64_t seed;
};

/// AdamW as torch.optim.AdamW computes it: the decay is not fused with the step.
struct AdamWStep {
    float gradient_scale, decay, one_minus_beta1, beta2, one_minus_beta2, step_size, inverse_sqrt_correction,
        epsilon;
};
struct SgdStep {
    float gradient_scale, weight_decay, momentum, learning_rate;
};

struct KernelTable {
    /// Forward in training mode, loss and backward for one block. Returns the sum of the loss over its rows.
    double (*train_block)(const Network&, const TrainingBlock&);
    /// Forward in evaluation mode: outputs [rows][outputs].
    void (*predict_block)(const Network&, const Rows&, const float* parameters, float* workspace,
                          float* outputs);
    /// Forward in evaluation mode, and the loss in double.
    double (*evaluate_block)(const Network&, const Rows&, const float* parameters, float* workspace);
    /// out[i] = sources[0][i] + sources[1][i] + … for i in [begin, end); returns the sum of out². begin and
    /// end are multiples of 16.
    double (*reduce)(float* out, const float* const* sources, std::size_t count, std::size_t begin,
                     std::size_t end);
    void (*adamw)(const AdamWStep&, float* parameters, const float* gradients, float* first, float* second,
                  std::size_t begin, std::size_t end);
    void (*sgd)(const SgdStep&, float* parameters, const float* gradients, float* momentum, std::size_t begin,
                std::size_t end);
    /// average += rate * (parameters - average)
    void (*average)(float rate, const float* parameters, float* average, std::size_t begin, std::size_t end);
    /// to[i] = from[i] rounded to bf16 (nearest, ties to even)
    void (*round_bf16)(const float* from, float* to, std::size_t begin, std::size_t end);
    /// Copies rows [first, last) (multiples of 16) of a linear stage's weights into the transposed arena.
    void (*transpose)(const Stage&, const float* parameters, float* transposed, std::size_t first,
                      std::size_t last);
    /// For tests: y[i] = f(x[i]); count is a multiple of 16.
    void (*exp)(const float* x, float* y, std::size_t count);
    void (*tanh)(const float* x, float* y, std::size_t count);
    void (*erf)(const float* x, float* y, std::size_t count);
    void (*log1p)(const float* x, float* y, std::size_t count); ///< x in [0, 1]
    /// The scale (0 or 1 / (1 - rate)) of each unit, [rows][16-padded units].
    void (*dropout_factors)(const Dropout&, std::uint64_t seed, std::uint64_t batch, std::uint32_t first_row,
                            std::size_t rows, std::size_t stride, float* factors);
    /// For benchmarks: 2 * 14 * 16 * iterations floating-point operations in independent chains of
    /// multiply-adds.
    float (*multiply_add_chains)(std::size_t iterations);
};

namespace x86_64 {
extern const KernelTable table;
}
namespace x86_64_v3 {
extern const KernelTable table;
}
namespace x86_64_v4 {
extern const KernelTable table;
}

} // namespace rekindle::mlp::cpu
