#pragma once
/// The state of an Engine.

#include "engine/arena.h"
#include "engine/instruction_set.h"
#include "engine/plan.h"
#include "engine/progress.h"
#include "engine/state.h"

#include <rekindle/mlp/engine.h>

#include <array>
#include <vector>

namespace rekindle::mlp {

struct Engine::Impl {
    Impl(ModelDescription model, TrainingSpec training, InstructionSet instructions);

    ModelDescription model;
    TrainingSpec training;
    engine::Plan plan;
    engine::Network network;
    const engine::KernelTable& kernels;
    engine::Progress progress;

    engine::Arena parameters, first_moment, second_moment;
    engine::Arena average; ///< ema_decay > 0
    engine::Arena rounded; ///< bf16_storage: what forward and backward read
    engine::Arena pending; ///< accumulation_steps > 1: the gradient so far
    engine::Arena transposed;
    std::array<engine::Arena, engine::gradient_slots> slots; ///< made when a batch first needs them
    std::vector<engine::Arena> workspaces;                   ///< one per thread

    bool adam() const { return training.optimizer.kind == OptimizerSpec::Kind::adamw; }
    const engine::Arena& forward_parameters() const { return rounded ? rounded : parameters; }
    const engine::Arena& averaged() const { return average ? average : parameters; }
    double rate() const { return engine::learning_rate(training, progress); }

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
    void predict(const engine::Rows& rows, float* outputs) const;
    std::vector<NamedTensor> gradients(const Samples& samples, std::span<const std::uint32_t> rows) const;
    EngineState save() const;
    void restore(const EngineState& state);
    engine::StateArrays saved_arrays();
};

} // namespace rekindle::mlp
