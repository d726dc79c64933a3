/// Compares with PyTorch in float64: make_golden.py writes data/golden.*; inputs are generated here by the
/// same rule.

#include "cpu/schedule.h"
#include "golden.h"

#include <rekindle/mlp/dropout.h>

#include <gtest/gtest.h>

namespace {

using namespace rekindle;
using namespace rekindle::mlp;
using namespace rekindle::mlp::test;
using nlohmann::json;

class Golden : public testing::Test, protected GoldenFiles {};

struct Case : GoldenCase {
    explicit Case(const json& j) : GoldenCase(j), engine(model, training) {}
    Engine engine;
};

TEST_F(Golden, EveryGradientMatchesFloat64) {
    ASSERT_GE(description.at("cases").size(), 10u);
    for (const json& j : description.at("cases")) {
        Case c(j);
        ASSERT_EQ(j.at("points").size(), 4u);
        for (const json& point : j.at("points")) {
            c.engine.set_parameters(tensors(c.engine.parameters(), point.at("weights")));
            const auto got =
                c.engine.gradients(c.table.samples(), std::span(c.table.order).first(c.batch_size));
            const auto expected = tensors(c.engine.parameters(), point.at("gradient"));
            for (std::size_t t = 0; t < got.size(); ++t)
                EXPECT_LE(distance(got[t].values, expected[t].values), 1e-5)
                    << c.name << ", step " << point.at("step") << ", " << got[t].name;
        }
    }
}

TEST_F(Golden, TrainingFollowsFloat64) {
    for (const json& j : description.at("cases")) {
        Case c(j);
        c.engine.set_parameters(tensors(c.engine.parameters(), j.at("points").at(0).at("weights")));
        const std::size_t steps = j.at("steps");
        const auto order = wrapped_order(c.table.order.size(),
                                         steps * c.engine.training().accumulation_steps * c.batch_size);
        const TrainResult result = c.engine.train(c.table.samples(), order, c.batch_size);
        EXPECT_EQ(result.steps, steps);
        EXPECT_LE(
            distance(flat(c.engine.parameters()), flat(tensors(c.engine.parameters(), j.at("trained")))),
            3e-6)
            << c.name;
        if (c.engine.training().ema_decay > 0) {
            const auto average = flat(tensors(c.engine.parameters(), j.at("average")));
            EXPECT_LE(distance(flat(c.engine.evaluation_parameters()), average), 3e-6) << c.name;
        }
    }
}

TEST_F(Golden, LossesOfManySeedsAreAsCloseToFloat64AsPyTorch) {
    ASSERT_GE(description.at("seeded").size(), 3u);
    for (const json& j : description.at("seeded")) {
        Case c(j);
        const auto order =
            wrapped_order(c.table.order.size(), j.at("steps").get<std::size_t>() * c.batch_size);
        std::vector<double> losses;
        for (std::uint32_t seed = 0; seed < j.at("float64").size(); ++seed) {
            c.engine.set_parameters(initial_weights(c.model, seed));
            c.engine.train(c.table.samples(), order, c.batch_size);
            losses.push_back(c.engine.evaluate(c.table.samples()) / static_cast<double>(c.table.y.size()));
        }
        EXPECT_LE(loss_ratio(losses, j), 2) << c.name;
    }
}

TEST_F(Golden, PlateauFollowsPyTorch) {
    const json& plateau = description.at("plateau");
    TrainingSpec spec;
    spec.optimizer.learning_rate = plateau.at("learning_rate");
    spec.schedule = {.kind = ScheduleSpec::Kind::plateau,
                     .plateau_factor = plateau.at("factor"),
                     .plateau_patience = plateau.at("patience")};
    cpu::PlateauState state;
    const json& losses = plateau.at("losses");
    ASSERT_GE(losses.size(), 30u);
    for (std::size_t i = 0; i < losses.size(); ++i) {
        const double loss =
            losses[i].is_null() ? std::numeric_limits<double>::quiet_NaN() : losses[i].get<double>();
        cpu::report_epoch(spec, loss, state);
        EXPECT_DOUBLE_EQ(cpu::learning_rate(spec, state, 0), plateau.at("rates").at(i).get<double>()) << i;
    }
}

TEST_F(Golden, DropoutMasks) {
    for (const json& mask : description.at("masks")) {
        std::uint32_t row = 0;
        for (const std::string line : mask.at("kept")) {
            std::string got;
            for (std::uint32_t unit = 0; unit < line.size(); ++unit)
                got += dropout_keeps({mask.at("seed"), mask.at("layer"), mask.at("batch"), row, unit},
                                     mask.at("rate"))
                           ? '#'
                           : '.';
            EXPECT_EQ(got, line) << mask.at("seed") << " row " << row;
            ++row;
        }
    }
}

TEST(Schedule, WarmUpReachesTheRateAndCosineReachesZero) {
    TrainingSpec spec;
    spec.optimizer.learning_rate = 1;
    spec.schedule = {.kind = ScheduleSpec::Kind::cosine, .warmup_steps = 4, .total_steps = 12};
    const double expected[] = {0.25, 0.5, 0.75, 1, 1, 0.5 * (1 + std::sqrt(2 + std::sqrt(2.0)) / 2)};
    for (std::uint64_t step = 0; step < 6; ++step)
        EXPECT_NEAR(cpu::learning_rate(spec, {}, step), expected[step], 1e-15) << step;
    EXPECT_NEAR(cpu::learning_rate(spec, {}, 8), 0.5, 1e-15);
    EXPECT_EQ(cpu::learning_rate(spec, {}, 12), 0);
    EXPECT_EQ(cpu::learning_rate(spec, {}, 1000), 0);
}

} // namespace
