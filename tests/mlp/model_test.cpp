#include <rekindle/foundation/error.h>
#include <rekindle/mlp/model.h>
#include <rekindle/mlp/training.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <vector>

namespace {

using namespace rekindle;
using namespace rekindle::mlp;

const std::vector<std::size_t> hidden{128, 64, 32};

TEST(Model, DefaultNetworkHasTheOriginalLayersAndNames) {
    const ModelDescription model = ModelDescription::default_network(54, hidden, 0.4);
    ASSERT_EQ(model.layers.size(), 2u + 4u + 4u + 2u);
    EXPECT_EQ(model.layers[0].name, "input_layer");
    EXPECT_EQ(model.layers[2].name, "hidden_layers.0.0");
    EXPECT_EQ(model.layers[3].name, "hidden_layers.0.1");
    EXPECT_EQ(model.layers[3].kind, Layer::Kind::layer_norm);
    EXPECT_DOUBLE_EQ(model.layers[5].dropout_rate, 0.4);
    EXPECT_DOUBLE_EQ(model.layers[9].dropout_rate, 0.4 * 1.2);
    EXPECT_EQ(model.layers[10].name, "final_norm");
    EXPECT_EQ(model.layers[11].name, "output_layer");
    EXPECT_EQ(model.outputs(), 1u);
}

TEST(Model, JsonRoundTrips) {
    ModelDescription model = ModelDescription::default_network(19, hidden, 0.25, Activation::gelu, 2);
    model.layers.insert(model.layers.begin() + 2,
                        {.kind = Layer::Kind::residual_begin, .name = {}, .inputs = 128, .outputs = 128});
    model.layers.insert(model.layers.begin() + 3,
                        {.kind = Layer::Kind::residual_end, .name = {}, .inputs = 128, .outputs = 128});
    const nlohmann::json json = model;
    EXPECT_EQ(json.get<ModelDescription>(), model);
    EXPECT_EQ(nlohmann::json(json.get<ModelDescription>()), json);
    EXPECT_EQ(nlohmann::json::parse(json.dump()).get<ModelDescription>(), model);
}

TEST(Model, ReadsTheEarlySpellingOfInitialization) {
    const ModelDescription model = ModelDescription::default_network(19, hidden, 0.25, Activation::gelu, 2);
    nlohmann::json early = model;
    early["initialisation"] = early.at("initialization"); // codespell:ignore
    early.erase("initialization");
    EXPECT_EQ(early.get<ModelDescription>(), model);
}

TEST(Model, TrainingJsonRoundTripsAndKeepsDefaults) {
    TrainingSpec spec;
    spec.loss = {LossSpec::Kind::huber, 0.1};
    spec.optimizer.kind = OptimizerSpec::Kind::sgd;
    spec.optimizer.momentum = 0.9;
    spec.schedule = {.kind = ScheduleSpec::Kind::cosine, .warmup_steps = 3, .total_steps = 1234567890123};
    spec.seed = 0xFFFFFFFFFFFFFFFFu;
    spec.bf16_storage = true;
    spec.dropout_rates = {0, 0.25};
    spec.threads = 3;
    EXPECT_EQ(nlohmann::json::parse(nlohmann::json(spec).dump()).get<TrainingSpec>(), spec);
    EXPECT_EQ(nlohmann::json::object().get<TrainingSpec>(), TrainingSpec{});
}

struct BadModel {
    const char* text;
    const char* where;
};

TEST(Model, ErrorsInJsonNameTheKey) {
    const BadModel bad[] = {
        {R"([])", ""},
        {R"({"layers":[]})", "inputs"},
        {R"({"inputs":0,"layers":[]})", "inputs"},
        {R"({"inputs":-1,"layers":[]})", "inputs"},
        {R"({"inputs":1.5,"layers":[]})", "inputs"},
        {R"({"inputs":1,"layers":{}})", "layers"},
        {R"({"inputs":1,"layers":[],"depth":2})", "depth"},
        {R"({"inputs":1,"layers":[{"kind":"conv","inputs":1}]})", "layers[0].kind"},
        {R"({"inputs":1,"layers":[{"kind":"linear","name":"a","inputs":1}]})", "layers[0].outputs"},
        {R"({"inputs":2,"layers":[{"kind":"linear","name":"a","inputs":1,"outputs":1}]})", "layer 0 (a)"},
        {R"({"inputs":1,"layers":[{"kind":"linear","inputs":1,"outputs":1}]})", "layer 0"},
        {R"({"inputs":1,"layers":[{"kind":"dropout","inputs":1,"dropout_rate":1}]})", "layer 0"},
        {R"({"inputs":1,"layers":[{"kind":"residual_end","inputs":1}]})", "layer 0"},
        {R"({"inputs":1,"layers":[{"kind":"residual_begin","inputs":1}]})", "layers"},
        {R"({"version":2,"inputs":1,"layers":[]})", "version"},
    };
    for (const BadModel& b : bad) {
        try {
            nlohmann::json::parse(b.text).get<ModelDescription>();
            ADD_FAILURE() << b.text;
        } catch (const Error& error) {
            EXPECT_EQ(error.where(), b.where) << b.text;
            EXPECT_EQ(error.status(), ExitStatus::usage);
        }
    }
}

TEST(Model, RefusesAResidualAroundAChangeOfWidth) {
    ModelDescription model{
        .inputs = 3,
        .layers = {{.kind = Layer::Kind::residual_begin, .name = {}, .inputs = 3, .outputs = 3},
                   {.kind = Layer::Kind::linear, .name = "a", .inputs = 3, .outputs = 4},
                   {.kind = Layer::Kind::residual_end, .name = {}, .inputs = 4, .outputs = 4}}};
    EXPECT_THROW(model.validate(), Error);
    model.layers[1].outputs = 3;
    model.layers[2].inputs = model.layers[2].outputs = 3;
    EXPECT_NO_THROW(model.validate());
}

TEST(Model, ErrorsInTrainingNameTheField) {
    const std::pair<const char*, const char*> bad[] = {
        {R"({"optimizer":{"learning_rate":-1}})", "optimizer.learning_rate"},
        {R"({"optimizer":{"beta2":1}})", "optimizer.beta2"},
        {R"({"loss":{"kind":"l1"}})", "loss.kind"},
        {R"({"loss":{"delta":1}})", "loss.delta"},
        {R"({"schedule":{"kind":"cosine"}})", "schedule.total_steps"},
        {R"({"schedule":{"plateau_patience":-1}})", "schedule.plateau_patience"},
        {R"({"clip_norm":-0.1})", "clip_norm"},
        {R"({"accumulation_steps":0})", "accumulation_steps"},
        {R"({"ema_decay":1})", "ema_decay"},
        {R"({"threads":0})", "threads"},
        {R"({"bf16_storage":1})", "bf16_storage"},
    };
    for (const auto& [text, where] : bad) {
        try {
            nlohmann::json::parse(text).get<TrainingSpec>();
            ADD_FAILURE() << text;
        } catch (const Error& error) {
            EXPECT_EQ(error.where(), where) << text;
        }
    }
}

} // namespace
