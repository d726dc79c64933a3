#include <rekindle/base/clock.h>
#include <rekindle/base/philox.h>
#include <rekindle/foundation/error.h>
#include <rekindle/mlp/population.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace rekindle::mlp {

namespace {

/// More members than any device works on in parallel: the time of a larger population grows proportionally.
constexpr std::size_t max_members = 4096;
constexpr std::size_t batches_of_rows = 16;
constexpr std::size_t max_rows = 1u << 16;

struct RandomRows {
    RandomRows(std::size_t width, std::size_t count) : inputs(width * count), targets(count) {
        PhiloxStream random(0, RandomPurpose::test);
        for (float& x : inputs)
            x = static_cast<float>(2 * random.next_double() - 1);
        for (float& y : targets)
            y = static_cast<float>(random.next_double()); // valid for every loss
    }
    std::vector<float> inputs, targets;
};

} // namespace

SpeedMeasurement measure_speed(Population& population, std::size_t batch_size, double seconds) {
    if (batch_size == 0)
        throw usage_error("batch size 0").expected("1 or more");
    const auto scratch = population.scratch(std::min(population.size(), max_members));
    const std::size_t rows = std::max(batch_size, std::min(batches_of_rows * batch_size, max_rows));
    const std::size_t width = population.model().inputs;
    const RandomRows table(width, rows);
    const auto samples = scratch->prepare({table.inputs.data(), width, table.targets.data(), rows});
    scratch->initialize();

    double network_steps = 0, taken = 0;
    const auto train = [&](std::size_t steps) {
        std::vector<std::uint32_t> order(steps * batch_size);
        for (std::size_t i = 0; i < order.size(); ++i)
            order[i] = static_cast<std::uint32_t>(i % rows);
        const std::span<const std::uint32_t> shared(order);
        const auto start = std::chrono::steady_clock::now();
        const auto results = scratch->train(*samples, std::span(&shared, 1), batch_size);
        taken = seconds_since(start);
        network_steps = 0;
        for (const TrainResult& result : results)
            network_steps += static_cast<double>(result.rows) / static_cast<double>(batch_size);
    };
    train(1); // warms up: memory, caches, pipelines
    // Doubles the steps until one call takes half of the time; all calls together take about `seconds`.
    std::size_t steps = 1;
    train(steps);
    while (taken < seconds / 2) {
        steps *= taken < seconds / 16 ? 4 : 2;
        train(steps);
    }
    if (network_steps == 0)
        throw Error("the loss of the first step on random rows is not finite").at("measurement of speed");
    const double speed = network_steps / taken;
    return {speed, static_cast<double>(population.size()) / speed};
}

} // namespace rekindle::mlp
