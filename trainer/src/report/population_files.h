#pragma once
/// The files that --population adds to a run. Format: docs/formats/population.md.

#include <rekindle/mlp/model.h>
#include <rekindle/trainer/fit.h>

#include <filesystem>

namespace rekindle::trainer {

/// population.csv: one line per network.
void write_population_table(const std::filesystem::path& path, const FitResult& fit);
/// population.safetensors: every parameter of all networks in one tensor, the network being the first
/// dimension.
void write_population_weights(const std::filesystem::path& path, const mlp::ModelDescription& model,
                              const FitResult& fit);

} // namespace rekindle::trainer
