/// Compares the GPU's population with the CPU's engine and with PyTorch in float64 (golden.h), over every
/// case of cases.py: losses, optimizers, activations, norms, residuals, dropout, clipping, accumulation,
/// averaging, schedules, odd widths.

#include "golden.h"
#include "gpu_population.h"

#include <rekindle/mlp/population.h>

#include <gtest/gtest.h>

#include <cmath>

namespace {

using namespace rekindle;
using namespace rekindle::mlp;
using namespace rekindle::mlp::test;
using nlohmann::json;

/// The largest distance of a layer's parameters (weight and bias together) from the expected ones. Not per
/// tensor: the gradient of a bias is one sum that passes through zero during training, where a relative error
/// is meaningless.
double layer_distance(const std::vector<NamedTensor>& got, const std::vector<NamedTensor>& expected) {
    double worst = 0;
    for (std::size_t t = 0; t + 1 < got.size(); t += 2)
        worst = std::max(worst, distance(flat({got[t], got[t + 1]}), flat({expected[t], expected[t + 1]})));
    return worst;
}

constexpr double largest_gradient_distance = 1e-5;

class GpuGolden : public testing::Test, protected GoldenFiles {
  protected:
    /// Every case in both arrangements. On a CPU driver, which takes seconds to compile each one, the
    /// throughput arrangement (the same source with other thread counts) runs only in three cases that
    /// together cover every kind of layer, a batch of several blocks, and accumulation.
    static bool tried(const std::string& name, GpuShape shape) {
        return gpu_device()->info().type != runtime::DeviceType::cpu || shape == GpuShape::latency ||
               name == "residual" || name == "odd widths" || name == "accumulation";
    }
};

TEST_F(GpuGolden, EveryGradientMatchesTheCpuEngine) {
    ASSERT_GE(description.at("cases").size(), 10u);
    for (const GpuShape shape : shapes)
        for (const json& j : description.at("cases")) {
            const GoldenCase c(j);
            if (!tried(c.name, shape))
                continue;
            Engine engine(c.model, c.training);
            const auto population = gpu(c.model, {c.training}, shape);
            const auto samples = population->prepare(c.table.samples());
            const auto rows = std::span(c.table.order).first(c.batch_size);
            for (const json& point : j.at("points")) {
                const auto weights = tensors(engine.parameters(), point.at("weights"));
                engine.set_parameters(weights);
                population->set_parameters(0, weights);
                const auto got = population->gradients(0, *samples, rows);
                EXPECT_LE(layer_distance(got, engine.gradients(c.table.samples(), rows)),
                          largest_gradient_distance)
                    << c.name << ", step " << point.at("step");
                EXPECT_LE(layer_distance(got, tensors(engine.parameters(), point.at("gradient"))),
                          largest_gradient_distance)
                    << c.name << ", step " << point.at("step") << " against PyTorch in float64";
            }
        }
}

/// Each step starts from the CPU's state, so that differences cannot accumulate.
TEST_F(GpuGolden, EachStepFromTheCpuStateMatchesTheCpu) {
    constexpr std::size_t batches = 14;
    for (const GpuShape shape : shapes)
        for (const json& j : description.at("cases")) {
            const GoldenCase c(j);
            if (!tried(c.name, shape))
                continue;
            Engine engine = cpu(c.model, c.training);
            const auto population = gpu(c.model, {c.training}, shape);
            const auto samples = population->prepare(c.table.samples());
            for (std::size_t batch = 0; batch < batches; ++batch) {
                population->restore(0, engine.save());
                const auto rows = std::span(c.table.order).subspan(batch * c.batch_size, c.batch_size);
                EXPECT_LE(layer_distance(population->gradients(0, *samples, rows),
                                         engine.gradients(c.table.samples(), rows)),
                          largest_gradient_distance)
                    << c.name << ", batch " << batch;
                const TrainResult expected = engine.train(c.table.samples(), rows, c.batch_size);
                const TrainResult got = train(*population, *samples, rows, c.batch_size).front();
                // Losses of either sign cancel: the sum is only as exact as its largest term.
                EXPECT_NEAR(got.loss_sum, expected.loss_sum,
                            1e-5 * std::abs(expected.loss_sum) + 1e-7 * static_cast<double>(got.rows))
                    << c.name;
                EXPECT_NEAR(got.last_gradient_norm, expected.last_gradient_norm,
                            1e-5 * expected.last_gradient_norm)
                    << c.name;
                EXPECT_EQ(got.steps, expected.steps) << c.name;
                EXPECT_LE(distance(flat(population->parameters(0)), flat(engine.parameters())), 2e-6)
                    << c.name << ", batch " << batch;
                EXPECT_LE(distance(flat(population->evaluation_parameters(0)),
                                   flat(engine.evaluation_parameters())),
                          2e-6)
                    << c.name << ", batch " << batch;
            }
        }
}

TEST_F(GpuGolden, TrainingFollowsFloat64) {
    for (const GpuShape shape : shapes)
        for (const json& j : description.at("cases")) {
            const GoldenCase c(j);
            if (!tried(c.name, shape))
                continue;
            const auto population = gpu(c.model, {c.training}, shape);
            population->set_parameters(
                0, tensors(population->parameters(0), j.at("points").at(0).at("weights")));
            const std::size_t steps = j.at("steps");
            const auto order =
                wrapped_order(c.table.order.size(), steps * c.training.accumulation_steps * c.batch_size);
            const auto samples = population->prepare(c.table.samples());
            const TrainResult result = train(*population, *samples, order, c.batch_size).front();
            EXPECT_EQ(result.steps, steps);
            EXPECT_EQ(result.rows, order.size());
            EXPECT_TRUE(result.finite);
            const auto like = population->parameters(0);
            EXPECT_LE(distance(flat(like), flat(tensors(like, j.at("trained")))), 5e-6) << c.name;
            if (c.training.ema_decay > 0) {
                const auto average = flat(tensors(like, j.at("average")));
                EXPECT_LE(distance(flat(population->evaluation_parameters(0)), average), 5e-6) << c.name;
            }
        }
}

TEST_F(GpuGolden, LossesOfManySeedsAreAsCloseToFloat64AsPyTorch) {
    for (const json& j : description.at("seeded")) {
        const GoldenCase c(j);
        const std::size_t seeds = j.at("float64").size();
        ASSERT_EQ(seeds, 16u);
        const auto population = gpu(c.model, std::vector(seeds, c.training), GpuShape::latency);
        for (std::uint32_t seed = 0; seed < seeds; ++seed)
            population->set_parameters(seed, initial_weights(c.model, seed));
        const auto samples = population->prepare(c.table.samples());
        const std::size_t rows = c.table.y.size();
        train(*population, *samples, wrapped_order(rows, j.at("steps").get<std::size_t>() * c.batch_size),
              c.batch_size);
        std::vector<double> losses = population->evaluate(*samples, 0, rows);
        for (double& loss : losses)
            loss /= static_cast<double>(rows);
        const double ratio = loss_ratio(losses, j);
        RecordProperty(c.name, std::to_string(ratio));
        EXPECT_LE(ratio, 2) << c.name;
    }
}

} // namespace
