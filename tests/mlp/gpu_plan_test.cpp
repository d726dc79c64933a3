/// The inputs of the GPU's kernels: layouts, places in shared memory, refusals, and the list of cases that
/// the ISA audit and the pipeline matrix compile. REKINDLE_WRITE_AUDIT=1 writes that list instead of
/// comparing it.

#include "cpu/plan.h"
#include "gpu/plan.h"
#include "gpu/stages.h"
#include "networks.h"

#include <rekindle/foundation/environment.h>
#include <rekindle/kernels/ceil_div.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <paths.h>
#include <set>

namespace rekindle::mlp::gpu {
namespace {

constexpr DeviceLimits smallest{32768, 1024};

ModelDescription default_network(std::vector<std::size_t> hidden) {
    return ModelDescription::default_network(54, hidden, 0.2);
}
TrainingSpec bare() {
    TrainingSpec spec;
    spec.clip_norm = 0;
    return spec;
}

std::map<std::string, std::uint32_t> constants(const GpuPlan& plan) {
    std::map<std::string, std::uint32_t> values;
    for (const kernels::ConstantValue& c : plan.constants)
        EXPECT_TRUE(values.emplace(c.name, c.value).second) << c.name << " is given twice";
    return values;
}

TEST(GpuLayout, HoldsEveryElementOfEveryTensorOnce) {
    for (const auto& hidden : {std::vector<std::size_t>{128, 64}, {33, 20, 5}, {7}}) {
        const ModelDescription model = default_network(hidden);
        const Layout layout(model);
        const cpu::Plan plan(model, TrainingSpec{});
        ASSERT_EQ(layout.tensors().size(), plan.parameters().size());
        std::set<std::size_t> taken;
        for (std::size_t t = 0; t < layout.tensors().size(); ++t) {
            const Tensor& tensor = layout.tensors()[t];
            EXPECT_EQ(tensor.name, plan.parameters()[t].name);
            EXPECT_EQ(tensor.shape(), plan.parameters()[t].shape());
            for (std::size_t i = 0; i < tensor.size(); ++i) {
                EXPECT_LT(tensor.position(i), layout.floats());
                EXPECT_TRUE(taken.insert(tensor.position(i)).second) << tensor.name << " " << i;
            }
        }
    }
}

TEST(GpuPlan, StaysWithinTheLimitsOfTheDevice) {
    for (const std::uint32_t shared : {32768u, 49152u, 65536u})
        for (const std::uint32_t threads : {128u, 1024u})
            for (const std::size_t batch : {1, 8, 32, 100})
                for (const auto& hidden :
                     {std::vector<std::size_t>{128, 64}, {512, 512}, {40, 40, 40, 40, 40}}) {
                    const GpuPlan plan = plan_population(default_network(hidden), TrainingSpec{}, batch,
                                                         {shared, threads}, GpuShape::latency);
                    EXPECT_EQ(plan.refusal, "");
                    EXPECT_LE(plan.shared_bytes, shared);
                    EXPECT_LE(plan.threads, threads);
                    EXPECT_GE(plan.block_rows * plan.blocks, batch);
                    EXPECT_LT(plan.block_rows * (plan.blocks - 1), batch);
                    EXPECT_LE(plan.block_rows, plan.threads);
                    const auto values = constants(plan);
                    EXPECT_EQ(values.at("threads"), plan.threads);
                    EXPECT_LE(values.at("block_rows") * values.at("row_lanes"), plan.threads);
                }
}

TEST(GpuPlan, GivesTheConstantsOfBothKernelsInTheirOrder) {
    for (const auto& hidden : {std::vector<std::size_t>{128, 64}, {40, 40, 40, 40, 40}}) {
        const GpuPlan plan =
            plan_population(default_network(hidden), TrainingSpec{}, 32, smallest, GpuShape::latency);
        for (const std::string_view name : {plan.train_kernel, plan.evaluate_kernel}) {
            const kernels::Kernel* kernel = kernels::find(name);
            ASSERT_NE(kernel, nullptr) << name;
            EXPECT_TRUE(std::ranges::equal(plan.constants, kernel->constants, {},
                                           &kernels::ConstantValue::name,
                                           &kernels::SpecializationConstant::name))
                << name;
        }
    }
}

TEST(GpuPlan, NumbersStagesAndSlots) {
    const GpuPlan plan =
        plan_population(default_network({32, 16}), TrainingSpec{}, 32, smallest, GpuShape::latency);
    const auto values = constants(plan);
    EXPECT_EQ(values.at("stage0_inputs"), 54u);
    EXPECT_EQ(values.at("stage0_width"), 32u);
    EXPECT_EQ(values.at("slot0_inputs"), 14u); // quads
    EXPECT_EQ(values.at("slot0_columns"), 8u);
    EXPECT_EQ(values.at("stage" + std::to_string(values.at("stage_count")) + "_width"), 0u);
}

TEST(GpuPlan, NetworksWithOtherDropoutRatesHaveTheSamePipelines) {
    const auto with_rate = [](double rate) {
        ModelDescription model = default_network({32, 16});
        for (Layer& layer : model.layers)
            if (layer.kind == Layer::Kind::dropout)
                layer.dropout_rate = rate;
        return plan_population(model, TrainingSpec{}, 32, smallest, GpuShape::latency);
    };
    const GpuPlan one = with_rate(0.25), other = with_rate(0.5);
    EXPECT_EQ(constants(one), constants(other));
    const auto thresholds = [](const GpuPlan& plan, double rate) {
        const StageDropouts dropouts = plan.stage_dropouts(std::vector{rate});
        return std::set<std::uint32_t>(dropouts.thresholds.begin(), dropouts.thresholds.end());
    };
    EXPECT_EQ(thresholds(one, 0.25), (std::set<std::uint32_t>{0, 1u << 30}));
    EXPECT_EQ(thresholds(one, 0.5), (std::set<std::uint32_t>{0, 1u << 31}));
}

TEST(GpuPlan, PrefersRowsOverWeightsInSharedMemory) {
    const auto plan = [](std::vector<std::size_t> hidden, std::uint32_t shared) {
        return plan_population(default_network(std::move(hidden)), TrainingSpec{}, 32, {shared, 1024},
                               GpuShape::latency);
    };
    EXPECT_TRUE(plan({32, 16}, 32768).weights_in_shared);
    for (const std::uint32_t shared : {32768u, 49152u}) {
        EXPECT_FALSE(plan({128, 64}, shared).weights_in_shared);
        EXPECT_GE(plan({128, 64}, shared).block_rows, 8);
        EXPECT_GE(plan({40, 40, 40, 40, 40}, shared).block_rows, 8);
    }
    EXPECT_GE(plan({512, 512}, 32768).block_rows, 1);
}

TEST(GpuPlan, DividesProductsOfFewTilesWhereAsked) {
    const auto form = [](bool divides) {
        const std::vector<std::size_t> hidden{32, 16};
        const auto plan = plan_variant(ModelDescription::plain(16, hidden), bare(), 8, {32768, 1024, divides},
                                       {32, Storage::resident});
        return constants(plan.value()).at("stage1_form");
    };
    // 16 columns of 8 rows are 8 tiles for 32 threads; the input's gradient has 16.
    EXPECT_EQ(form(true) >> 11, 2u | 1u << 2);
    EXPECT_EQ(form(false) >> 11, 0u);
    EXPECT_EQ(form(true) & 0x7FF, form(false));
}

TEST(GpuPlan, RefusesInOneSentence) {
    const auto refusal = [](const ModelDescription& model, const TrainingSpec& spec) {
        return plan_population(model, spec, 32, smallest, GpuShape::automatic).refusal;
    };
    EXPECT_EQ(refusal(default_network({513, 64}), {}),
              "a layer of 513 units is wider than 512, the limit of the GPU's kernels");
    EXPECT_EQ(refusal(default_network(std::vector<std::size_t>(7, 16)), {}),
              "the network needs 14 stages, and the GPU's kernels support at most 12");
    TrainingSpec rounded;
    rounded.bf16_storage = true;
    EXPECT_EQ(refusal(default_network({16}), rounded), "bf16_storage is not supported on a GPU yet");
    EXPECT_EQ(refusal(default_network({512, 512}), {}), "");
}

/// Blocks of shared memory that a stage's backward pass needs at the same time must not overlap.
/// Every quad of the vectors has exactly one owner, and each slot of a thread holds at most one quad.
TEST(GpuStages, EveryVectorHasOneOwner) {
    std::size_t with_tiles = 0;
    for (const auto& hidden : std::vector<std::vector<std::size_t>>{
             {128, 64}, {32, 16}, {40, 40, 40}, {7}, {512, 512}, {256, 100, 3}, {64, 64, 64, 64, 64}})
        for (const bool with_tiles_allowed : {false, true})
            for (const std::uint32_t threads : {32u, 64u, 128u, 256u, 512u}) {
                const bool norms = (hidden.size() + threads / 32) % 2 == 0;
                const ModelDescription model =
                    norms ? default_network(hidden) : ModelDescription::plain(16, hidden);
                const Layout layout(model);
                Network network = network_of(model, layout);
                network.assign_vectors(threads, with_tiles_allowed);
                std::set<std::uint32_t> positions, quads;
                const auto add = [&](std::uint32_t vectors, std::uint32_t first_owner, std::uint32_t count) {
                    for (std::uint32_t i = 0; i < count; ++i) {
                        EXPECT_TRUE(quads.insert(vectors + i).second);
                        EXPECT_TRUE(positions.insert(first_owner + i).second);
                    }
                };
                for (const Stage& s : network.stages) {
                    add(s.vectors, s.first_owner, s.vector_quads());
                    with_tiles += s.core == Core::linear && threads % s.vector_quads() == 0 &&
                                  s.first_owner % s.vector_quads() == 0 &&
                                  s.first_owner + s.vector_quads() <= std::min(threads, s.tiles());
                }
                add(network.head.vectors, network.head.first_owner, network.head.vector_quads());
                EXPECT_EQ(quads.size(), layout.vector_quads());
                EXPECT_EQ(*quads.rbegin() + 1, layout.vector_quads());
                EXPECT_LT(*positions.rbegin(), kernels::ceil_div(layout.vector_quads(), threads) * threads);
            }
    EXPECT_GT(with_tiles, 50u);
}

TEST(GpuStages, ValuesNeededTogetherDoNotOverlap) {
    const ModelDescription model = default_network({40, 24, 16});
    Network network = network_of(model, Layout(model));
    constexpr std::uint32_t rows = 8;
    network.place(rows, 64);
    using Range = std::pair<std::uint32_t, std::uint32_t>;
    const auto range = [](std::uint32_t at, std::uint32_t width) {
        return Range{at, at + rows * row_stride(quads(width))};
    };
    for (std::size_t i = 1; i < network.stages.size(); ++i) {
        const Stage& s = network.stages[i];
        std::vector<Range> needed{range(s.gradient_at, s.width), range(s.input_gradient_at, s.inputs)};
        if (s.core == Core::linear)
            needed.push_back(range(s.input_at, s.inputs));
        if (s.core == Core::layer_norm)
            needed.push_back(range(s.extra_at, s.width));
        if (s.backward_parts > 1)
            needed.push_back(
                {s.backward_partials_at,
                 s.backward_partials_at + partial_quads(quads(s.inputs), rows, s.backward_parts)});
        std::sort(needed.begin(), needed.end());
        for (std::size_t k = 1; k < needed.size(); ++k)
            EXPECT_LE(needed[k - 1].second, needed[k].first) << "stage " << i;
        EXPECT_LE(needed.back().second, network.activation_quads);
    }
}

struct AuditCase {
    std::string name;
    ModelDescription model;
    TrainingSpec training;
    std::size_t batch;
    DeviceLimits limits;
    Variant variant;
};

ModelDescription residual_network() {
    using Kind = Layer::Kind;
    ModelDescription model{.inputs = 12, .layers = {}};
    const auto add = [&](Kind kind, std::string name, std::size_t inputs, std::size_t outputs) -> Layer& {
        model.layers.push_back({.kind = kind, .name = std::move(name), .inputs = inputs, .outputs = outputs});
        return model.layers.back();
    };
    add(Kind::linear, "first", 12, 24);
    add(Kind::residual_begin, "", 24, 24);
    add(Kind::linear, "inner", 24, 24);
    add(Kind::activation, "", 24, 24).activation = Activation::gelu;
    add(Kind::dropout, "", 24, 24).dropout_rate = 0.1;
    add(Kind::residual_end, "", 24, 24);
    add(Kind::activation, "", 24, 24).activation = Activation::tanh;
    add(Kind::linear, "last", 24, 2);
    return model;
}

/// Covers the choices of the selection: each workgroup size with each kind of storage that fits it, each
/// loss, each optimizer, each size of shared memory. All with whole tiles.
std::vector<AuditCase> whole_cases() {
    const auto plain = [](std::size_t inputs, std::vector<std::size_t> hidden) {
        return ModelDescription::plain(inputs, hidden);
    };
    TrainingSpec likelihood, huber, entropy, momentum;
    likelihood.loss.kind = LossSpec::Kind::gaussian_nll;
    likelihood.ema_decay = 0.99;
    likelihood.accumulation_steps = 4;
    huber.loss.kind = LossSpec::Kind::huber;
    entropy.loss.kind = LossSpec::Kind::bce_with_logits;
    entropy.optimizer.kind = OptimizerSpec::Kind::sgd;
    momentum.optimizer.kind = OptimizerSpec::Kind::sgd;
    momentum.optimizer.momentum = 0.9;
    constexpr DeviceLimits small{32768, 1024}, medium{49152, 1024}, large{65536, 1024};
    const std::vector<std::size_t> deep{40, 40, 40, 40, 40};
    return {
        {"16-32-16-1, batch 8", plain(16, {32, 16}), bare(), 8, small, {32, Storage::resident}},
        {"54-32-16-1, batch 8", plain(54, {32, 16}), bare(), 8, small, {64, Storage::resident}},
        {"16-32-16-1, batch 8", plain(16, {32, 16}), bare(), 8, small, {128, Storage::resident}},
        {"default 54-64-32-1, batch 32, 48 KiB",
         default_network({64, 32}),
         {},
         32,
         medium,
         {256, Storage::resident}},
        {"default 54-128-64-1, batch 32, 48 KiB",
         default_network({128, 64}),
         {},
         32,
         medium,
         {128, Storage::cached}},
        {"default 54-128-64-1, batch 32", default_network({128, 64}), {}, 32, small, {256, Storage::cached}},
        {"default 54-128-64-1, batch 32, 64 KiB",
         default_network({128, 64}),
         {},
         32,
         large,
         {512, Storage::cached}},
        {"residual, Gaussian likelihood, averaged",
         residual_network(),
         likelihood,
         16,
         small,
         {64, Storage::shared}},
        {"default 54-256-128-1, Huber",
         default_network({256, 128}),
         huber,
         32,
         medium,
         {512, Storage::memory}},
        {"54-512-512-1, cross-entropy, SGD",
         plain(54, {512, 512}),
         entropy,
         64,
         small,
         {512, Storage::memory}},
        {"logistic regression, momentum", plain(20, {}), momentum, 8, small, {32, Storage::resident}},
        {"default 54-40-40-40-40-40-1, batch 32",
         default_network(deep),
         {},
         32,
         small,
         {32, Storage::memory}},
        {"default 54-40-40-40-40-40-1, batch 32",
         default_network(deep),
         {},
         32,
         small,
         {64, Storage::memory}},
        {"default 54-40-40-40-40-40-1, batch 32",
         default_network(deep),
         {},
         32,
         small,
         {128, Storage::memory}},
        {"default 54-40-40-40-40-40-1, batch 32",
         default_network(deep),
         {},
         32,
         small,
         {256, Storage::memory}},
        {"default 54-40-40-40-40-40-1, batch 32",
         default_network(deep),
         {},
         32,
         small,
         {512, Storage::memory}},
    };
}

/// Those cases, and each again with divided products if that changes the plan.
std::vector<AuditCase> audit_cases() {
    std::vector<AuditCase> cases;
    for (const AuditCase& whole : whole_cases()) {
        AuditCase divided = whole;
        divided.name += ", divided";
        divided.limits.divides_products = true;
        cases.push_back(whole);
        const auto plan_of = [](const AuditCase& c) {
            return plan_variant(c.model, c.training, c.batch, c.limits, c.variant);
        };
        const auto plan = plan_of(whole), other = plan_of(divided);
        if (plan && other && constants(*plan) != constants(*other))
            cases.push_back(divided);
    }
    return cases;
}

/// Names the constants that differ from the kernel's initial values.
std::string line_of(std::string_view kernel, const AuditCase& c, const GpuPlan& plan) {
    std::string line = std::string(kernel) + " | " + c.name + " |";
    const auto initial = kernels::find(kernel)->constants;
    for (std::size_t i = 0; i < plan.constants.size(); ++i)
        if (plan.constants[i].value != initial[i].initial)
            line += " " + std::string(plan.constants[i].name) + "=" + std::to_string(plan.constants[i].value);
    return line + "\n";
}

/// Text of kernels/audit/<family>.txt, by family.
std::map<std::string, std::string> audit_texts() {
    std::map<std::string, std::string> texts;
    for (const AuditCase& c : audit_cases()) {
        const auto plan = plan_variant(c.model, c.training, c.batch, c.limits, c.variant);
        if (!plan) {
            ADD_FAILURE() << c.name << " with " << c.variant.threads << " threads is not possible";
            continue;
        }
        const bool deep = plan->train_kernel.starts_with("train_deep");
        texts[deep ? "population_deep" : "population"] += line_of(plan->train_kernel, c, *plan);
        texts[deep ? "population_evaluate_deep" : "population_evaluate"] +=
            line_of(plan->evaluate_kernel, c, *plan);
    }
    return texts;
}

TEST(GpuPlan, AuditListsMatchThePlan) {
    const std::filesystem::path folder =
        std::filesystem::path(rekindle::test::data_folder).parent_path().parent_path().parent_path() /
        "kernels" / "audit";
    for (const auto& [family, text] : audit_texts()) {
        const std::string expected =
            "# Made by REKINDLE_WRITE_AUDIT=1 rekindle_mlp_tests --gtest_filter=GpuPlan.Audit*\n" + text;
        const std::filesystem::path file = folder / (family + ".txt");
        if (switched_on("REKINDLE_WRITE_AUDIT"))
            std::ofstream(file, std::ios::binary) << expected;
        std::ifstream stream(file, std::ios::binary);
        EXPECT_EQ(std::string(std::istreambuf_iterator<char>(stream), {}), expected) << file;
    }
}

/// What a device needs for so much shared memory.
kernels::Features needs_of(std::uint32_t shared_bytes) {
    if (shared_bytes > 49152)
        return kernels::Feature::shared_64k;
    return shared_bytes > 32768 ? kernels::Features(kernels::Feature::shared_48k) : kernels::Features();
}

TEST(GpuPlan, TheModulesNeedTheSharedMemoryOfThePlan) {
    std::size_t large = 0;
    for (const AuditCase& c : audit_cases()) {
        const auto plan = plan_variant(c.model, c.training, c.batch, c.limits, c.variant);
        ASSERT_TRUE(plan) << c.name;
        for (const std::string_view name : {plan->train_kernel, plan->evaluate_kernel}) {
            const kernels::Kernel& kernel = *kernels::find(name);
            const auto one = std::ranges::find(kernel.audit, c.name, &kernels::AuditCase::name);
            ASSERT_NE(one, kernel.audit.end()) << name << ", " << c.name;
            EXPECT_EQ(kernel.needs | one->needs, needs_of(plan->shared_bytes)) << name << ", " << c.name;
            large += plan->shared_bytes > 32768;
        }
    }
    EXPECT_GT(large, 0u);
}

} // namespace
} // namespace rekindle::mlp::gpu
