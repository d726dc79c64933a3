#pragma once
/// The state of an Engine.

#include "cpu/arena.h"
#include "cpu/instruction_set.h"
#include "cpu/plan.h"
#include "cpu/progress.h"
#include "cpu/state.h"

#include <rekindle/mlp/engine.h>

#include <array>
#include <vector>

namespace rekindle::mlp {

struct Engine::Impl {
    Impl(const ModelDescription& model, TrainingSpec training, InstructionSet instructions);

    ModelDescription model;
    TrainingSpec training;
    cpu::Plan plan;
    cpu::Network network;
    const cpu::KernelTable& kernels;
    cpu::Progress progress;

    cpu::Arena parameters, first_moment, second_moment;
    cpu::Arena average; ///< ema_decay > 0
    cpu::Arena rounded; ///< bf16_storage: the weights that forward and backward read
    cpu::Arena pending; ///< accumulation_steps > 1: the gradient so far
    cpu::Arena transposed;
    std::array<cpu::Arena, cpu::gradient_slots> slots; ///< made when a batch first needs them
    std::vector<cpu::Arena> workspaces;                ///< one per thread

    bool adam() const { return training.optimizer.kind == OptimizerSpec::Kind::adamw; }
    const cpu::Arena& forward_parameters() const { return rounded ? rounded : parameters; }
    const cpu::Arena& averaged() const { return average ? average : parameters; }
    double rate() const { return cpu::learning_rate(training, progress); }

    /// Call after the parameters were set from outside: updates everything derived from them.
    void parameters_changed();
    /// Resets moments and counters.
    void restart();
    TrainResult train(const Samples& samples, std::span<const std::uint32_t> order, std::size_t batch_size);
    /// Applies one optimizer step with this gradient, whose `norm` determines the clipping factor; does the
    /// share of thread t of `threads`.
    void update_share(const float* gradient, double norm, std::size_t t, std::size_t threads);
    void transpose_share(std::size_t t, std::size_t threads);
    void apply_pending();
    double evaluate(const Samples& samples) const;
    void predict(const cpu::Rows& rows, float* outputs) const;
    std::vector<NamedTensor> gradients(const Samples& samples, std::span<const std::uint32_t> rows) const;
    EngineState save() const;
    void restore(const EngineState& state);
    cpu::StateArrays saved_arrays();
};

} // namespace rekindle::mlp
