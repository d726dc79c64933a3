#include "networks.h"

#include <rekindle/foundation/error.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <immintrin.h>
#include <limits>

namespace {

using namespace rekindle;
using namespace rekindle::mlp;
using namespace rekindle::mlp::test;

const std::vector<std::size_t> engine_widths{33, 20, 7};

/// Everything enabled, so that an incomplete state is noticed.
TrainingSpec busy_spec() {
    TrainingSpec spec = spec_of(LossSpec::Kind::huber);
    spec.accumulation_steps = 3;
    spec.ema_decay = 0.95;
    spec.schedule = {.kind = ScheduleSpec::Kind::plateau, .plateau_patience = 0, .warmup_steps = 4};
    return spec;
}

Engine make_engine(const ModelDescription& model, const TrainingSpec& spec) {
    Engine engine(model, spec);
    engine.initialize();
    return engine;
}

TEST(Engine, LearnsALinearFunction) {
    Table table(5, 640);
    for (std::size_t r = 0; r < table.y.size(); ++r)
        table.y[r] = 0.5f * table.x[5 * r] - 0.25f * table.x[5 * r + 3] + 0.1f;
    TrainingSpec spec;
    spec.optimizer.learning_rate = 3e-3;
    Engine engine = make_engine(ModelDescription::default_network(5, engine_widths, 0.0), spec);
    const double before = engine.evaluate(table.samples());
    for (int epoch = 0; epoch < 40; ++epoch)
        EXPECT_TRUE(engine.train(table.samples(), table.order, 32).finite);
    EXPECT_EQ(engine.steps(), 40u * 20u);
    EXPECT_LT(engine.evaluate(table.samples()), 0.02 * before);
}

TEST(Engine, ReportsRowsStepsAndLoss) {
    const Table table(5, 70);
    Engine engine = make_engine(ModelDescription::plain(5, engine_widths), spec_of(LossSpec::Kind::mse));
    std::vector<float> outputs(70);
    engine.predict(table.x.data(), 5, 70, outputs);
    double expected = 0;
    for (std::size_t r = 0; r < 70; ++r)
        expected += std::pow(static_cast<double>(outputs[r]) - table.y[r], 2);
    EXPECT_NEAR(engine.evaluate(table.samples()), expected, 1e-5 * expected);
    const TrainResult result = engine.train(table.samples(), table.order, 70);
    EXPECT_EQ(result.rows, 70u);
    EXPECT_EQ(result.steps, 1u);
    EXPECT_NEAR(result.loss_sum, expected, 1e-5 * expected);
    EXPECT_GT(result.last_gradient_norm, 0);
    EXPECT_EQ(engine.train(table.samples(), std::span(table.order).first(65), 32).steps, 3u);
}

TEST(Engine, ARestoredStateContinuesBitIdentically) {
    const Table table(9, 500);
    const ModelDescription model = ModelDescription::default_network(9, engine_widths, 0.3);
    Engine whole = make_engine(model, busy_spec());
    Engine first = make_engine(model, busy_spec());
    const auto part = [&](Engine& engine, std::size_t begin, std::size_t end) {
        engine.train(table.samples(), std::span(table.order).subspan(begin, end - begin), 10);
    };
    part(whole, 0, 500);
    whole.report_validation_loss(1.0);
    whole.report_validation_loss(2.0);
    part(whole, 0, 250);
    whole.finish_accumulation();

    part(first, 0, 370); // 37 batches: in the middle of an accumulation
    Engine second(model, busy_spec());
    second.restore(first.save());
    part(second, 370, 500);
    second.report_validation_loss(1.0);
    Engine third(model, busy_spec());
    third.restore(second.save());
    third.report_validation_loss(2.0);
    part(third, 0, 250);
    third.finish_accumulation();
    EXPECT_EQ(third.save().bytes, whole.save().bytes);
    EXPECT_EQ(flat(third.evaluation_parameters()), flat(whole.evaluation_parameters()));
    EXPECT_EQ(third.learning_rate(), whole.learning_rate());
    EXPECT_EQ(third.learning_rate(), 0.5 * busy_spec().optimizer.learning_rate);
}

TEST(Engine, RefusesDamagedOrForeignStates) {
    const Table table(9, 40);
    const ModelDescription model = ModelDescription::default_network(9, engine_widths, 0.3);
    Engine engine = make_engine(model, busy_spec());
    engine.train(table.samples(), table.order, 10);
    const EngineState good = engine.save();
    Engine target = make_engine(model, busy_spec());
    const EngineState before = target.save();
    for (std::size_t at = 0; at < good.bytes.size(); at += 1 + good.bytes.size() / 300) {
        EngineState bad = good;
        bad.bytes[at] ^= std::byte{0x10};
        EXPECT_THROW(target.restore(bad), Error) << at;
        bad = good;
        bad.bytes.resize(at);
        EXPECT_THROW(target.restore(bad), Error) << at;
    }
    EXPECT_EQ(target.save().bytes, before.bytes);
    Engine other = make_engine(ModelDescription::default_network(9, engine_widths, 0.2), busy_spec());
    EXPECT_THROW(other.restore(good), Error);
    TrainingSpec plain = busy_spec();
    plain.ema_decay = 0;
    Engine without_average = make_engine(model, plain);
    EXPECT_THROW(without_average.restore(good), Error);
}

TEST(Engine, StopsBeforeANonFiniteStep) {
    for (const float poison :
         {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
        for (const Activation activation :
             {Activation::identity, Activation::silu, Activation::relu, Activation::gelu, Activation::tanh}) {
            Table table(9, 40);
            table.x[25 * 9] = poison;
            Engine engine = make_engine(ModelDescription::default_network(9, engine_widths, 0.0, activation),
                                        TrainingSpec{});
            Engine clean = make_engine(engine.model(), TrainingSpec{});
            const TrainResult result = engine.train(table.samples(), table.order, 10);
            EXPECT_FALSE(result.finite);
            EXPECT_EQ(result.steps, 2u);
            EXPECT_EQ(result.rows, 20u);
            clean.train(table.samples(), std::span(table.order).first(20), 10);
            EXPECT_EQ(engine.save().bytes, clean.save().bytes);
        }
    }
}

TEST(Engine, NanTargetsAreNotFinite) {
    for (const auto loss : {LossSpec::Kind::mse, LossSpec::Kind::huber, LossSpec::Kind::bce_with_logits,
                            LossSpec::Kind::gaussian_nll}) {
        Table table(9, 10);
        table.y[3] = std::numeric_limits<float>::quiet_NaN();
        const std::size_t outputs = loss == LossSpec::Kind::gaussian_nll ? 2 : 1;
        Engine engine =
            make_engine(ModelDescription::default_network(9, engine_widths, 0.0, Activation::silu, outputs),
                        spec_of(loss));
        EXPECT_FALSE(engine.train(table.samples(), table.order, 10).finite) << static_cast<int>(loss);
    }
}

TEST(Engine, FlushesSubnormalsAndRestoresTheMode) {
    const Table table(9, 640);
    const unsigned before = _mm_getcsr();
    _mm_setcsr((before & ~0x6000u) | 0x2000u); // a different rounding mode, no flushing
    Engine rounding_down =
        make_engine(ModelDescription::default_network(9, engine_widths, 0.0), TrainingSpec{});
    const unsigned set = _mm_getcsr();
    rounding_down.train(table.samples(), table.order, 32);
    EXPECT_EQ(_mm_getcsr() & 0xFFC0u, set & 0xFFC0u);
    rounding_down.evaluate(table.samples());
    EXPECT_EQ(_mm_getcsr() & 0xFFC0u, set & 0xFFC0u);
    _mm_setcsr(before);
}

TEST(Engine, MomentsNeverBecomeSubnormal) {
    // Zero weights and targets of 1e-18: squared gradients times 1 - beta2 are about 1e-39, a subnormal
    // number.
    Table table(20, 8);
    for (float& target : table.y)
        target *= 1e-18f;
    TrainingSpec spec;
    spec.clip_norm = 0;
    Engine engine = make_engine(ModelDescription::plain(20, {}), spec);
    std::vector<NamedTensor> zeros = engine.parameters();
    for (NamedTensor& tensor : zeros)
        std::ranges::fill(tensor.values, 0.0f);
    engine.set_parameters(zeros);
    EXPECT_TRUE(engine.train(table.samples(), table.order, 8).finite);
    for (const float value : flat(engine.optimizer_tensors("exp_avg")))
        EXPECT_NE(value, 0);
    for (const float value : flat(engine.optimizer_tensors("exp_avg_sq")))
        EXPECT_EQ(value, 0);
}

TEST(Engine, ParametersRoundTripAndErrorsNameTheTensor) {
    Engine engine = make_engine(ModelDescription::default_network(9, engine_widths, 0.3), TrainingSpec{});
    std::vector<NamedTensor> tensors = engine.parameters();
    ASSERT_EQ(tensors.size(), 2u + 4u + 4u + 2u + 2u);
    EXPECT_EQ(tensors[2].name, "hidden_layers.0.0.weight");
    EXPECT_EQ(tensors[2].shape, (std::vector<std::size_t>{20, 33}));
    EXPECT_EQ(tensors[4].name, "hidden_layers.0.1.weight");
    EXPECT_EQ(tensors.back().name, "output_layer.bias");
    for (std::size_t t = 0; t < tensors.size(); ++t)
        tensors[t].values = hashed(tensors[t].values.size(), static_cast<std::uint32_t>(t));
    engine.set_parameters(tensors);
    EXPECT_EQ(flat(engine.parameters()), flat(tensors));
    const auto expect_error = [&](std::string_view where) {
        try {
            engine.set_parameters(tensors);
            ADD_FAILURE();
        } catch (const Error& error) {
            EXPECT_EQ(error.where(), where);
        }
    };
    tensors[2].shape = {33, 20};
    expect_error("hidden_layers.0.0.weight");
    tensors.erase(tensors.begin() + 2);
    expect_error("hidden_layers.0.0.weight");
}

float rounded_to_bf16(float value) {
    auto bits = std::bit_cast<std::uint32_t>(value);
    bits += 0x7FFFu + (bits >> 16 & 1u);
    return std::bit_cast<float>(bits & 0xFFFF0000u);
}

TEST(Engine, Bf16RoundsWeightsAndActivationsAndKeepsMasterWeights) {
    // A single Linear by hand: rounded inputs times rounded weights, in double.
    const Table table(20, 50);
    TrainingSpec spec;
    spec.bf16_storage = true;
    Engine engine = make_engine(ModelDescription::plain(20, {}), spec);
    const std::vector<NamedTensor> tensors = engine.parameters();
    std::vector<float> outputs(50);
    engine.predict(table.x.data(), 20, 50, outputs);
    for (std::size_t r = 0; r < 50; ++r) {
        double expected = rounded_to_bf16(tensors[1].values[0]);
        for (std::size_t i = 0; i < 20; ++i)
            expected += static_cast<double>(rounded_to_bf16(table.x[20 * r + i])) *
                        rounded_to_bf16(tensors[0].values[i]);
        EXPECT_NEAR(outputs[r], expected, 1e-6);
    }
    engine.train(table.samples(), table.order, 10);
    std::size_t finer = 0;
    for (const float value : flat(engine.parameters()))
        finer += value != rounded_to_bf16(value);
    EXPECT_GT(finer, 15u); // of 21: the master weights hold what bf16 cannot
}

TEST(Engine, OutputsAndLossMustMatch) {
    EXPECT_THROW(Engine(ModelDescription::plain(3, engine_widths), spec_of(LossSpec::Kind::gaussian_nll)),
                 Error);
    EXPECT_THROW(Engine(ModelDescription::plain(3, engine_widths, Activation::relu, 2), TrainingSpec{}),
                 Error);
    EXPECT_THROW(Engine(ModelDescription::plain(3, engine_widths, Activation::relu, 3), TrainingSpec{}),
                 Error);
}

TEST(Engine, InitialWeightsHaveTheRightVariance) {
    const std::vector<std::size_t> wide{200, 100};
    Engine engine = make_engine(ModelDescription::default_network(50, wide, 0.3), TrainingSpec{});
    for (const NamedTensor& tensor : engine.parameters()) {
        if (tensor.name == "hidden_layers.0.0.weight") { // Kaiming normal: variance 2 / 200
            double squares = 0;
            for (const float value : tensor.values)
                squares += static_cast<double>(value) * value;
            EXPECT_NEAR(squares / static_cast<double>(tensor.values.size()), 0.01, 0.0005);
        } else if (tensor.name == "final_norm.weight") {
            EXPECT_EQ(tensor.values, std::vector<float>(100, 1.0f));
        } else if (tensor.name == "output_layer.bias") {
            EXPECT_EQ(tensor.values, std::vector<float>(1, 0.0f));
        }
    }
    engine = make_engine(ModelDescription::plain(50, wide), TrainingSpec{});
    for (const NamedTensor& tensor : engine.parameters()) {
        if (!tensor.name.starts_with("layers.1."))
            continue;
        for (const float value : tensor.values)
            EXPECT_LE(std::abs(value), 1 / std::sqrt(200.0f));
    }
}

} // namespace
