#pragma once
/// The bytes of a training state (docs/engine.md), independent of the device that holds the tensors.

#include "engine/progress.h"

#include <rekindle/mlp/engine.h>

#include <array>
#include <span>

namespace rekindle::mlp::engine {

/// In file order and in the layout of engine::Plan: parameters, first moment or momentum, second moment,
/// average, accumulated gradient. Those that a training does not use are empty.
using StateArrays = std::array<std::span<float>, 5>;
using ConstStateArrays = std::array<std::span<const float>, 5>;

EngineState write_state(const ModelDescription& model, const TrainingSpec& training, const Progress& progress,
                        const ConstStateArrays& arrays);
/// Fills the arrays. Throws Error (usage), without changing anything, when the bytes are damaged, belong to
/// another version, network, optimizer or averaging, or do not match the sizes of the arrays.
Progress read_state(const EngineState& state, const ModelDescription& model, const TrainingSpec& training,
                    const StateArrays& arrays);

} // namespace rekindle::mlp::engine
