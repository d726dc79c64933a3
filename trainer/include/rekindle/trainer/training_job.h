#pragma once
/// A training job as far as the choice of its device depends on it.

#include <rekindle/mlp/model.h>
#include <rekindle/mlp/training.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rekindle::trainer {

/// Owns neither the model nor the members.
struct TrainingJob {
    const mlp::ModelDescription& model;
    const std::vector<mlp::TrainingSpec>& members;
    std::size_t batch_size = 0;
    std::int64_t epochs = 0;
    double steps = 0; ///< that each network still has to do
    std::size_t threads = 1;
};

} // namespace rekindle::trainer
