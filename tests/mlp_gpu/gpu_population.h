#pragma once
/// Populations on the device that the GPU tests run on: the first one that the runtime accepts (a CPU driver
/// such as lavapipe counts). Without a device these tests fail, because an untested engine is not known to
/// work.

#include "gpu_device.h"

#include <rekindle/mlp/population.h>

#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace rekindle::mlp::test {

inline constexpr GpuShape shapes[] = {GpuShape::latency, GpuShape::throughput};

inline std::unique_ptr<Population> gpu(const ModelDescription& model, std::vector<TrainingSpec> members,
                                       GpuShape shape = GpuShape::automatic) {
    auto population = gpu_population(gpu_device(), model, std::move(members), shape);
    population->initialize();
    return population;
}

inline Engine cpu(const ModelDescription& model, const TrainingSpec& spec) {
    Engine engine(model, spec);
    engine.initialize();
    return engine;
}

inline std::vector<TrainResult> train(Population& population, const SampleSet& samples,
                                      std::span<const std::uint32_t> order, std::size_t batch_size) {
    return population.train(samples, std::span(&order, 1), batch_size);
}

} // namespace rekindle::mlp::test
