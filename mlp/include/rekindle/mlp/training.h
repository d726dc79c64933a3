#pragma once
/// How a network is trained: values that round-trip through JSON.

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rekindle::mlp {

struct LossSpec {
    /// gaussian_nll needs two outputs: mean and log-variance (PyTorch's GaussianNLLLoss with var =
    /// exp(second)).
    enum class Kind { mse, huber, bce_with_logits, gaussian_nll };
    Kind kind = Kind::mse;
    double huber_delta = 1.0;
    friend bool operator==(const LossSpec&, const LossSpec&) = default;
};

struct OptimizerSpec {
    enum class Kind { adamw, sgd };
    Kind kind = Kind::adamw;
    double learning_rate = 5e-4;
    double weight_decay = 0.01;
    double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8; ///< adamw
    double momentum = 0;                               ///< sgd
    friend bool operator==(const OptimizerSpec&, const OptimizerSpec&) = default;
};

struct ScheduleSpec {
    enum class Kind { constant, plateau, cosine };
    Kind kind = Kind::plateau;
    double plateau_factor = 0.5; ///< torch's ReduceLROnPlateau, mode min, threshold 1e-4 relative
    int plateau_patience = 10;   ///< epochs
    /// Step s (from 0) below this number uses the factor (s + 1) / warmup_steps (torch's LinearLR from 1 /
    /// warmup_steps).
    std::uint64_t warmup_steps = 0;
    /// cosine: the step at which the rate reaches 0 and stays there. After the warm-up it is torch's
    /// CosineAnnealingLR with T_max = total_steps - warmup_steps.
    std::uint64_t total_steps = 0;
    friend bool operator==(const ScheduleSpec&, const ScheduleSpec&) = default;
};

struct TrainingSpec {
    LossSpec loss;
    OptimizerSpec optimizer;
    ScheduleSpec schedule;
    double clip_norm = 1.0;             ///< global gradient norm (torch.nn.utils.clip_grad_norm_); 0 is off
    std::size_t accumulation_steps = 1; ///< batches per optimizer step, each loss divided by this number
    double ema_decay = 0; ///< exponential moving average of the weights used for evaluation; 0 is off
    /// Weights and activations are rounded to bf16 (nearest, ties to even) for every product; gradients,
    /// moments and the master weights stay float32.
    bool bf16_storage = false;
    /// One rate in [0, 1) for each dropout layer of the network, in order, instead of the rates in its
    /// description; empty: those of the description.
    std::vector<double> dropout_rates;
    std::uint64_t seed = 42;
    std::size_t threads = 1; ///< any number gives the same bits
    /// Throws Error (status usage) naming the field that is out of range.
    void validate() const;
    friend bool operator==(const TrainingSpec&, const TrainingSpec&) = default;
};

/// Absent keys keep their defaults; unknown keys and wrong values throw Error (status usage) naming the key.
void to_json(nlohmann::json& json, const TrainingSpec& spec);
void from_json(const nlohmann::json& json, TrainingSpec& spec);

} // namespace rekindle::mlp
