/// What the host prepares for a GPU population: tables, sizes of launches, the arrangement. Needs no device.

#include "cpu/progress.h"
#include "gpu/choice.h"
#include "gpu/launch_budget.h"
#include "gpu/tables.h"

#include <rekindle/mlp/population.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace {

using namespace rekindle::mlp;
using namespace rekindle::mlp::gpu;

constexpr std::size_t tables_batch_size = 10;

TrainingSpec accumulating_spec() {
    TrainingSpec spec;
    spec.accumulation_steps = 3;
    spec.clip_norm = 0.25;
    spec.ema_decay = 0.75;
    spec.seed = 0xFEDCBA9876543210ull;
    spec.schedule = {.kind = ScheduleSpec::Kind::cosine, .warmup_steps = 2, .total_steps = 9};
    return spec;
}

std::vector<std::uint32_t> rows(std::size_t count) {
    std::vector<std::uint32_t> order(count);
    std::iota(order.begin(), order.end(), 0u);
    return order;
}

TEST(GpuTables, StepsMatchTheEngine) {
    const std::vector members{accumulating_spec()};
    std::vector<cpu::Progress> progress(1);
    for (int step = 0; step < 4; ++step)
        cpu::advance_step(members[0], progress[0]);
    progress[0].batches = (1ull << 32) + 14;
    progress[0].pending_batches = 2;
    const auto order = rows(97);
    const std::span<const std::uint32_t> span(order);
    const TrainingTables tables = training_tables(members, progress, std::span(&span, 1), tables_batch_size);

    EXPECT_EQ(tables.largest_batches, 10u);
    ASSERT_EQ(tables.steps.size(), 4u); // two pending and ten new batches, three per step
    cpu::Progress expected = progress[0];
    for (const StepRecord& step : tables.steps) {
        const cpu::AdamWStep adam = cpu::adamw_step(members[0], expected, 1);
        EXPECT_EQ(step.step_size, adam.step_size);
        EXPECT_EQ(step.inverse_sqrt_correction, adam.inverse_sqrt_correction);
        EXPECT_EQ(step.decay, adam.decay);
        cpu::advance_step(members[0], expected);
    }
    EXPECT_NE(tables.steps[0].step_size, tables.steps[1].step_size);
    ASSERT_EQ(tables.orders.size(), 1u);
    EXPECT_EQ(tables.orders[0].rows.data(), order.data());
    EXPECT_EQ(tables.row_count, 97u);
    const MemberRecord& record = tables.members.front();
    EXPECT_EQ(record.seed_low, 0x76543210u);
    EXPECT_EQ(record.seed_high, 0xFEDCBA98u);
    EXPECT_EQ(record.batch_low, 14u);
    EXPECT_EQ(record.batch_high, 1u);
    EXPECT_EQ(record.rows, 97u);
    EXPECT_EQ(record.pending_batches, 2u);
    EXPECT_EQ(record.batch_scale, static_cast<float>(1.0 / 30));
    EXPECT_EQ(record.last_batch_scale, static_cast<float>(1.0 / 21));
    EXPECT_EQ(record.clip_norm, 0.25f);
    EXPECT_EQ(record.average_rate, 0.25f);
    EXPECT_EQ(record.one_minus_beta2, static_cast<float>(1 - 0.999));
}

TEST(Progress, NegligiblePowersAreZero) {
    TrainingSpec spec;
    spec.schedule = {.kind = ScheduleSpec::Kind::constant};
    cpu::Progress progress;
    for (int step = 0; step < 5000; ++step) { // 0.9^5000 is 2e-229
        const cpu::AdamWStep adam = cpu::adamw_step(spec, progress, 1);
        const double correction = 1 - std::pow(0.9, step + 1);
        EXPECT_FLOAT_EQ(adam.step_size, static_cast<float>(spec.optimizer.learning_rate / correction))
            << step;
        cpu::advance_step(spec, progress);
    }
    EXPECT_EQ(progress.beta1_power, 0);
    EXPECT_NEAR(progress.beta2_power / std::pow(0.999, 5000), 1, 1e-12);
}

TEST(GpuTables, SgdUsesTheLearningRate) {
    TrainingSpec spec;
    spec.optimizer = {
        .kind = OptimizerSpec::Kind::sgd, .learning_rate = 0.5, .weight_decay = 0.125, .momentum = 0.75};
    spec.schedule = {.kind = ScheduleSpec::Kind::constant, .warmup_steps = 4};
    const std::vector<cpu::Progress> progress(1);
    const auto order = rows(50);
    const std::span<const std::uint32_t> span(order);
    const TrainingTables tables =
        training_tables(std::span(&spec, 1), progress, std::span(&span, 1), tables_batch_size);
    ASSERT_EQ(tables.steps.size(), 5u);
    const float rates[] = {0.125f, 0.25f, 0.375f, 0.5f, 0.5f};
    for (std::size_t step = 0; step < 5; ++step)
        EXPECT_EQ(tables.steps[step].step_size, rates[step]);
    EXPECT_EQ(tables.members[0].momentum, 0.75f);
    EXPECT_EQ(tables.members[0].weight_decay, 0.125f);
}

TEST(GpuTables, EqualTablesAreStoredOnce) {
    std::vector members(6, accumulating_spec());
    for (std::size_t m = 0; m < members.size(); ++m)
        members[m].seed = m; // the seed alone changes no number of a step
    members[4].optimizer.learning_rate = 0.5;
    std::vector<cpu::Progress> progress(6);
    cpu::advance_step(members[5], progress[5]);
    const auto shared = rows(60), own = rows(90);
    const std::vector<std::span<const std::uint32_t>> orders{shared, shared, own, {}, shared, shared};
    const TrainingTables tables = training_tables(members, progress, orders, tables_batch_size);
    EXPECT_EQ(tables.row_count, 150u);
    ASSERT_EQ(tables.orders.size(), 2u);
    for (const TrainingTables::Order& order : tables.orders)
        EXPECT_EQ(order.first, tables.members[order.rows.data() == own.data() ? 2 : 0].order_first);
    EXPECT_EQ(tables.members[1].order_first, tables.members[0].order_first);
    EXPECT_NE(tables.members[2].order_first, tables.members[0].order_first);
    EXPECT_EQ(tables.members[3].rows, 0u);
    EXPECT_EQ(tables.steps.size(), 3u + 2u + 2u);
    for (const std::size_t m : {1, 2, 3})
        EXPECT_EQ(tables.members[m].schedule_first, tables.members[0].schedule_first);
    EXPECT_NE(tables.members[4].schedule_first, tables.members[0].schedule_first);
    EXPECT_NE(tables.members[5].schedule_first, tables.members[0].schedule_first);
    EXPECT_EQ(tables.steps[tables.members[5].schedule_first].step_size, tables.steps[1].step_size);
}

TEST(GpuTables, WindowsOfOneArrayShareItsMemory) {
    const std::vector members(5, accumulating_spec());
    const std::vector<cpu::Progress> progress(5);
    const auto array = rows(100), other = rows(7);
    const std::span<const std::uint32_t> all(array);
    const std::vector<std::span<const std::uint32_t>> orders{all.subspan(40, 30), all.subspan(10, 20), other,
                                                             all.subspan(25, 20), all.subspan(80, 20)};
    const TrainingTables tables = training_tables(members, progress, orders, tables_batch_size);
    EXPECT_EQ(tables.orders.size(), 3u); // [10, 70) and [80, 100) of the array, and the other
    EXPECT_EQ(tables.row_count, 60u + 20 + 7);
    std::vector<std::uint32_t> laid_out(tables.row_count);
    for (const TrainingTables::Order& order : tables.orders)
        std::ranges::copy(order.rows, laid_out.begin() + static_cast<std::ptrdiff_t>(order.first));
    for (std::size_t m = 0; m < orders.size(); ++m)
        EXPECT_TRUE(std::ranges::equal(
            orders[m], std::span(laid_out).subspan(tables.members[m].order_first, orders[m].size())));
}

TEST(GpuTables, APendingGradientIsOneStepWithoutRows) {
    const std::vector members(2, accumulating_spec());
    std::vector<cpu::Progress> progress(2);
    progress[1].pending_batches = 2;
    const TrainingTables tables = pending_tables(members, progress);
    EXPECT_EQ(tables.largest_batches, 0u);
    EXPECT_EQ(tables.row_count, 0u);
    ASSERT_EQ(tables.steps.size(), 1u);
    EXPECT_EQ(tables.steps[0].step_size, cpu::adamw_step(members[0], progress[0], 1).step_size);
    EXPECT_EQ(tables.members[1].pending_batches, 2u);
    EXPECT_EQ(tables.members[1].rows, 0u);
}

TEST(GpuLaunchBudget, StartsSmallAndGrowsToATenthOfASecond) {
    LaunchBudget budget(1e6);
    EXPECT_EQ(budget.part(1, 1'000'000).batches, static_cast<std::size_t>(LaunchBudget::first_launch / 1e6));
    EXPECT_EQ(budget.seconds(100), 0);
    // A device that takes 50 microseconds to start and a microsecond per batch.
    const auto time = [](std::size_t batches) { return 50e-6 + 1e-6 * static_cast<double>(batches); };
    std::size_t before = 0;
    for (int launch = 0; launch < 20; ++launch) {
        const std::size_t batches = budget.part(1, 1'000'000).batches;
        EXPECT_LE(time(batches), 0.11);
        EXPECT_LE(batches, before == 0 ? batches : 4 * before);
        budget.measured(static_cast<double>(batches), time(batches));
        before = batches;
    }
    EXPECT_GT(time(before), 0.09);
    EXPECT_NEAR(budget.seconds(1000), 1e-3, 1e-4);
    EXPECT_EQ(budget.part(1, 7).batches, 7u);
}

TEST(GpuLaunchBudget, SplitsManySlowNetworks) {
    LaunchBudget budget(1e9); // more than the first launch may hold
    EXPECT_EQ(budget.part(1000, 50).members, 1u);
    EXPECT_EQ(budget.part(1000, 50).batches, 1u);
    budget.measured(1, 1e-3);
    budget.measured(4, 4e-3);
    EXPECT_EQ(budget.part(1000, 50).members, 16u);
    for (int launch = 0; launch < 5; ++launch)
        budget.measured(100, 100e-3);
    EXPECT_EQ(budget.part(1000, 50).members, 100u);
    EXPECT_EQ(budget.part(20, 50).members, 20u);
    EXPECT_EQ(budget.part(20, 50).batches, 5u);
    budget.measured(100, 1000e-3); // slower than estimated
    EXPECT_EQ(budget.part(1000, 50).members, 10u);
}

TEST(GpuShapeChoice, DependsOnlyOnTheDeviceAndTheMembers) {
    rekindle::runtime::DeviceInfo device;
    device.type = rekindle::runtime::DeviceType::discrete;
    const auto chosen = [&](std::size_t members) {
        return chosen_shape(GpuShape::automatic, device, members);
    };
    EXPECT_EQ(chosen(127), GpuShape::latency);
    EXPECT_EQ(chosen(128), GpuShape::throughput);
    device.can.compute_units = 132;
    EXPECT_EQ(chosen(263), GpuShape::latency);
    EXPECT_EQ(chosen(264), GpuShape::throughput);
    device = {};
    device.type = rekindle::runtime::DeviceType::integrated;
    EXPECT_EQ(chosen(23), GpuShape::latency);
    EXPECT_EQ(chosen(24), GpuShape::throughput);
    EXPECT_EQ(chosen_shape(GpuShape::throughput, device, 1), GpuShape::throughput);
    EXPECT_EQ(chosen_shape(GpuShape::latency, device, 10'000), GpuShape::latency);
}

} // namespace
