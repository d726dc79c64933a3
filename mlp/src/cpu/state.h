#pragma once
/// The bytes of a training state (docs/engine.md), independent of the device that holds the tensors.

#include "cpu/progress.h"

#include <rekindle/mlp/engine.h>

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

namespace rekindle::mlp::cpu {

/// The arrays of a training state in file order, each in the layout of cpu::Plan.
enum class StateArray : std::size_t {
    parameters,
    first_moment, ///< of AdamW, or the momentum of SGD
    second_moment,
    average,
    pending, ///< the gradient accumulated so far
};
inline constexpr std::size_t state_array_count = 5;

/// Whether a training with these settings has the array.
bool has_array(const TrainingSpec& training, StateArray array);
/// The array of the optimizer moment that torch calls by this name. Throws Error (usage) if the optimizer has
/// no such moment.
StateArray moment_array(const TrainingSpec& training, std::string_view name);

/// In the order of StateArray; arrays that a training does not have are empty.
using StateArrays = std::array<std::span<float>, state_array_count>;
using ConstStateArrays = std::array<std::span<const float>, state_array_count>;

EngineState write_state(const ModelDescription& model, const TrainingSpec& training, const Progress& progress,
                        const ConstStateArrays& arrays);
/// Fills the arrays. Throws Error (usage), without changing anything, when the bytes are damaged, belong to
/// another version, network, optimizer or averaging, or do not match the sizes of the arrays.
Progress read_state(const EngineState& state, const ModelDescription& model, const TrainingSpec& training,
                    const StateArrays& arrays);

} // namespace rekindle::mlp::cpu
