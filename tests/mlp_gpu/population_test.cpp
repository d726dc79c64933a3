/// Compares the GPU's population with the CPU's engine, on the first device that the runtime accepts (a CPU
/// driver such as lavapipe counts). Without a device these tests fail, because an untested engine is not
/// known to work.

#include "golden.h"
#include "gpu_population.h"

#include <rekindle/foundation/error.h>
#include <rekindle/mlp/population.h>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace {

using namespace rekindle;
using namespace rekindle::mlp;
using namespace rekindle::mlp::test;
using nlohmann::json;

const std::vector<std::size_t> widths{20, 9};
const ModelDescription model = ModelDescription::default_network(7, widths, 0.3);
constexpr std::size_t batch_size = 10;
const Table table(7, 120);

/// Everything enabled, so that an incomplete state is noticed.
TrainingSpec busy_spec(std::uint64_t seed = 42) {
    TrainingSpec spec = spec_of(LossSpec::Kind::huber);
    spec.seed = seed;
    spec.accumulation_steps = 3;
    spec.ema_decay = 0.95;
    spec.schedule = {.kind = ScheduleSpec::Kind::plateau, .plateau_patience = 0, .warmup_steps = 4};
    return spec;
}

/// Members that differ in everything in which they may differ.
std::vector<TrainingSpec> different_members() {
    std::vector<TrainingSpec> members;
    for (std::size_t m = 0; m < 5; ++m) {
        TrainingSpec spec = busy_spec(0x1234567890ull + m);
        spec.optimizer.learning_rate = 1e-3 * static_cast<double>(m + 1);
        spec.optimizer.beta1 = 0.9 - 0.05 * static_cast<double>(m);
        spec.optimizer.beta2 = 0.999 - 0.01 * static_cast<double>(m);
        spec.optimizer.epsilon = m == 1 ? 1e-6 : 1e-8;
        spec.optimizer.weight_decay = m == 2 ? 0 : 0.01;
        spec.clip_norm = 0.1 * static_cast<double>(m + 1);
        spec.ema_decay = 0.9 + 0.01 * static_cast<double>(m);
        spec.schedule.kind = m == 3 ? ScheduleSpec::Kind::cosine : ScheduleSpec::Kind::plateau;
        spec.schedule.total_steps = 20;
        spec.schedule.warmup_steps = m;
        if (m > 0) // the first has the model's rate
            spec.dropout_rates = {m == 4 ? 0 : 0.2 * static_cast<double>(m)};
        members.push_back(spec);
    }
    return members;
}

/// A different order for each of five members, with different lengths, most with a smaller last batch; one is
/// empty.
struct Orders {
    Orders() {
        for (std::uint32_t m = 0; m < 5; ++m) {
            std::vector<std::uint32_t> order;
            for (std::uint32_t i = 0; m != 1 && i < 40 + 13 * m; ++i)
                order.push_back((i * (2 * m + 3) + m) % 120);
            all.push_back(std::move(order));
        }
        spans.assign(all.begin(), all.end());
    }
    std::vector<std::vector<std::uint32_t>> all;
    std::vector<std::span<const std::uint32_t>> spans;
};
const Orders orders;

/// Everything that a run leaves behind.
struct Outcome {
    std::vector<std::vector<std::byte>> states;
    std::vector<double> numbers;
};

Outcome outcome_of(const Population& population, const std::vector<TrainResult>& results) {
    Outcome outcome;
    for (std::size_t m = 0; m < population.size(); ++m) {
        outcome.states.push_back(population.save(m).bytes);
        const TrainResult& r = results[m];
        for (const double number : {r.loss_sum, static_cast<double>(r.rows), static_cast<double>(r.steps),
                                    r.last_gradient_norm, static_cast<double>(r.finite)})
            outcome.numbers.push_back(number);
    }
    return outcome;
}

Outcome run_of(const std::vector<TrainingSpec>& members,
               const std::vector<std::span<const std::uint32_t>>& spans, GpuShape shape) {
    const auto population = gpu(model, members, shape);
    const auto samples = population->prepare(table.samples());
    population->train(*samples, spans, batch_size);
    population->finish_accumulation();
    const std::vector<double> losses(members.size(), 1.0);
    population->report_validation_losses(losses);
    population->report_validation_losses(losses);
    return outcome_of(*population, population->train(*samples, spans, batch_size));
}

void expect_same(const Outcome& a, const Outcome& b) {
    EXPECT_EQ(a.numbers, b.numbers);
    ASSERT_EQ(a.states.size(), b.states.size());
    for (std::size_t m = 0; m < a.states.size(); ++m)
        EXPECT_EQ(a.states[m], b.states[m]) << "member " << m;
}

TEST(GpuPopulation, TheSameRunTwiceGivesTheSameBits) {
    for (const GpuShape shape : {GpuShape::automatic, GpuShape::latency, GpuShape::throughput})
        expect_same(run_of(different_members(), orders.spans, shape),
                    run_of(different_members(), orders.spans, shape));
}

TEST(GpuPopulation, AMemberDoesNotDependOnTheOthers) {
    for (const GpuShape shape : shapes) {
        const auto members = different_members();
        const Outcome together = run_of(members, orders.spans, shape);
        for (std::size_t m = 0; m < members.size(); ++m) {
            const Outcome alone = run_of({members[m]}, {orders.spans[m]}, shape);
            EXPECT_EQ(alone.states.front(), together.states[m]) << m;
            EXPECT_TRUE(std::ranges::equal(alone.numbers, std::span(together.numbers).subspan(5 * m, 5)))
                << m;
        }
    }
}

TEST(GpuPopulation, EachMemberFollowsItsEngine) {
    const auto members = different_members();
    const auto population = gpu(model, members);
    const auto samples = population->prepare(table.samples());
    std::vector<Engine> engines;
    engines.reserve(members.size());
    for (const TrainingSpec& spec : members)
        engines.push_back(cpu(model, spec));
    const std::vector<double> losses{1, 2, 3, 4, std::numeric_limits<double>::quiet_NaN()};
    for (int epoch = 0; epoch < 3; ++epoch) {
        const auto results = population->train(*samples, orders.spans, batch_size);
        if (epoch != 1)
            population->finish_accumulation();
        population->report_validation_losses(losses);
        for (std::size_t m = 0; m < members.size(); ++m) {
            const TrainResult expected = engines[m].train(table.samples(), orders.all[m], batch_size);
            if (epoch != 1)
                engines[m].finish_accumulation();
            if (!std::isnan(losses[m]))
                engines[m].report_validation_loss(losses[m]);
            EXPECT_NEAR(results[m].loss_sum, expected.loss_sum, 1e-5 * expected.loss_sum);
            EXPECT_EQ(results[m].rows, expected.rows);
            EXPECT_EQ(results[m].steps, expected.steps);
            EXPECT_TRUE(results[m].finite);
            EXPECT_EQ(population->steps(m), engines[m].steps());
            EXPECT_EQ(population->batches(m), engines[m].batches());
            EXPECT_EQ(population->learning_rate(m), engines[m].learning_rate());
            EXPECT_LE(distance(flat(population->parameters(m)), flat(engines[m].parameters())), 1e-5) << m;
            for (const char* moment : {"exp_avg", "exp_avg_sq"})
                EXPECT_LE(distance(flat(population->optimizer_tensors(m, moment)),
                                   flat(engines[m].optimizer_tensors(moment))),
                          1e-4)
                    << m;
        }
    }
}

TEST(GpuPopulation, InitialWeightsMatchTheEngine) {
    const auto members = different_members();
    const auto population = gpu(model, members);
    for (std::size_t m = 0; m < members.size(); ++m)
        EXPECT_EQ(population->save(m).bytes, cpu(model, members[m]).save().bytes);
}

TEST(GpuPopulation, ACpuStateRoundTrips) {
    GoldenFiles golden;
    for (const json& j : golden.description.at("cases")) {
        const GoldenCase c(j);
        Engine engine = cpu(c.model, c.training);
        engine.train(c.table.samples(), std::span(c.table.order).first(c.batch_size * 4), c.batch_size);
        const auto population = gpu(c.model, std::vector(2, c.training));
        population->restore(1, engine.save());
        EXPECT_EQ(population->save(1).bytes, engine.save().bytes) << c.name;
        EXPECT_EQ(flat(population->parameters(1)), flat(engine.parameters()));
        EXPECT_EQ(population->batches(1), engine.batches());
        EXPECT_EQ(population->batches(0), 0u);
    }
    const auto population = gpu(model, {busy_spec()});
    const auto before = population->save(0).bytes;
    TrainingSpec other = busy_spec();
    other.ema_decay = 0;
    EXPECT_THROW(population->restore(0, cpu(model, other).save()), Error);
    EXPECT_EQ(population->save(0).bytes, before);
}

/// A run that changes devices twice ends at the same state as a run on one device, up to rounding; and the
/// state that the GPU saves contains everything that its next step depends on.
TEST(GpuPopulation, ARunCanContinueOnAnotherDevice) {
    Engine whole = cpu(model, busy_spec()), first = cpu(model, busy_spec());
    const auto part = [](std::size_t i) { return std::span(table.order).subspan(i * 40, 40); };
    for (std::size_t i = 0; i < 3; ++i)
        whole.train(table.samples(), part(i), batch_size);
    first.train(table.samples(), part(0), batch_size);
    const auto second = gpu(model, {busy_spec(1), busy_spec(2)});
    second->restore(1, first.save());
    train(*second, *second->prepare(table.samples()), part(1), batch_size);
    const auto resumed = gpu(model, {busy_spec(), busy_spec()});
    resumed->restore(0, second->save(1));
    first.restore(second->save(1));
    EXPECT_EQ(flat(first.parameters()), flat(second->parameters(1)));
    first.train(table.samples(), part(2), batch_size);
    const auto dropout_of_another_seed = first.batches();
    EXPECT_EQ(dropout_of_another_seed, whole.batches());
    EXPECT_EQ(first.steps(), whole.steps());
    train(*resumed, *resumed->prepare(table.samples()), part(2), batch_size);
    EXPECT_LE(distance(flat(resumed->parameters(0)), flat(first.parameters())), 1e-5);
}

TEST(GpuPopulation, CallsWithOneBatchEachMatchOneCall) {
    for (const GpuShape shape : shapes) {
        const auto whole = gpu(model, {busy_spec(), busy_spec(7)}, shape),
                   parts = gpu(model, {busy_spec(), busy_spec(7)}, shape);
        const auto order = wrapped_order(120, 257);
        train(*whole, *whole->prepare(table.samples()), order, batch_size);
        const auto samples = parts->prepare(table.samples());
        for (std::size_t at = 0; at < order.size(); at += batch_size)
            train(*parts, *samples, std::span(order).subspan(at, std::min(batch_size, order.size() - at)),
                  batch_size);
        for (std::size_t m = 0; m < 2; ++m)
            EXPECT_EQ(whole->save(m).bytes, parts->save(m).bytes) << m;
    }
}

TEST(GpuPopulation, OneOrderServesAllMembers) {
    const auto shared = gpu(model, different_members()), separate = gpu(model, different_members());
    const std::vector spans(5, std::span<const std::uint32_t>(table.order));
    train(*shared, *shared->prepare(table.samples()), table.order, batch_size);
    separate->train(*separate->prepare(table.samples()), spans, batch_size);
    for (std::size_t m = 0; m < 5; ++m)
        EXPECT_EQ(shared->save(m).bytes, separate->save(m).bytes);
}

TEST(GpuPopulation, PredictionsAndLossesMatchTheEngine) {
    GoldenFiles golden;
    for (const json& j : golden.description.at("cases")) {
        const GoldenCase c(j);
        // Together they cover every loss, two outputs, an end without a Linear, a residual, norms, and a
        // moving average.
        if (c.name != "residual" && c.name != "bare end" && c.name != "odd widths, nll" &&
            c.name != "plain gelu, bce")
            continue;
        Engine engine = cpu(c.model, c.training);
        engine.train(c.table.samples(), std::span(c.table.order).first(c.batch_size * 3), c.batch_size);
        const auto population = gpu(c.model, std::vector(3, c.training));
        for (std::size_t m = 0; m < 3; ++m)
            population->restore(m, engine.save());
        const auto samples = population->prepare(c.table.samples());
        const std::size_t rows = std::min<std::size_t>(101, c.table.y.size() - 2);
        const std::size_t floats = rows * c.model.outputs();
        std::vector<float> expected(floats), got(floats), all(3 * floats);
        engine.predict(c.table.x.data() + 2 * c.table.width, c.table.width, rows, expected);
        population->predict(1, *samples, 2, rows, got);
        population->predict_members(0, 3, *samples, 2, rows, all);
        EXPECT_LE(distance(got, expected), 2e-6) << c.name;
        for (std::size_t m = 0; m < 3; ++m)
            EXPECT_TRUE(std::ranges::equal(got, std::span(all).subspan(m * floats, floats))) << c.name;
        const double loss = engine.evaluate(
            {c.table.x.data() + 2 * c.table.width, c.table.width, c.table.y.data() + 2, rows});
        for (const double own : population->evaluate(*samples, 2, rows))
            EXPECT_NEAR(own, loss, 2e-6 * std::abs(loss)) << c.name;
    }
}

/// The member stops before the bad step; the other members continue; its next call continues like the CPU's.
TEST(GpuPopulation, ANonFiniteStepIsNotApplied) {
    Table spoiled(7, 120);
    spoiled.x[7 * 77 + 3] = std::numeric_limits<float>::infinity();
    std::vector<std::uint32_t> without_it;
    for (std::uint32_t i = 0; i < 70; ++i)
        without_it.push_back(i);
    for (const GpuShape shape : shapes) {
        const auto population = gpu(model, {busy_spec(), busy_spec(9)}, shape),
                   stopped = gpu(model, {busy_spec(), busy_spec(9)}, shape);
        const auto samples = population->prepare(spoiled.samples());
        const std::vector<std::span<const std::uint32_t>> spans{spoiled.order, without_it};
        const auto results = population->train(*samples, spans, batch_size);
        Engine engine = cpu(model, busy_spec());
        const TrainResult expected = engine.train(spoiled.samples(), spoiled.order, batch_size);
        ASSERT_FALSE(expected.finite);
        EXPECT_FALSE(results[0].finite);
        EXPECT_TRUE(results[1].finite);
        EXPECT_EQ(results[1].rows, 70u);
        EXPECT_EQ(results[0].rows, expected.rows);
        EXPECT_EQ(results[0].steps, expected.steps);
        EXPECT_EQ(population->batches(0), engine.batches());
        EXPECT_EQ(population->steps(0), engine.steps());
        // Until the bad batch, nothing differs from a run that ends before it; its accumulation is dropped.
        train(*stopped, *stopped->prepare(spoiled.samples()), std::span(spoiled.order).first(60), batch_size);
        EXPECT_EQ(flat(population->parameters(0)), flat(stopped->parameters(0)));
        EXPECT_EQ(flat(population->optimizer_tensors(0, "exp_avg")),
                  flat(stopped->optimizer_tensors(0, "exp_avg")));
        population->finish_accumulation();
        engine.finish_accumulation();
        EXPECT_EQ(population->steps(0), engine.steps());
        train(*population, *samples, without_it, batch_size);
        engine.train(spoiled.samples(), without_it, batch_size);
        EXPECT_LE(distance(flat(population->parameters(0)), flat(engine.parameters())), 1e-5);
        EXPECT_EQ(population->batches(0), engine.batches());
    }
}

/// Too large for shared memory: parameters are read from device memory.
TEST(GpuPopulation, WideLayersFollowTheEngine) {
    const std::vector<std::size_t> wide{512, 130};
    const ModelDescription description = ModelDescription::plain(7, wide, Activation::silu);
    Engine engine = cpu(description, busy_spec());
    const auto population = gpu(description, {busy_spec(1), busy_spec()});
    const auto samples = population->prepare(table.samples());
    for (std::size_t step = 0; step < 5; ++step) {
        population->restore(1, engine.save());
        const auto rows = std::span(table.order).subspan(20 * step, 20);
        const auto expected = engine.gradients(table.samples(), rows);
        const auto got = population->gradients(1, *samples, rows);
        for (std::size_t t = 0; t < expected.size(); ++t)
            EXPECT_LE(distance(got[t].values, expected[t].values), 1e-5) << expected[t].name;
        train(*population, *samples, rows, 20);
        engine.train(table.samples(), rows, 20);
        EXPECT_LE(distance(flat(population->parameters(1)), flat(engine.parameters())), 2e-6);
    }
}

TEST(GpuPopulation, SettingParametersRestartsTraining) {
    const auto population = gpu(model, {busy_spec(), busy_spec(7)});
    const auto samples = population->prepare(table.samples());
    train(*population, *samples, table.order, batch_size);
    const auto other = population->save(1).bytes;
    const auto weights = cpu(model, busy_spec(3)).parameters();
    population->set_parameters(0, weights);
    Engine engine = cpu(model, busy_spec());
    engine.set_parameters(weights);
    EXPECT_EQ(population->save(0).bytes, engine.save().bytes);
    EXPECT_EQ(population->save(1).bytes, other);
    EXPECT_THROW(population->set_parameters(0, {}), Error);
    EXPECT_THROW(population->optimizer_tensors(0, "momentum_buffer"), Error);
}

TEST(GpuPopulation, RefusesUnsupportedModelsInOneSentence) {
    const auto refusal = [](const ModelDescription& description, const TrainingSpec& spec) {
        const std::vector members{spec};
        std::string reason = gpu_refusal(*gpu_device(), description, members);
        if (reason.empty())
            EXPECT_NO_THROW(gpu_population(gpu_device(), description, members));
        else
            EXPECT_THROW(gpu_population(gpu_device(), description, members), Error);
        EXPECT_EQ(reason.find('\n'), std::string::npos);
        return reason;
    };
    EXPECT_EQ(refusal(model, busy_spec()), "");
    TrainingSpec bf16 = busy_spec();
    bf16.bf16_storage = true;
    EXPECT_NE(refusal(model, bf16).find("bf16"), std::string::npos);
    const std::vector<std::size_t> widest{512}, too_wide{513};
    EXPECT_EQ(refusal(ModelDescription::plain(7, widest), busy_spec()), "");
    EXPECT_NE(refusal(ModelDescription::plain(7, too_wide), busy_spec()).find("513"), std::string::npos);
    TrainingSpec misfit = busy_spec();
    misfit.loss.kind = LossSpec::Kind::gaussian_nll;
    EXPECT_THROW(gpu_population(gpu_device(), model, {misfit}), Error);
    EXPECT_THROW(gpu_population(gpu_device(), model, {}), Error);
}

TEST(GpuPopulation, RefusesWrongRows) {
    const auto population = gpu(model, {busy_spec(), busy_spec(7)});
    const auto samples = population->prepare(table.samples());
    const std::vector<std::uint32_t> wrong{3, 120};
    EXPECT_THROW(train(*population, *samples, wrong, 2), Error);
    EXPECT_THROW(train(*population, *samples, table.order, 0), Error);
    EXPECT_THROW(population->gradients(0, *samples, wrong), Error);
    EXPECT_THROW(population->evaluate(*samples, 100, 21), Error);
    const auto other = cpu_population(model, {busy_spec()}, 1);
    EXPECT_THROW(train(*population, *other->prepare(table.samples()), table.order, 10), Error);
    EXPECT_EQ(population->batches(0), 0u);
}

TEST(GpuPopulation, RefusesRowsOfAPopulationThatHasEnded) {
    auto ended = gpu(model, {busy_spec()});
    const auto samples = ended->prepare(table.samples());
    ended.reset();
    const auto population = gpu(model, {busy_spec()});
    EXPECT_THROW(train(*population, *samples, table.order, 10), Error);
    EXPECT_THROW(population->evaluate(*samples, 0, 1), Error);
}

TEST(GpuPopulation, MeasuringSpeedChangesNothing) {
    const auto population = gpu(model, {busy_spec(), busy_spec(7), busy_spec(8)});
    train(*population, *population->prepare(table.samples()), table.order, batch_size);
    const auto before = population->save(1).bytes;
    const SpeedMeasurement speed = measure_speed(*population, batch_size, 0.02);
    EXPECT_GT(speed.network_steps_per_second, 0);
    EXPECT_EQ(population->save(1).bytes, before);
}

TEST(GpuPopulation, KeepsItsBitsWhenJoinedWithAnotherDevice) {
    const auto members = different_members();
    std::vector<PopulationPart> parts;
    parts.push_back({2, gpu_population(gpu_device(), model, {members[0], members[1]}, GpuShape::latency)});
    parts.push_back(
        {3, gpu_population(gpu_device(), model, {members[2], members[3], members[4]}, GpuShape::latency)});
    const auto joined = joined_population(std::move(parts));
    joined->initialize();
    const auto whole = gpu(model, members, GpuShape::latency);
    joined->train(*joined->prepare(table.samples()), orders.spans, batch_size);
    whole->train(*whole->prepare(table.samples()), orders.spans, batch_size);
    for (std::size_t m = 0; m < members.size(); ++m)
        EXPECT_EQ(joined->save(m).bytes, whole->save(m).bytes) << m;
}

} // namespace
