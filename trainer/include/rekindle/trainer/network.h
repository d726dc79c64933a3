#pragma once
/// The network and its training settings, from a configuration.

#include <rekindle/mlp/engine.h>
#include <rekindle/trainer/config.h>
#include <rekindle/trainer/dataset.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace rekindle::trainer {

/// The network of --model, else the default one. Throws Error (usage) when its inputs or outputs do not match
/// the data.
mlp::ModelDescription network_of(const TrainConfig& config, std::size_t inputs, const TargetMeaning& meaning);
/// Throws Error (usage) at `where` if the network's inputs or outputs are not those that the job needs.
void require_sizes(const mlp::ModelDescription& model, std::size_t inputs, const TargetMeaning& meaning,
                   const std::string& where);
mlp::TrainingSpec training_spec(const TrainConfig& config, const Dataset& set, std::size_t threads);
/// The same without a data set: only the number of training rows matters.
mlp::TrainingSpec training_spec(const TrainConfig& config, const TargetMeaning& meaning,
                                std::uint64_t training_rows, std::size_t threads);
/// One per network of --population: member k has the seed --seed + k.
std::vector<mlp::TrainingSpec> member_specs(const TrainConfig& config, const Dataset& set,
                                            std::size_t threads);
/// An engine for evaluation that holds the given parameters.
mlp::Engine engine_with(const mlp::ModelDescription& model, mlp::TrainingSpec spec,
                        std::span<const mlp::NamedTensor> parameters);
std::size_t parameter_count(const mlp::ModelDescription& model);
/// "54-128-64-1".
std::string describe_network(const mlp::ModelDescription& model);

} // namespace rekindle::trainer
