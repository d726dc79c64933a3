#pragma once
/// The fused training engine for the CPU.

#include <rekindle/mlp/model.h>
#include <rekindle/mlp/training.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle::mlp {

/// Rows of float32 inputs and their targets.
struct Samples {
    const float* inputs = nullptr;  ///< row r begins at inputs + r * stride
    std::size_t stride = 0;         ///< floats between rows, >= the network's inputs
    const float* targets = nullptr; ///< one per row
    std::size_t count = 0;
    /// Keeps the rows alive. Empty: the caller does, for as long as the samples are used.
    std::shared_ptr<const void> owner = {};
};

struct TrainResult {
    double loss_sum = 0; ///< sum over rows of the loss, in double
    std::size_t rows = 0;
    std::size_t steps = 0; ///< optimizer steps done
    double last_gradient_norm = 0;
    /// False: stopped before the first step whose loss or gradient is not finite. Parameters and moments are
    /// those of the previous step; gradients accumulated for the failed step are dropped.
    bool finite = true;
};

/// Everything that the next step depends on: parameters, moments, average, step, schedule, pending gradients.
/// Opaque, versioned bytes that a checkpoint stores. Bit-exact.
struct EngineState {
    std::vector<std::byte> bytes;
};

enum class InstructionSet { x86_64, x86_64_v3, x86_64_v4 };
/// "x86-64", "x86-64-v3" or "x86-64-v4".
std::string_view name(InstructionSet instructions) noexcept;
/// Whether this CPU supports it.
bool supported(InstructionSet instructions) noexcept;
/// The best one that this CPU supports. REKINDLE_ISA=x86-64|x86-64-v3|x86-64-v4 selects a lower one (for
/// tests); throws Error (usage) when it names something else or one that the CPU lacks.
InstructionSet chosen_instruction_set();

/// One network in training. Owns its arenas. Not thread-safe, but several engines may run in parallel. The
/// result has the same bits for any TrainingSpec::threads, and on x86-64-v3 and v4. Flush-to-zero is set
/// inside calls and restored afterwards.
class Engine {
  public:
    /// Throws Error (usage) when the description and the loss do not match, or when this CPU lacks the
    /// instruction set. Parameters are zero until initialize() or set_parameters().
    Engine(ModelDescription model, TrainingSpec training,
           InstructionSet instructions = chosen_instruction_set());
    ~Engine();
    Engine(Engine&&) noexcept;
    Engine& operator=(Engine&&) noexcept;

    const ModelDescription& model() const noexcept;
    const TrainingSpec& training() const noexcept;

    /// Sets weights from the seed (Philox, purpose initial_weights), moments to zero, step to 0.
    void initialize();
    /// The same as initialize(), but copies the weights of an engine with the same model and seed that was
    /// just initialized.
    void initialize_like(const Engine& other);
    /// Sets parameters by name, in PyTorch's layout. Throws Error naming a tensor that is missing or has a
    /// different shape.
    void set_parameters(std::span<const NamedTensor> tensors);
    std::vector<NamedTensor> parameters() const;
    /// The averaged weights if ema_decay > 0, otherwise the same as parameters().
    std::vector<NamedTensor> evaluation_parameters() const;
    /// Optimizer moments by torch's names (exp_avg, exp_avg_sq, momentum_buffer), per parameter, in order.
    std::vector<NamedTensor> optimizer_tensors(std::string_view moment) const;

    /// Trains on rows order[0], order[1], … in batches of batch_size (the last one may be smaller).
    TrainResult train(const Samples& samples, std::span<const std::uint32_t> order, std::size_t batch_size);
    /// Ends an epoch: applies an incomplete accumulation (clipped like any other).
    void finish_accumulation();
    /// Reports an epoch's validation loss to the plateau schedule.
    void report_validation_loss(double loss);

    /// Sum of the loss over all rows, in evaluation mode (no dropout, averaged weights).
    double evaluate(const Samples& samples) const;
    /// Raw outputs, outputs() per row, in evaluation mode.
    void predict(const float* inputs, std::size_t stride, std::size_t rows, std::span<float> outputs) const;
    /// Gradient of the mean loss over a batch at the current parameters, in training mode at the current
    /// step, without an update.
    std::vector<NamedTensor> gradients(const Samples& samples, std::span<const std::uint32_t> rows) const;

    std::uint64_t steps() const noexcept;   ///< of the optimizer
    std::uint64_t batches() const noexcept; ///< seen so far; the key of the dropout masks
    double learning_rate() const noexcept;  ///< for the next step
    EngineState save() const;
    /// Throws Error when the bytes belong to another network or version, or are damaged.
    void restore(const EngineState& state);

    struct Impl; ///< defined only in the library's sources

  private:
    std::unique_ptr<Impl> impl_;
};

/// name(chosen_instruction_set())
std::string_view instruction_set();

} // namespace rekindle::mlp
