/// Networks of the original system become run folders, and training continues from the weights of a run.

#include "../run_fixture.h"

#include <rekindle/trainer/import_run.h>
#include <rekindle/trainer/model_file.h>
#include <rekindle/trainer/predict.h>

#include <gmock/gmock.h>

namespace rekindle::trainer {
namespace {

using namespace fixtures;
using ::testing::HasSubstr;

class ImportRunTest : public RunTest {
  protected:
    TrainConfig original() const {
        TrainConfig settings = config();
        settings.compat = Compat::original;
        settings.hidden_layers = {32, 32};
        return settings;
    }
    static ImportOutcome import_file(const fs::path& model, const TrainConfig& settings) {
        NullProgressSink progress;
        return import_run({model, settings, {"data"}}, progress, CancellationToken());
    }
    Prediction predict_from(const fs::path& model) const {
        NullProgressSink progress;
        return predict({model, config(), {"data"}, {}}, progress, CancellationToken());
    }
    /// The weights of a run without its metadata, as the original's model.pt.
    fs::path bare_weights(const fs::path& run_folder) const {
        const fs::path alone = folder_ / "bare.pt";
        fs::copy_file(run_folder / "model.pt", alone, fs::copy_options::overwrite_existing);
        return alone;
    }
    static std::string joined(const std::vector<std::string>& lines) {
        std::string text;
        for (const std::string& line : lines)
            text += line + "\n";
        return text;
    }
};

/// The run knows the scaler that its weights were trained with; the import must find the same one.
TEST_F(ImportRunTest, BareWeightsPredictWhatTheirRunPredicts) {
    for (const auto kind : {market::Scaler::Kind::robust, market::Scaler::Kind::standard}) {
        TrainConfig settings = original();
        settings.scaler = kind;
        const fs::path trained = run(settings).run_folder;
        const ImportOutcome imported = import_file(bare_weights(trained), settings);
        EXPECT_EQ(predict_from(imported.run_folder).value, predict_from(trained).value);
        const Json own = Json::parse(read_file(trained / "best_model_metadata.json"));
        const Json found = Json::parse(read_file(imported.run_folder / "best_model_metadata.json"));
        EXPECT_EQ(found.at("rekindle").at("scaler"), own.at("rekindle").at("scaler"));
        EXPECT_THAT(joined(imported.facts), HasSubstr("a logit z"));
        EXPECT_THAT(joined(imported.facts), HasSubstr("a return of 24 %"));
        EXPECT_THAT(imported.verdict, HasSubstr("does not say which rows the network was trained on"));
    }
}

/// Features other than the original's 54: only their names identify them.
TEST_F(ImportRunTest, NamesInTheFileAreUsed) {
    TrainConfig settings = original();
    settings.features = {"gap", "calendar"};
    const fs::path trained = run(settings).run_folder;
    ModelFile file = import_model(trained / "best_model.pt").file;
    file.details = Json::object();
    write_model_file(folder_ / "named.pt", file);
    const ImportOutcome imported = import_file(folder_ / "named.pt", original());
    EXPECT_EQ(predict_from(imported.run_folder).value, predict_from(trained).value);
    EXPECT_THAT(joined(imported.facts), HasSubstr("that the file names"));

    const fs::path numbered = fs::path(REKINDLE_TEST_DATA) / "archive" / "original_best_model.pt";
    EXPECT_THAT(error_of([&] { import_file(numbered, original()); }), HasSubstr("does not name them"));
}

TEST_F(ImportRunTest, FilesThatNeedNoImportAreRefusedBeforeAnythingIsWritten) {
    const fs::path trained = run(original()).run_folder;
    TrainConfig settings = original();
    settings.output = (folder_ / "imports").string();
    const auto refusal = [&](const fs::path& file) { return error_of([&] { import_file(file, settings); }); };
    EXPECT_THAT(refusal(trained / "best_model.pt"), HasSubstr("predict --model"));
    EXPECT_THAT(refusal(trained), HasSubstr("needs no import"));
    EXPECT_THAT(refusal(bars()), HasSubstr("a table (CSV)"));
    EXPECT_THAT(refusal(folder_ / "none.pt"), HasSubstr("there is no such file"));
    const fs::path unnamed = fs::path(REKINDLE_TEST_DATA) / "archive" / "state_dict.pt";
    EXPECT_THAT(refusal(unnamed), HasSubstr("54 inputs, or 14, 24, 34 or 44"));
    EXPECT_FALSE(fs::exists(settings.output));
}

TEST_F(ImportRunTest, TrainingContinuesFromImportedWeights) {
    const fs::path trained = run(original()).run_folder;
    const ImportOutcome imported = import_file(bare_weights(trained), original());
    TrainConfig settings = config();
    settings.model = imported.run_folder.string();
    settings.learning_rate = 1e-30; // smaller than a rounding step of every weight
    settings.weight_decay = 0;
    settings.population = 2;
    const fs::path continued = run(settings).run_folder;
    expect_same_tensors(tensors_of(continued / "best_model.safetensors"),
                        tensors_of(trained / "best_model.safetensors"), "weights");
    const Json stored = Json::parse(read_file(continued / "config.json"));
    EXPECT_EQ(stored.at("compat"), "original");
}

/// New bars would give another scaler and another unit of the target; the network keeps its own.
TEST_F(ImportRunTest, ContinuedTrainingKeepsScalerAndUnitOfTheTarget) {
    TrainConfig settings = config();
    settings.features = {"session", "calendar"};
    const fs::path trained = run(settings).run_folder;
    TrainConfig next = config();
    write_lines(folder_ / "more.csv", daily_lines(200, 9));
    next.data = {(folder_ / "more.csv").string()};
    next.model = (trained / "best_model.safetensors").string();
    Messages messages;
    const TrainOutcome outcome = train(next, {"data"}, messages, CancellationToken());
    const auto details = [](const fs::path& folder) {
        return Json::parse(read_file(folder / "best_model_metadata.json")).at("rekindle");
    };
    for (const char* key : {"scaler", "model"})
        EXPECT_EQ(details(outcome.run_folder).at(key), details(trained).at(key)) << key;
    EXPECT_EQ(details(outcome.run_folder).at("target").at("scale"),
              details(trained).at("target").at("scale"));
    EXPECT_THAT(messages.text, HasSubstr("Another instrument?"));
}

TEST_F(ImportRunTest, ContinuedTrainingWarnsOfRowsThatTheModelKnows) {
    const fs::path trained = run(config()).run_folder;
    TrainConfig next = config();
    next.model = trained.string();
    Messages messages;
    train(next, {}, messages, CancellationToken());
    EXPECT_THAT(messages.text, HasSubstr("may include rows that it was trained on"));

    auto longer = daily_lines(800); // the first 120 sessions are those of the model
    write_lines(bars(), longer);
    messages.text.clear();
    train(next, {}, messages, CancellationToken());
    EXPECT_THAT(messages.text, Not(HasSubstr("may include rows that it was trained on")));
}

TEST_F(ImportRunTest, SettingsThatContradictTheModelAreRefused) {
    const fs::path trained = run(config()).run_folder;
    TrainConfig next = config();
    next.model = trained.string();
    next.features = {"session", "gap"};
    const auto refusal = [&](const std::set<std::string>& given) {
        return error_of([&] { run(next, given); });
    };
    EXPECT_THAT(refusal({"features"}), HasSubstr("the model was trained with features"));
    next.target = market::TargetKind::direction;
    EXPECT_THAT(refusal({"target"}), HasSubstr("the model was trained with target"));
    next.loss = LossChoice::gaussian_nll;
    EXPECT_THAT(refusal({"loss"}), HasSubstr("1 output"));
    next.model = (trained / "checkpoints").string();
    EXPECT_THAT(refusal({}), HasSubstr("run folder"));
}

TEST_F(ImportRunTest, InterruptedContinuationEndsAsIfItHadNotBeenInterrupted) {
    const fs::path trained = run(config()).run_folder;
    TrainConfig next = config();
    next.model = trained.string();
    next.epochs = 4;
    next.checkpoint_interval = 3;
    const fs::path whole = run(next).run_folder;
    const fs::path half = interrupted(next, 1).run_folder;
    resume(half);
    expect_same_weights(half, whole, "resumed");
}

} // namespace
} // namespace rekindle::trainer
