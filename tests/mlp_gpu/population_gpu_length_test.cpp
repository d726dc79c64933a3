/// Long calls of train() on the device: one call must do the same as many short ones.

#include "golden.h"
#include "gpu_population.h"

#include <gtest/gtest.h>

namespace {

using namespace rekindle;
using namespace rekindle::mlp;
using namespace rekindle::mlp::test;

// Drivers may end loops early: Mesa 22.3's lavapipe does so silently after 65,535 iterations of an
// invocation.
TEST(GpuPopulation, OneLongCallMatchesManyShortOnes) {
    constexpr std::size_t batch_size = 10, batches = 6000, pieces = 60;
    const ModelDescription model = ModelDescription::default_network(7, std::vector<std::size_t>{20, 9}, 0.3);
    const Table table(7, 120);
    std::vector<std::uint32_t> order(batches * batch_size);
    for (std::size_t i = 0; i < order.size(); ++i)
        order[i] = static_cast<std::uint32_t>(i * 7 % 120);
    TrainingSpec spec = spec_of(LossSpec::Kind::huber);
    const auto whole = gpu(model, {spec}), pieced = gpu(model, {spec});
    const auto samples = whole->prepare(table.samples()), same = pieced->prepare(table.samples());
    const TrainResult result = train(*whole, *samples, order, batch_size)[0];
    std::size_t steps = 0;
    for (std::size_t piece = 0; piece < pieces; ++piece) {
        const std::size_t rows = order.size() / pieces;
        steps += train(*pieced, *same, std::span(order).subspan(piece * rows, rows), batch_size)[0].steps;
    }
    EXPECT_EQ(result.steps, batches);
    EXPECT_EQ(result.rows, order.size());
    EXPECT_EQ(steps, batches);
    EXPECT_EQ(whole->save(0).bytes, pieced->save(0).bytes);
}

} // namespace
