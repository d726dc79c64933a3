#include "archive_fixture.h"

#include <rekindle/foundation/error.h>
#include <rekindle/trainer/model_file.h>
#include <rekindle/trainer/safetensors.h>
#include <rekindle/trainer/torch_archive.h>

#include <gmock/gmock.h>

#include <cmath>
#include <cstdlib>

namespace rekindle::trainer {
namespace {

using fixtures::golden;
using fixtures::golden_value;
using test::TemporaryFolder;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::size_t model_inputs = 6;

/// Parameters of a network in state-dict order, with the golden files' values.
std::vector<mlp::NamedTensor> parameters_of(const mlp::ModelDescription& model) {
    std::vector<mlp::NamedTensor> tensors;
    const auto add = [&](const std::string& name, std::vector<std::size_t> shape) {
        std::size_t count = 1;
        for (const std::size_t extent : shape)
            count *= extent;
        mlp::NamedTensor tensor{name, std::move(shape), std::vector<float>(count)};
        for (std::size_t i = 0; i < count; ++i)
            tensor.values[i] = golden_value(tensors.size(), i);
        tensors.push_back(std::move(tensor));
    };
    for (const mlp::Layer& layer : model.layers)
        if (layer.kind == mlp::Layer::Kind::linear) {
            add(layer.name + ".weight", {layer.outputs, layer.inputs});
            add(layer.name + ".bias", {layer.outputs});
        } else if (layer.kind == mlp::Layer::Kind::layer_norm) {
            add(layer.name + ".weight", {layer.inputs});
            add(layer.name + ".bias", {layer.inputs});
        }
    return tensors;
}

ModelFile example_model(mlp::OptimizerSpec::Kind kind = mlp::OptimizerSpec::Kind::adamw) {
    ModelFile file;
    file.version = "v20251031_120000";
    file.timestamp = "v20251031_120512";
    const std::vector<std::size_t> hidden{32, 16};
    file.model = mlp::ModelDescription::default_network(model_inputs, hidden, 0.25);
    file.hidden_layers = {32, 16};
    file.dropout_rate = 0.25;
    for (std::size_t i = 0; i < model_inputs; ++i)
        file.feature_columns.push_back("feature_" + std::to_string(i));
    file.parameters = parameters_of(file.model);
    OptimizerFile optimizer;
    optimizer.spec.kind = kind;
    optimizer.spec.momentum = kind == mlp::OptimizerSpec::Kind::sgd ? 0.9 : 0;
    optimizer.learning_rate = 2.5e-4;
    optimizer.steps = 17;
    optimizer.first_moments = file.parameters;
    if (kind == mlp::OptimizerSpec::Kind::adamw)
        optimizer.second_moments = file.parameters;
    file.optimizer = optimizer;
    file.epoch = 7;
    file.loss = 0.6931;
    file.accuracy = 0.5;
    file.train_loss = 0.69;
    file.history = {
        {.epoch = 1, .epochs = 2, .train_loss = 0.7, .validation_loss = 0.71, .steps = 9},
        {.epoch = 2, .epochs = 2, .train_loss = 0.6, .validation_loss = NAN, .steps = 17, .best = true}};
    file.training_seconds = 1.25;
    file.details["scaler"] = {{"kind", "robust"}, {"center", {0.5, 1e-300, -3.0}}};
    file.details["seed"] = std::uint64_t{18446744073709551615U};
    file.details["nothing"] = nullptr;
    return file;
}

void expect_same_model(const ModelFile& read, const ModelFile& written) {
    EXPECT_EQ(read.version, written.version);
    EXPECT_EQ(read.timestamp, written.timestamp);
    EXPECT_EQ(read.model, written.model);
    EXPECT_EQ(read.hidden_layers, written.hidden_layers);
    EXPECT_EQ(read.dropout_rate, written.dropout_rate);
    EXPECT_EQ(read.feature_columns, written.feature_columns);
    EXPECT_EQ(read.epoch, written.epoch);
    EXPECT_EQ(read.loss, written.loss);
    EXPECT_EQ(read.accuracy, written.accuracy);
    EXPECT_EQ(read.train_loss, written.train_loss);
    EXPECT_TRUE(std::isnan(read.validation_loss)) << "unknown stays unknown";
    EXPECT_EQ(read.training_seconds, written.training_seconds);
    ASSERT_EQ(read.history.size(), 2U);
    EXPECT_EQ(read.history[0].train_loss, 0.7);
    EXPECT_EQ(read.history[1].steps, 17U);
    EXPECT_TRUE(std::isnan(read.history[1].validation_loss));
    EXPECT_TRUE(read.history[1].best);
    EXPECT_EQ(read.details.at("scaler"), written.details.at("scaler"));
}

TEST(ModelFile, MetadataHasTheKeysOfTheOriginalAndReadsBack) {
    const ModelFile written = example_model();
    const auto json = model_metadata(written);
    std::vector<std::string> keys;
    for (const auto& [key, value] : json.items())
        keys.push_back(key);
    EXPECT_THAT(keys, ElementsAre("version", "timestamp", "architecture", "feature_columns", "epoch", "loss",
                                  "metadata", "rekindle"));
    EXPECT_EQ(json["architecture"]["input_dim"], 6);
    EXPECT_EQ(json["architecture"]["hidden_layers"], (std::vector<int>{32, 16}));
    EXPECT_TRUE(json["metadata"]["val_loss"].is_null());
    expect_same_model(model_from_metadata(nlohmann::ordered_json::parse(json.dump())), written);
}

TEST(ModelFile, RefusesMetadataOfAnotherShape) {
    auto json = model_metadata(example_model());
    json["version"] = 7;
    try {
        model_from_metadata(json);
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.status(), ExitStatus::usage);
        EXPECT_THAT(error.render(), HasSubstr("'version'"));
    }
    json = model_metadata(example_model());
    json["metadata"]["history"]["steps"] = {1};
    EXPECT_THROW(model_from_metadata(json), Error);
    EXPECT_THROW(model_from_metadata(nlohmann::ordered_json::array()), Error);
}

TEST(ModelFile, WritesTwoFilesThatReadBack) {
    const TemporaryFolder folder;
    const ModelFile written = example_model();
    write_model_file(folder / "best_model.pt", written);
    const ImportedModel imported = import_model(folder / "best_model.pt");
    EXPECT_TRUE(imported.written_by_rekindle);
    EXPECT_FALSE(imported.needs_scaler);
    EXPECT_FALSE(imported.needs_feature_names);
    expect_same_model(imported.file, written);
    ASSERT_EQ(imported.file.parameters.size(), written.parameters.size());
    for (std::size_t i = 0; i < written.parameters.size(); ++i) {
        EXPECT_EQ(imported.file.parameters[i].name, written.parameters[i].name);
        EXPECT_EQ(imported.file.parameters[i].values, written.parameters[i].values);
    }
    const auto metadata = nlohmann::ordered_json::parse(read_file(folder / "best_model_metadata.json"));
    expect_same_model(model_from_metadata(metadata), written);
}

TEST(ModelFile, OptimizerHasTorchsLayout) {
    const TemporaryFolder folder;
    write_model_file(folder / "model.pt", example_model());
    const TorchArchive archive = TorchArchive::read(folder / "model.pt");
    const PickleValue optimizer = *archive.root().find("optimizer_state_dict");
    EXPECT_EQ(optimizer.find("state")->entries().size(), 10U);
    const auto first = optimizer.at(optimizer.find("state")->entries()[0].second);
    EXPECT_THAT(archive.read_float32(*archive.tensor_reference(*first.find("step"))), ElementsAre(17));
    EXPECT_EQ(archive.tensor_reference(*first.find("exp_avg_sq"))->shape.size(), 2U);
    const auto group = *optimizer.find("param_groups")->element(0);
    EXPECT_EQ(group.find("lr")->as_number(), 2.5e-4);
    EXPECT_EQ(group.find("params")->elements().size(), 10U);
}

TEST(ModelFile, ImportsTheOriginalsFiles) {
    for (const char* file : {"checkpoint.pt", "original_best_model.pt"}) {
        const ImportedModel imported = import_model(golden(file));
        EXPECT_FALSE(imported.written_by_rekindle);
        EXPECT_TRUE(imported.needs_scaler);
        EXPECT_FALSE(imported.needs_feature_names);
        EXPECT_THAT(imported.notes, Contains(HasSubstr("a scaler must be given")));
        const std::vector<std::size_t> hidden{32, 32};
        EXPECT_EQ(imported.file.model, mlp::ModelDescription::default_network(model_inputs, hidden, 0.4));
        EXPECT_THAT(imported.file.hidden_layers, ElementsAre(32, 32));
        EXPECT_EQ(imported.file.epoch, 7);
        EXPECT_EQ(imported.file.loss, 0.6931);
        EXPECT_EQ(imported.file.parameters[0].values[5], golden_value(0, 5));
    }
    const ImportedModel wrapped = import_model(golden("data_parallel.pt"));
    EXPECT_THAT(wrapped.file.hidden_layers, ElementsAre(32, 32, 32));
    EXPECT_TRUE(wrapped.needs_feature_names);
    const ImportedModel bare = import_model(golden("bfloat16.pt"));
    EXPECT_THAT(bare.file.hidden_layers, ElementsAre(32));
}

TEST(ModelFile, RefusesTensorsThatDoNotMakeTheNetwork) {
    const TemporaryFolder folder;
    const auto refusal = [&](const std::vector<mlp::NamedTensor>& tensors) -> std::string {
        write_state_dict(folder / "model.pt", tensors);
        try {
            import_model(folder / "model.pt");
        } catch (const Error& error) {
            EXPECT_EQ(error.status(), ExitStatus::usage);
            return error.render();
        }
        return "accepted";
    };
    const auto sound = example_model().parameters;
    EXPECT_EQ(refusal(sound), "accepted");
    auto tensors = sound;
    tensors.pop_back();
    EXPECT_THAT(refusal(tensors), HasSubstr("output_layer.bias is missing"));
    tensors = sound;
    tensors.push_back({"attention.weight", {1}, {0}});
    EXPECT_THAT(refusal(tensors), HasSubstr("no place for the tensor attention.weight"));
    tensors = sound;
    tensors[1] = {"input_layer.bias", {31}, std::vector<float>(31)};
    EXPECT_THAT(refusal(tensors), HasSubstr("shape [31], expected shape [32]"));
    tensors[0] = {"input_layer.weight", {192}, std::vector<float>(192)};
    EXPECT_THAT(refusal(tensors), HasSubstr("outputs and inputs"));
    EXPECT_THAT(refusal({{"conv.weight", {1}, {0}}}), HasSubstr("not the tensors of the original network"));
}

/// For tests/trainer/formats/check_against_pytorch.sh.
TEST(ModelFile, WritesFilesForPyTorch) {
    const TemporaryFolder scratch;
    const char* kept = std::getenv("REKINDLE_KEEP_FILES");
    const std::filesystem::path folder = kept ? std::filesystem::path(kept) : scratch / "files";
    create_directories(folder);
    write_model_file(folder / "adamw.pt", example_model());
    write_model_file(folder / "sgd.pt", example_model(mlp::OptimizerSpec::Kind::sgd));
    write_state_dict(folder / "model.pt", example_model().parameters);
    write_safetensors(folder / "model.safetensors", example_model().parameters, {{"format", "pt"}});
    EXPECT_TRUE(std::filesystem::exists(folder / "sgd_metadata.json"));
}

} // namespace
} // namespace rekindle::trainer
