/// Populations on the CPU: each member matches an Engine bit for bit, however the members are arranged.

#include "networks.h"

#include <rekindle/foundation/error.h>
#include <rekindle/mlp/population.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

namespace {

using namespace rekindle;
using namespace rekindle::mlp;
using namespace rekindle::mlp::test;

const std::vector<std::size_t> population_widths{20, 9};
const ModelDescription model = ModelDescription::default_network(7, population_widths, 0.3);

/// Members that differ in everything in which they may differ.
std::vector<TrainingSpec> different_members() {
    std::vector<TrainingSpec> members(5, spec_of(LossSpec::Kind::huber));
    for (std::size_t m = 0; m < members.size(); ++m) {
        TrainingSpec& spec = members[m];
        spec.seed = 100 + m;
        spec.accumulation_steps = 2;
        spec.optimizer.learning_rate = 1e-3 * static_cast<double>(m + 1);
        spec.optimizer.beta1 = 0.9 - 0.05 * static_cast<double>(m);
        spec.optimizer.weight_decay = m == 2 ? 0 : 0.01;
        spec.clip_norm = 0.1 * static_cast<double>(m + 1);
        spec.ema_decay = 0.9 + 0.01 * static_cast<double>(m);
        spec.schedule.kind = m == 3 ? ScheduleSpec::Kind::cosine : ScheduleSpec::Kind::plateau;
        spec.schedule.total_steps = 40;
        spec.schedule.plateau_patience = 0;
        spec.schedule.warmup_steps = m;
        if (m > 0) // the first has the model's rate
            spec.dropout_rates = {m == 4 ? 0 : 0.2 * static_cast<double>(m)};
    }
    return members;
}

/// A different order for each member, with different lengths; one is empty.
struct Orders {
    explicit Orders(std::size_t rows) {
        for (std::uint32_t m = 0; m < 5; ++m) {
            std::vector<std::uint32_t> order;
            for (std::uint32_t i = 0; m != 1 && i < 40 + 13 * m; ++i)
                order.push_back((i * (2 * m + 3) + m) % static_cast<std::uint32_t>(rows));
            all.push_back(std::move(order));
        }
        spans.assign(all.begin(), all.end());
    }
    std::vector<std::vector<std::uint32_t>> all;
    std::vector<std::span<const std::uint32_t>> spans;
};

struct Trained {
    std::vector<TrainResult> results;
    std::vector<double> losses;
    std::vector<EngineState> states;
};

constexpr std::size_t population_batch_size = 10;
const Table table(7, 120);

/// Two calls with an incomplete accumulation at the end and a reported validation loss between them.
Trained train(Population& population) {
    const auto samples = population.prepare(table.samples());
    const Orders orders(table.order.size());
    const std::vector<double> losses{1, 2, 3, 4, 5};
    population.initialize();
    Trained trained;
    population.train(*samples, orders.spans, population_batch_size);
    population.finish_accumulation();
    population.report_validation_losses(losses);
    population.report_validation_losses(losses);
    trained.results = population.train(*samples, orders.spans, population_batch_size);
    trained.losses = population.evaluate(*samples, 20, 77);
    for (std::size_t m = 0; m < population.size(); ++m)
        trained.states.push_back(population.save(m));
    return trained;
}

void expect_same(const Trained& a, const Trained& b) {
    ASSERT_EQ(a.states.size(), b.states.size());
    for (std::size_t m = 0; m < a.states.size(); ++m) {
        EXPECT_EQ(a.states[m].bytes, b.states[m].bytes) << m;
        EXPECT_EQ(a.losses[m], b.losses[m]) << m;
        EXPECT_EQ(a.results[m].loss_sum, b.results[m].loss_sum) << m;
        EXPECT_EQ(a.results[m].rows, b.results[m].rows) << m;
        EXPECT_EQ(a.results[m].steps, b.results[m].steps) << m;
        EXPECT_EQ(a.results[m].last_gradient_norm, b.results[m].last_gradient_norm) << m;
    }
}

std::unique_ptr<Population> cpu_part(std::size_t first, std::size_t count) {
    const auto members = different_members();
    const auto begin = members.begin() + static_cast<std::ptrdiff_t>(first);
    return cpu_population(model, {begin, begin + static_cast<std::ptrdiff_t>(count)}, 1);
}

std::unique_ptr<Population> joined() {
    std::vector<PopulationPart> parts;
    parts.push_back({2, cpu_part(0, 2)});
    parts.push_back({1, cpu_part(2, 1)});
    parts.push_back({2, cpu_part(3, 2)});
    return joined_population(std::move(parts));
}

TEST(CpuPopulation, EachMemberMatchesAnEngine) {
    const auto members = different_members();
    const auto population = cpu_population(model, members, 2);
    const Trained trained = train(*population);
    const Orders orders(table.order.size());
    const auto samples = population->prepare(table.samples());
    for (std::size_t m = 0; m < members.size(); ++m) {
        TrainingSpec spec = members[m];
        Engine engine(model.with_dropout_rates(std::exchange(spec.dropout_rates, {})), spec);
        engine.initialize();
        engine.train(table.samples(), orders.all[m], population_batch_size);
        engine.finish_accumulation();
        engine.report_validation_loss(static_cast<double>(m + 1));
        engine.report_validation_loss(static_cast<double>(m + 1));
        const TrainResult result = engine.train(table.samples(), orders.all[m], population_batch_size);
        EXPECT_EQ(trained.states[m].bytes, engine.save().bytes) << m;
        EXPECT_EQ(trained.results[m].loss_sum, result.loss_sum) << m;
        EXPECT_EQ(trained.results[m].rows, orders.all[m].size()) << m;
        EXPECT_EQ(trained.losses[m],
                  engine.evaluate({table.x.data() + 20 * table.width, table.width, table.y.data() + 20, 77}));
        EXPECT_EQ(population->steps(m), engine.steps());
        EXPECT_EQ(population->batches(m), engine.batches());
        EXPECT_EQ(population->learning_rate(m), engine.learning_rate());
        EXPECT_EQ(flat(population->evaluation_parameters(m)), flat(engine.evaluation_parameters()));
        EXPECT_EQ(flat(population->optimizer_tensors(m, "exp_avg")),
                  flat(engine.optimizer_tensors("exp_avg")));
        const auto rows = std::span(table.order).subspan(3, 15);
        EXPECT_EQ(flat(population->gradients(m, *samples, rows)),
                  flat(engine.gradients(table.samples(), rows)));
        std::vector<float> expected(30), predicted(30);
        engine.predict(table.x.data() + 5 * table.width, table.width, 30, expected);
        population->predict(m, *samples, 5, 30, predicted);
        EXPECT_EQ(predicted, expected);
    }
}

TEST(CpuPopulation, TheBitsDoNotDependOnThreads) {
    const auto train_with = [](std::size_t threads) {
        return train(*cpu_population(model, different_members(), threads));
    };
    const Trained one = train_with(1);
    for (const std::size_t threads : {2, 3, 16})
        expect_same(one, train_with(threads));
}

TEST(CpuPopulation, PredictionsOfManyMembersMatchThoseOfEach) {
    std::vector<PopulationPart> parts;
    parts.push_back({2, cpu_part(0, 2)});
    parts.push_back({3, cpu_part(2, 3)});
    for (const auto& population :
         {cpu_population(model, different_members(), 2), joined_population(std::move(parts))}) {
        population->initialize();
        const auto samples = population->prepare(table.samples());
        std::vector<float> one(30), all(std::size_t{4} * 30);
        population->predict_members(1, 4, *samples, 5, 30, all);
        for (std::size_t m = 1; m < 5; ++m) {
            population->predict(m, *samples, 5, 30, one);
            EXPECT_TRUE(std::ranges::equal(one, std::span(all).subspan((m - 1) * 30, 30))) << m;
        }
    }
}

TEST(CpuPopulation, ANanLossDoesNotChangeTheSchedule) {
    auto members = different_members();
    for (TrainingSpec& member : members) {
        member.schedule.kind = ScheduleSpec::Kind::plateau;
        member.schedule.plateau_patience = 0;
    }
    const auto population = cpu_population(model, members, 1);
    population->initialize();
    std::vector<double> losses(members.size(), 1.0);
    losses[1] = std::numeric_limits<double>::quiet_NaN();
    const std::vector rates{population->learning_rate(0), population->learning_rate(1)};
    for (int epoch = 0; epoch < 3; ++epoch)
        population->report_validation_losses(losses);
    EXPECT_LT(population->learning_rate(0), rates[0]);
    EXPECT_EQ(population->learning_rate(1), rates[1]);
}

TEST(CpuPopulation, OneOrderServesAllMembers) {
    const auto members = different_members();
    const auto shared = cpu_population(model, members, 2), separate = cpu_population(model, members, 2);
    const std::span<const std::uint32_t> order(table.order);
    const std::vector orders(members.size(), order);
    shared->initialize();
    separate->initialize();
    shared->train(*shared->prepare(table.samples()), std::span(&order, 1), population_batch_size);
    separate->train(*separate->prepare(table.samples()), orders, population_batch_size);
    for (std::size_t m = 0; m < members.size(); ++m)
        EXPECT_EQ(shared->save(m).bytes, separate->save(m).bytes);
}

TEST(CpuPopulation, ARestoredStateContinuesBitIdentically) {
    const auto whole = cpu_population(model, different_members(), 2), other = joined();
    train(*whole);
    for (std::size_t m = 0; m < whole->size(); ++m)
        other->restore(m, whole->save(m));
    const Orders orders(table.order.size());
    whole->train(*whole->prepare(table.samples()), orders.spans, 7);
    other->train(*other->prepare(table.samples()), orders.spans, 7);
    for (std::size_t m = 0; m < whole->size(); ++m)
        EXPECT_EQ(whole->save(m).bytes, other->save(m).bytes) << m;
    std::vector<TrainingSpec> members = different_members();
    std::ranges::reverse(members);
    const auto reversed = cpu_population(model, members, 2);
    EXPECT_NO_THROW(reversed->restore(0, whole->save(4)));
    EXPECT_EQ(flat(reversed->parameters(0)), flat(whole->parameters(4)));
}

TEST(JoinedPopulation, MatchesTheUnjoinedPopulationBitForBit) {
    const auto population = joined();
    EXPECT_EQ(population->size(), 5u);
    const Trained parts = train(*population);
    const auto whole = cpu_population(model, different_members(), 2);
    expect_same(parts, train(*whole));
    const auto samples = population->prepare(table.samples());
    const auto rows = std::span(table.order).first(12);
    for (std::size_t m = 0; m < 5; ++m) {
        EXPECT_EQ(population->training(m), different_members()[m]);
        EXPECT_EQ(flat(population->gradients(m, *samples, rows)),
                  flat(whole->gradients(m, *whole->prepare(table.samples()), rows)));
    }
    const std::string cpu = whole->device();
    EXPECT_EQ(population->device(), cpu + " + " + cpu + " + " + cpu);
}

/// A part whose training fails; a CPU population handles all other calls.
class FailingPopulation final : public Population {
  public:
    explicit FailingPopulation(std::unique_ptr<Population> inner) : inner_(std::move(inner)) {}
    std::vector<TrainResult> train(const SampleSet&, RowOrders, std::size_t) override {
        throw Error("the device is gone");
    }
    const ModelDescription& model() const noexcept override { return inner_->model(); }
    std::size_t size() const noexcept override { return inner_->size(); }
    const TrainingSpec& training(std::size_t m) const override { return inner_->training(m); }
    std::string device() const override { return "failing"; }
    void initialize() override { inner_->initialize(); }
    void set_parameters(std::size_t m, std::span<const NamedTensor> t) override {
        inner_->set_parameters(m, t);
    }
    std::vector<NamedTensor> parameters(std::size_t m) const override { return inner_->parameters(m); }
    std::vector<NamedTensor> evaluation_parameters(std::size_t m) const override {
        return inner_->evaluation_parameters(m);
    }
    std::vector<NamedTensor> optimizer_tensors(std::size_t m, std::string_view moment) const override {
        return inner_->optimizer_tensors(m, moment);
    }
    std::unique_ptr<SampleSet> prepare(const Samples& samples) override { return inner_->prepare(samples); }
    void finish_accumulation() override { inner_->finish_accumulation(); }
    void report_validation_losses(std::span<const double> losses) override {
        inner_->report_validation_losses(losses);
    }
    std::vector<double> evaluate(const SampleSet& s, std::size_t first, std::size_t count) const override {
        return inner_->evaluate(s, first, count);
    }
    void predict(std::size_t m, const SampleSet& s, std::size_t first, std::size_t count,
                 std::span<float> outputs) const override {
        inner_->predict(m, s, first, count, outputs);
    }
    std::vector<NamedTensor> gradients(std::size_t m, const SampleSet& s,
                                       std::span<const std::uint32_t> rows) const override {
        return inner_->gradients(m, s, rows);
    }
    std::uint64_t steps(std::size_t m) const override { return inner_->steps(m); }
    std::uint64_t batches(std::size_t m) const override { return inner_->batches(m); }
    double learning_rate(std::size_t m) const override { return inner_->learning_rate(m); }
    EngineState save(std::size_t m) const override { return inner_->save(m); }
    void restore(std::size_t m, const EngineState& state) override { inner_->restore(m, state); }
    std::unique_ptr<Population> scratch(std::size_t members) const override {
        return inner_->scratch(members);
    }

  private:
    std::unique_ptr<Population> inner_;
};

TEST(JoinedPopulation, TheOtherPartsFinishWhenOneFails) {
    std::vector<PopulationPart> parts;
    parts.push_back({2, std::make_unique<FailingPopulation>(cpu_part(0, 2))});
    parts.push_back({3, cpu_part(2, 3)});
    const auto population = joined_population(std::move(parts));
    population->initialize();
    const Orders orders(table.order.size());
    const auto samples = population->prepare(table.samples());
    EXPECT_THROW(population->train(*samples, orders.spans, population_batch_size), Error);
    EXPECT_EQ(population->batches(0), 0u);
    EXPECT_EQ(population->batches(4),
              (orders.all[4].size() + population_batch_size - 1) / population_batch_size);
}

TEST(Population, RefusesMismatchedMembersByName) {
    const auto refused = [](auto change) {
        auto members = different_members();
        change(members[3]);
        try {
            cpu_population(model, members, 1);
        } catch (const Error& error) {
            EXPECT_EQ(error.status(), ExitStatus::usage);
            return error.where();
        }
        return std::string("accepted");
    };
    EXPECT_EQ(refused([](TrainingSpec& s) { s.loss.kind = LossSpec::Kind::mse; }), "members[3].loss.kind");
    EXPECT_EQ(refused([](TrainingSpec& s) { s.loss.huber_delta = 2; }), "members[3].loss.huber_delta");
    EXPECT_EQ(refused([](TrainingSpec& s) { s.optimizer.kind = OptimizerSpec::Kind::sgd; }),
              "members[3].optimizer.kind");
    EXPECT_EQ(refused([](TrainingSpec& s) { s.accumulation_steps = 3; }), "members[3].accumulation_steps");
    EXPECT_EQ(refused([](TrainingSpec& s) { s.clip_norm = 0; }), "members[3].clip_norm");
    EXPECT_EQ(refused([](TrainingSpec& s) { s.ema_decay = 0; }), "members[3].ema_decay");
    EXPECT_EQ(refused([](TrainingSpec& s) { s.bf16_storage = true; }), "members[3].bf16_storage");
    EXPECT_EQ(refused([](TrainingSpec& s) { s.optimizer.beta1 = 1; }), "members[3].optimizer.beta1");
    EXPECT_EQ(refused([](TrainingSpec& s) { s.dropout_rates = {0.1, 0.2}; }), "members[3].dropout_rates");
    EXPECT_EQ(refused([](TrainingSpec& s) { s.dropout_rates = {1}; }), "members[3].dropout_rates");
    EXPECT_EQ(refused([](TrainingSpec& s) { s.seed = 1; }), "accepted");
    EXPECT_THROW(cpu_population(model, {}, 1), Error);
    EXPECT_THROW(cpu_population(model, {spec_of(LossSpec::Kind::gaussian_nll)}, 1), Error);
    EXPECT_THROW(joined_population({}), Error);
}

TEST(Population, RefusesRowsThatDoNotExist) {
    const auto population = cpu_population(model, different_members(), 1);
    population->initialize();
    const auto samples = population->prepare(table.samples());
    const std::vector<std::uint32_t> wrong{3, 120};
    const std::span<const std::uint32_t> order(wrong);
    const std::vector too_few(2, order.first(1));
    EXPECT_THROW(population->train(*samples, std::span(&order, 1), 2), Error);
    EXPECT_THROW(population->train(*samples, too_few, 2), Error);
    EXPECT_THROW(population->gradients(0, *samples, order), Error);
    EXPECT_THROW(population->evaluate(*samples, 100, 21), Error);
    const auto others = joined();
    EXPECT_THROW(population->evaluate(*others->prepare(table.samples()), 0, 1), Error);
    EXPECT_EQ(population->batches(0), 0u);
}

TEST(Population, KeepsTheRowsThatItPrepared) {
    const auto population = cpu_population(model, different_members(), 1);
    population->initialize();
    const std::vector<double> expected =
        population->evaluate(*population->prepare(table.samples()), 0, table.y.size());
    auto other = std::make_unique<Table>(table);
    const auto samples = population->prepare(other->samples());
    std::ranges::fill(other->x, 0.0f);
    other.reset();
    EXPECT_EQ(population->evaluate(*samples, 0, table.y.size()), expected);
}

TEST(CpuPopulation, SharesRowsThatHaveAnOwner) {
    const auto population = cpu_population(model, different_members(), 1);
    population->initialize();
    const std::vector<double> expected =
        population->evaluate(*population->prepare(table.samples()), 5, table.y.size() - 5);
    auto owner = std::make_shared<const Table>(table);
    Samples rows = owner->samples();
    rows.owner = owner;
    const std::weak_ptr<const Table> watched = owner;
    auto samples = population->prepare(rows);
    rows.owner = nullptr;
    owner = nullptr;
    EXPECT_FALSE(watched.expired());
    EXPECT_EQ(population->evaluate(*samples, 5, table.y.size() - 5), expected);
    samples = nullptr;
    EXPECT_TRUE(watched.expired());
}

TEST(Population, PreparesRowsWithGapsAndWithoutTargets) {
    const auto population = cpu_population(model, {different_members().front()}, 1);
    population->initialize();
    const std::size_t rows = table.y.size(), stride = table.width + 3;
    std::vector<float> spaced(rows * stride, std::numeric_limits<float>::quiet_NaN());
    for (std::size_t r = 0; r < rows; ++r)
        std::copy_n(&table.x[r * table.width], table.width, &spaced[r * stride]);
    const auto dense = population->prepare(table.samples());
    const auto gaps = population->prepare({spaced.data(), stride, nullptr, rows});
    std::vector<float> expected(rows), found(rows);
    population->predict(0, *dense, 0, rows, expected);
    population->predict(0, *gaps, 0, rows, found);
    EXPECT_EQ(found, expected);
}

TEST(Population, OnlyANonFiniteMemberStops) {
    auto members = different_members();
    members[2].optimizer.learning_rate = 1e30;
    members[2].schedule.warmup_steps = 0;
    const auto population = cpu_population(model, members, 2);
    population->initialize();
    const std::span<const std::uint32_t> order(table.order);
    const auto results =
        population->train(*population->prepare(table.samples()), std::span(&order, 1), population_batch_size);
    for (std::size_t m = 0; m < members.size(); ++m) {
        EXPECT_EQ(results[m].finite, m != 2) << m;
        EXPECT_EQ(results[m].rows == table.order.size(), m != 2) << m;
    }
}

TEST(Population, MeasuringSpeedChangesNothing) {
    for (const auto& population : {cpu_population(model, different_members(), 2), joined()}) {
        train(*population);
        const auto before = population->save(1).bytes;
        const SpeedMeasurement speed = measure_speed(*population, population_batch_size, 0.01);
        EXPECT_EQ(population->save(1).bytes, before);
        EXPECT_GT(speed.network_steps_per_second, 0);
        EXPECT_NEAR(speed.seconds_per_step * speed.network_steps_per_second, 5, 1e-9);
    }
    EXPECT_THROW(measure_speed(*joined(), 0), Error);
}

TEST(Population, AScratchPopulationHasTheFirstMembersOfEachPart) {
    const auto members = different_members();
    const auto scratch = cpu_population(model, members, 2)->scratch(2);
    ASSERT_EQ(scratch->size(), 2u);
    EXPECT_EQ(scratch->training(1), members[1]);
    const auto parts = joined()->scratch(3);
    ASSERT_EQ(parts->size(), 5u); // two fifths of three are two, one fifth is one
    EXPECT_EQ(joined()->scratch(1)->size(), 3u);
    EXPECT_EQ(joined()->scratch(100)->size(), 5u);
}

} // namespace
