/// Any file given as a model is either read or identified, with advice on what to give instead.

#include "../run_fixture.h"

#include <rekindle/trainer/predict.h>

#include <regex>

namespace rekindle::trainer {
namespace {

using namespace fixtures;

class ModelSourceTest : public RunTest {
  protected:
    static Prediction predict_from(const fs::path& model, const fs::path& scaler = {}) {
        NullProgressSink progress;
        return predict({model, {}, {}, scaler}, progress, CancellationToken());
    }
    /// With bars, for models that do not record any.
    Prediction predict_bars_with(const fs::path& model, const fs::path& scaler = {}) const {
        NullProgressSink progress;
        return predict({model, config(), {"data", "clock"}, scaler}, progress, CancellationToken());
    }
    static fs::path golden(const std::string& name) {
        return fs::path(REKINDLE_TEST_DATA) / "archive" / name;
    }
};

/// Every file that a run writes, for one network and for a population, including checkpoints and logs.
TEST_F(ModelSourceTest, EveryFileOfARunIsReadOrIdentified) {
    TrainConfig settings = config();
    for (const std::int64_t population : {1, 3}) {
        settings.population = population;
        settings.bad_rows = BadRows::skip;
        settings.chunk_size = 50;
        auto lines = daily_lines(120);
        lines[10] = "2020-01-17,1,0.5,2,1,5,15"; // high below low
        write_lines(bars(), lines);
        const fs::path folder = run(settings).run_folder;
        // The folder of a population predicts with the mean of its networks, each file with one of them.
        const Prediction expected =
            predict_from(population == 1 ? folder : folder / "best_model.safetensors");
        EXPECT_EQ(predict_from(folder).networks, static_cast<std::size_t>(population));
        const std::set<std::string> best{"best_model.pt", "best_model.safetensors",
                                         "best_model_metadata.json", "model.pt"};
        const std::set<std::string> last{"model_final.pt", "model_final.safetensors",
                                         "model_final_metadata.json", "checkpoint.pt"};
        std::set<std::string> seen;
        std::optional<double> of_last;
        for (const auto& entry : fs::recursive_directory_iterator(folder)) {
            const std::string name = entry.path().filename().string();
            if (best.contains(name)) {
                EXPECT_EQ(predict_from(entry.path()).value, expected.value) << name;
            } else if (last.contains(name)) {
                const double value = predict_from(entry.path()).value;
                EXPECT_EQ(value, of_last.value_or(value)) << name;
                of_last = value;
            } else {
                const std::string error = error_of([&] { predict_from(entry.path()); });
                EXPECT_TRUE(contains(error, name)) << error;
                EXPECT_TRUE(contains(error, "run") || contains(error, "RUN")) << error;
                EXPECT_FALSE(contains(error, "PyTorch archive")) << name << ": " << error;
                EXPECT_FALSE(contains(error, "unknown kind")) << name << ": " << error;
            }
            seen.insert(name);
        }
        for (const auto& names : {best, last})
            for (const std::string& name : names)
                EXPECT_TRUE(seen.contains(name)) << name;
        EXPECT_TRUE(seen.contains("rejected.csv"));
        EXPECT_TRUE(seen.contains("bars.columns"));
        EXPECT_EQ(seen.contains("population.safetensors"), population > 1);
    }
}

/// A copy of a weights file without its run.
TEST_F(ModelSourceTest, FilesWithTheirScalerCanBeMoved) {
    const fs::path folder = run(config()).run_folder;
    const double expected = predict_from(folder).value;
    for (const char* name : {"best_model.pt", "best_model.safetensors"}) {
        fs::copy_file(folder / name, folder_ / name);
        EXPECT_EQ(predict_from(folder_ / name).value, expected) << name;
    }
    for (const char* name : {"model.pt", "checkpoint.pt", "best_model_metadata.json"}) {
        const fs::path alone = folder_ / (std::string("alone_") + name);
        fs::create_directory(alone);
        fs::copy_file(folder / name, alone / name);
        const std::string error = error_of([&] { predict_bars_with(alone / name); });
        EXPECT_TRUE(contains(error, name)) << error;
    }
}

TEST_F(ModelSourceTest, ScalerForAModelThatHasOneIsRefused) {
    const fs::path folder = run(config()).run_folder;
    for (const fs::path& model : {folder, folder / "best_model.pt", folder / "best_model.safetensors"}) {
        const std::string error = error_of([&] { predict_from(model, folder / "best_model_metadata.json"); });
        EXPECT_TRUE(contains(error, "--scaler")) << error;
    }
}

TEST_F(ModelSourceTest, WeightsOfAnotherRunAreRefused) {
    const fs::path folder = run(config()).run_folder;
    TrainConfig wider = config();
    wider.hidden_layers = {24, 8};
    const fs::path other = run(wider).run_folder;
    for (const char* name : {"best_model.safetensors", "model.pt"}) {
        fs::copy_file(other / name, folder / name, fs::copy_options::overwrite_existing);
        EXPECT_TRUE(contains(
            error_of([&] { predict_from(std::string(name) == "model.pt" ? folder / name : folder); }),
            "input_layer.weight"));
    }
}

TEST_F(ModelSourceTest, OtherFoldersPointToTheRun) {
    const fs::path folder = run(config()).run_folder;
    EXPECT_TRUE(
        contains(error_of([&] { predict_from(folder / "checkpoints"); }), folder.filename().string()));
    EXPECT_TRUE(contains(error_of([&] { predict_from(folder / "logs"); }), folder.filename().string()));
    EXPECT_TRUE(contains(error_of([&] { predict_from(output()); }), folder.filename().string()));
    EXPECT_TRUE(contains(error_of([&] { predict_from(folder_ / "none"); }), "there is no such model"));
}

/// Files that PyTorch 2 wrote (tests/trainer/formats/make_golden.py): each gives a prediction once there is a
/// scaler, or is identified.
TEST_F(ModelSourceTest, PyTorchFilesAreReadOrIdentified) {
    const std::vector<std::string> names{"session_weekday", "session_month",       "days_to_expiry",
                                         "expiry_week",     "naked_poc_above_pct", "naked_poc_below_pct"};
    const Json scaler{{"kind", "standard"},
                      {"clip", 10},
                      {"rows", 100},
                      {"features", names},
                      {"center", std::vector<double>(6, 1.0)},
                      {"scale", std::vector<double>(6, 2.0)}};
    write_file_atomically(folder_ / "scaler.json", scaler.dump());
    std::optional<double> value;
    for (const char* name : {"lightning.pt", "under_another_key.pt", "fsdp.pt"}) {
        const Prediction prediction = predict_bars_with(golden(name), folder_ / "scaler.json");
        EXPECT_EQ(prediction.value, value.value_or(prediction.value)) << name;
        value = prediction.value;
        const auto said = describe(prediction);
        EXPECT_TRUE(std::ranges::any_of(said, [](const auto& line) { return contains(line, "logit"); }))
            << name;
        EXPECT_TRUE(contains(error_of([&] { predict_bars_with(golden(name)); }), "--scaler")) << name;
    }
    for (const char* name : {"state_dict.pt", "checkpoint.pt", "original_best_model.pt", "data_parallel.pt"})
        EXPECT_LT(std::abs(predict_bars_with(golden(name), folder_ / "scaler.json").value), 1) << name;
    const std::vector<std::pair<std::string, std::string>> refused{
        {"torchscript.pt", "torch.jit.load"},
        {"exported.pt2", "torch.export.load"},
        {"two_dicts.pt", "generator, discriminator"},
        {"whole_module.pt", "torch.save(model.state_dict()"},
        {"one_tensor.pt", "torch.save(model.state_dict()"},
        {"optimizer.pt", "torch.save(model.state_dict()"},
        {"other_network.pt", "input_layer.weight"},
        {"diverged.pt", "not finite"},
        {"legacy.pt", "before version 1.6"},
    };
    for (const auto& [name, said] : refused) {
        const std::string error = error_of([&] { predict_bars_with(golden(name), folder_ / "scaler.json"); });
        EXPECT_TRUE(contains(error, name)) << error;
        EXPECT_TRUE(contains(error, said)) << name << ": " << error;
    }
}

TEST_F(ModelSourceTest, OtherFilesAreIdentified) {
    const std::vector<std::pair<std::string, std::string>> contents{
        {"", "empty"},
        {"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", "Git LFS"},
        {std::string("\x89HDF\r\n\x1a\n", 8), "HDF5"},
        {std::string("\x1f\x8b\x08\0", 4), "gunzip"},
        {"<!DOCTYPE html><html></html>", "HTML"},
        {"\x89PNG\r\n", "PNG"},
        {"Date,Open\n2020-01-01,1\n", "text"},
        {"{\"layers\": []}", "without weights"},
        {"{\"center\": [], \"scale\": []}", "--scaler"},
        {"{\"epochs\": 3, \"learning_rate\": 0.1}", "configuration"},
        {"{\"architecture\": {}}", "original system"},
        {"{\"a\": 1}", "JSON"},
        {"{", "JSON"},
        {std::string("\0\0\x01\x02\x03", 5), "unknown kind"},
    };
    for (const auto& [content, said] : contents) {
        const fs::path file = folder_ / "model.bin";
        write_file_atomically(file, content);
        const std::string error = error_of([&] { predict_from(file); });
        EXPECT_TRUE(contains(error, "model.bin")) << error;
        EXPECT_TRUE(contains(error, said)) << said << ": " << error;
    }
}

// ------------------------------------------------------------------------------------------ plurals

/// All output of a run in which counts are 1, of a prediction from it, and its report.
TEST_F(ModelSourceTest, NumbersAgreeWithTheirNounsEverywhere) {
    Messages messages;
    std::string text;
    for (const std::int64_t population : {1, 2}) {
        TrainConfig small = config();
        small.epochs = 1;
        small.population = population;
        small.hidden_layers = {1};
        write_lines(bars(), daily_lines(population == 1 ? 11 : 3600));
        const TrainOutcome outcome = train(small, {}, messages, CancellationToken());
        for (const auto& lines : {outcome.score_lines, outcome.mean_lines})
            for (const std::string& line : lines)
                text += line + "\n";
        text += outcome.verdict + "\n" + read_file(outcome.report);
        NullProgressSink progress;
        for (const std::string& line :
             describe(predict({outcome.run_folder, {}, {}, {}}, progress, CancellationToken())))
            text += line + "\n";
    }
    text += messages.text;
    const std::regex wrong_plural(
        R"((^|[^0-9.,\w])1 ([a-z-]+ )?(rows|epochs|sessions|bars|networks|features|checkpoints|seeds|batches|rolls|)"
        R"(values|inputs|outputs|files|settings|groups|steps|days|contracts|tensors|parameters|columns|prices)\b)");
    std::smatch found;
    EXPECT_FALSE(std::regex_search(text, found, wrong_plural)) << found.str();
    for (const char* wrong : {"1th ", "2th ", "3th "}) // barred-words: ok
        for (std::size_t at = text.find(wrong); at != std::string::npos; at = text.find(wrong, at + 1))
            EXPECT_TRUE(at > 0 && text[at - 1] == '1') << text.substr(at > 20 ? at - 20 : 0, 40);
}

} // namespace
} // namespace rekindle::trainer
