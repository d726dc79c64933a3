#pragma once
/// Whether a population fits into memory, checked before it is created.

#include <rekindle/mlp/model.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace rekindle::trainer {

/// What the networks train on: with a GPU, the host keeps their best weights and, while a checkpoint is
/// written, their states.
enum class TrainingDevice { cpu, gpu };

/// Bytes of host memory for one network while it trains, including its history of `epochs` epochs. An upper
/// estimate: 48 bytes per parameter in a CPU engine (parameters, moments, transposed weights, eight partial
/// gradients), 16 in best weights and checkpoint.
std::uint64_t host_bytes_per_network(const mlp::ModelDescription& model, std::int64_t epochs,
                                     TrainingDevice device);

/// The memory available without swapping; nothing when the system does not report it.
std::optional<std::uint64_t> available_memory();

/// Throws Error (usage) at --population when the networks do not fit into `available` bytes, saying how many
/// do.
void require_memory(const mlp::ModelDescription& model, std::size_t networks, std::int64_t epochs,
                    TrainingDevice device, std::optional<std::uint64_t> available = available_memory());

} // namespace rekindle::trainer
