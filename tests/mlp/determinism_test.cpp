/// The same bits for any number of threads and for x86-64-v3 and v4, over many configurations.

#include "networks.h"

#include <gtest/gtest.h>

#include <cmath>

namespace {

using namespace rekindle;
using namespace rekindle::mlp;
using namespace rekindle::mlp::test;

struct Configuration {
    std::string name;
    ModelDescription model;
    TrainingSpec spec;
    std::size_t batch_size;
};

constexpr LossSpec::Kind losses[] = {LossSpec::Kind::mse, LossSpec::Kind::huber,
                                     LossSpec::Kind::bce_with_logits, LossSpec::Kind::gaussian_nll};
constexpr Activation activations[] = {Activation::identity, Activation::silu, Activation::relu,
                                      Activation::gelu, Activation::tanh};

/// Every loss with every activation, with varying shapes, optimizers, batch sizes and other settings.
std::vector<Configuration> configurations() {
    const std::vector<std::size_t> shapes[] = {{32, 16}, {7, 20, 33}, {20}, {128, 64}, {33, 7, 5}, {16}};
    const std::size_t batches[] = {1, 7, 64, 65, 200, 513, 1000};
    std::vector<Configuration> result;
    std::size_t i = 0;
    for (const bool plain : {false, true})
        for (const LossSpec::Kind loss : losses)
            for (const Activation activation : activations) {
                const auto& shape = shapes[i % std::size(shapes)];
                const std::size_t outputs = loss == LossSpec::Kind::gaussian_nll ? 2 : 1;
                const std::size_t inputs = 3 + 17 * (i % 4);
                Configuration c{"", {}, spec_of(loss), batches[i % std::size(batches)]};
                c.model = plain ? ModelDescription::plain(inputs, shape, activation, outputs)
                                : ModelDescription::default_network(inputs, shape, 0.3, activation, outputs);
                c.spec.clip_norm = i % 3 ? 1.0 : 0.0;
                c.spec.accumulation_steps = i % 5 == 4 ? 2 : 1;
                c.spec.ema_decay = i % 7 == 3 ? 0.9 : 0;
                c.spec.bf16_storage = i % 6 == 5;
                if (i % 4 == 1) {
                    c.spec.optimizer.kind = OptimizerSpec::Kind::sgd;
                    c.spec.optimizer.momentum = i % 8 == 1 ? 0.9 : 0.0;
                }
                c.name = std::to_string(i++);
                result.push_back(std::move(c));
            }
    return result;
}

/// The whole state after a few steps, the gradients and the predictions.
std::vector<std::byte> bits(const Configuration& c, std::size_t threads, InstructionSet instructions) {
    TrainingSpec spec = c.spec;
    spec.threads = threads;
    Engine engine(c.model, spec, instructions);
    engine.initialize();
    const Table table(c.model.inputs, 3 * c.batch_size + 5,
                      spec.loss.kind == LossSpec::Kind::bce_with_logits);
    EXPECT_TRUE(engine.train(table.samples(), table.order, c.batch_size).finite);
    std::vector<std::byte> result = engine.save().bytes;
    std::vector<float> floats = flat(engine.gradients(table.samples(), table.order));
    floats.resize(floats.size() + table.order.size() * c.model.outputs());
    engine.predict(table.x.data(), table.width, table.order.size(),
                   std::span(floats).last(table.order.size() * c.model.outputs()));
    floats.push_back(static_cast<float>(engine.evaluate(table.samples())));
    const auto bytes = std::as_bytes(std::span(floats));
    result.insert(result.end(), bytes.begin(), bytes.end());
    return result;
}

TEST(Determinism, AnyNumberOfThreadsGivesTheSameBits) {
    for (const Configuration& c : configurations()) {
        const auto one = bits(c, 1, chosen_instruction_set());
        EXPECT_EQ(one, bits(c, 1, chosen_instruction_set())) << c.name;
        EXPECT_EQ(one, bits(c, 2, chosen_instruction_set())) << c.name;
        EXPECT_EQ(one, bits(c, 5, chosen_instruction_set())) << c.name;
    }
}

TEST(Determinism, UsesThreadsWhereTheyHelp) {
    // Large enough for eight slots on several threads: the test above would not notice if no threads were
    // ever started.
    const std::vector<std::size_t> wide{256, 128};
    Configuration c{"wide", ModelDescription::default_network(64, wide, 0.2), spec_of(LossSpec::Kind::mse),
                    1024};
    const auto one = bits(c, 1, chosen_instruction_set());
    for (const std::size_t threads : {2, 3, 8})
        EXPECT_EQ(one, bits(c, threads, chosen_instruction_set())) << threads;
}

TEST(Determinism, Avx2AndAvx512GiveTheSameBits) {
    if (!supported(InstructionSet::x86_64_v4))
        GTEST_SKIP() << "this CPU has no AVX-512, so x86-64-v3 and v4 cannot be compared";
    ASSERT_GE(configurations().size(), 35u);
    for (const Configuration& c : configurations())
        EXPECT_EQ(bits(c, 1, InstructionSet::x86_64_v3), bits(c, 1, InstructionSet::x86_64_v4)) << c.name;
}

TEST(Determinism, BaselineAgreesUpToRounding) {
    // Without fused multiply-adds the bits differ, but the results hardly do.
    for (const Configuration& c : configurations()) {
        if (c.spec.bf16_storage)
            continue; // rounding to 8 bits may go the other way
        const Table table(c.model.inputs, c.batch_size + 3,
                          c.spec.loss.kind == LossSpec::Kind::bce_with_logits);
        Engine best(c.model, c.spec), baseline(c.model, c.spec, InstructionSet::x86_64);
        best.initialize();
        baseline.initialize();
        const auto a = flat(best.gradients(table.samples(), table.order));
        const auto b = flat(baseline.gradients(table.samples(), table.order));
        double difference = 0, norm = 0;
        for (std::size_t i = 0; i < a.size(); ++i) {
            difference += std::pow(static_cast<double>(a[i]) - b[i], 2);
            norm += std::pow(static_cast<double>(a[i]), 2);
        }
        EXPECT_LE(std::sqrt(difference), 2e-5 * std::sqrt(norm)) << c.name;
    }
}

} // namespace
