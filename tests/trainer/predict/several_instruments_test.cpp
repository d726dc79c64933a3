/// A model of several instruments from training to predictions.

#include "../run_fixture.h"

#include <rekindle/mlp/engine.h>
#include <rekindle/trainer/dataset.h>
#include <rekindle/trainer/predict.h>

#include <cmath>
#include <map>
#include <set>

namespace rekindle::trainer {
namespace {

using namespace fixtures;

class PredictSeveralTest : public RunTest {
  protected:
    PredictSeveralTest() {
        write_lines(folder_ / "AAA.csv", daily_lines(160, 1));
        write_lines(folder_ / "BBB.csv", daily_lines(130, 2));
        write_lines(folder_ / "CCC.csv", daily_lines(150, 3));
    }
    TrainConfig of(const std::vector<std::string>& files) const {
        TrainConfig config = RunTest::config();
        config.data.clear();
        for (const std::string& file : files)
            config.data.push_back((folder_ / file).string());
        config.several_instruments = SeveralInstruments::by_name;
        return config;
    }
    PredictOptions options(const fs::path& run, const std::vector<std::string>& files) const {
        PredictOptions options;
        options.model = run;
        options.input = of(files);
        options.given = {"data"};
        return options;
    }
    static std::vector<Prediction> predictions(const PredictOptions& options) {
        NullProgressSink progress;
        return predict_each(options, progress, CancellationToken());
    }
    static Json metadata(const fs::path& run) {
        return Json::parse(read_file(run / "best_model_metadata.json")).at("rekindle");
    }
};

TEST_F(PredictSeveralTest, AllRowsOfEachInstrumentAreThoseOfTraining) {
    const auto trained = run(of({"AAA.csv", "BBB.csv"}));
    NullProgressSink progress;
    const AllPredictions all =
        predict_all(options(trained.run_folder, {"AAA.csv", "BBB.csv"}), progress, CancellationToken());
    const ValidationRows& rows = trained.validation;
    std::map<std::string, std::set<double>> sigmas;
    std::size_t compared = 0;
    for (std::size_t row = 0; row < all.validation_rows; ++row) {
        if (std::isnan(all.table.outcome[row]))
            continue; // the last session of BBB, which ends earlier: trained runs have no row without an
                      // outcome
        ASSERT_LT(compared, rows.known_at.size());
        EXPECT_EQ(all.table.known_at[row], rows.known_at[compared]);
        EXPECT_EQ(all.table.instrument.at(row), rows.instruments[compared]);
        EXPECT_NEAR(all.table.prediction[row], rows.predicted[compared], 1e-9);
        EXPECT_EQ(all.table.outcome[row], rows.outcome[compared]);
        sigmas[rows.instruments[compared++]].insert(all.table.sigma[row]);
    }
    EXPECT_EQ(compared, rows.known_at.size());
    ASSERT_EQ(sigmas.size(), 2u);
    EXPECT_EQ(sigmas.at("AAA").size(), 1u);
    EXPECT_NE(sigmas.at("AAA"), sigmas.at("BBB")) << "each instrument has its own error";
    const Json details = metadata(trained.run_folder);
    EXPECT_EQ(*sigmas.at("BBB").begin(), details.at("instruments")[1].at("training_error").get<double>());
    EXPECT_GT(all.table.rows(), all.validation_rows);
}

TEST_F(PredictSeveralTest, RefusesOtherHoursThanThoseOfTraining) {
    const fs::path folder = run(of({"AAA.csv", "BBB.csv"})).run_folder;
    Json metadata = Json::parse(read_file(folder / "best_model_metadata.json"));
    metadata["rekindle"]["instruments"][1]["hours"] = "trading days that begin at 17:00 (Europe/Berlin)";
    write_file_atomically(folder / "best_model_metadata.json", metadata.dump());
    const std::string error = error_of([&] { predictions(options(folder, {"AAA.csv", "BBB.csv"})); });
    EXPECT_TRUE(contains(error, "BBB has ")) << error;
    EXPECT_TRUE(contains(error, "Europe/Berlin")) << error;
}

/// Recomputes each prediction from the files of the run.
TEST_F(PredictSeveralTest, EachPredictionIsTheNetworksOutputForTheLastSession) {
    for (const auto input : {InstrumentInput::none, InstrumentInput::one_hot})
        for (const auto scale_by : {ScaleBy::instrument, ScaleBy::all}) {
            TrainConfig config = of({"AAA.csv", "BBB.csv"});
            config.instrument_input = input;
            config.scale_by = scale_by;
            const fs::path run_folder = run(config).run_folder;
            const auto predicted = predictions(options(run_folder, {"BBB.csv", "AAA.csv"}));
            const Json details = metadata(run_folder);
            ASSERT_EQ(predicted.size(), 2u);
            ASSERT_EQ(details.at("instruments").size(), 2u);
            EXPECT_EQ(details.contains("scaler"), scale_by == ScaleBy::all);
            const auto model = nlohmann::json::parse(details.at("model").dump()).get<mlp::ModelDescription>();
            mlp::Engine engine(model, {});
            engine.initialize();
            engine.set_parameters(read_safetensors(run_folder / "best_model.safetensors").tensors);
            for (std::size_t i = 0; i < 2; ++i) {
                const std::string name = i == 0 ? "AAA" : "BBB";
                EXPECT_EQ(predicted[i].name, name);
                const Json& stored = details.at("instruments")[i];
                EXPECT_EQ(stored.at("name"), name);
                const Json& scaler_json =
                    scale_by == ScaleBy::all ? details.at("scaler") : stored.at("scaler");
                const auto scaler = nlohmann::json::parse(scaler_json.dump()).get<market::Scaler>();
                TrainConfig alone = of({name + ".csv"});
                alone.several_instruments = SeveralInstruments::no;
                ThreadPool pool(1);
                NullProgressSink progress;
                const MarketData data = load_market_data(alone, {}, pool, progress, CancellationToken());
                const auto matrix = build_features(alone, data, pool);
                EXPECT_EQ(matrix.names, scaler.features);
                auto row = scaler.transform_row(matrix.row(matrix.rows() - 1));
                if (input == InstrumentInput::one_hot)
                    row.insert(row.end(), {i == 0 ? 1.0f : 0.0f, i == 1 ? 1.0f : 0.0f});
                std::vector<float> raw(1);
                engine.predict(row.data(), row.size(), 1, raw);
                EXPECT_EQ(predicted[i].value, raw[0] * stored.at("target_scale").get<double>());
                EXPECT_LE(predicted[i].interval_low, predicted[i].value);
                EXPECT_GE(predicted[i].interval_high, predicted[i].value);
            }
        }
}

TEST_F(PredictSeveralTest, TrainingDoesNotDependOnTheOrderOfTheFiles) {
    const fs::path one = run(of({"AAA.csv", "BBB.csv"})).run_folder;
    const fs::path other = run(of({"BBB.csv", "AAA.csv"})).run_folder;
    expect_same_weights(one, other, "the order of the files");
}

TEST_F(PredictSeveralTest, AModelOfOneInstrumentIsTheSameWithTheOption) {
    TrainConfig config = of({"AAA.csv"});
    const TrainOutcome with = run(config);
    EXPECT_EQ(with.instrument_lines.size(), 1u);
    config.several_instruments = SeveralInstruments::no;
    const TrainOutcome without = run(config);
    EXPECT_TRUE(without.instrument_lines.empty());
    EXPECT_EQ(with.score_lines.front(), without.score_lines.front());
    expect_same_weights(with.run_folder, without.run_folder, "one instrument");
}

TEST_F(PredictSeveralTest, ResumesWithTheSameWeights) {
    TrainConfig config = of({"AAA.csv", "BBB.csv"});
    config.instrument_input = InstrumentInput::one_hot;
    const fs::path whole = run(config).run_folder;
    const TrainOutcome part = interrupted(config, 1);
    const TrainOutcome resumed = resume(part.run_folder);
    EXPECT_FALSE(resumed.interrupted);
    expect_same_weights(whole, resumed.run_folder, "a resumed run");
}

TEST_F(PredictSeveralTest, AnUnknownInstrumentIsRefusedUnlessTheModelKnowsNone) {
    TrainConfig config = of({"AAA.csv", "BBB.csv"});
    const fs::path scaled = run(config).run_folder;
    const std::string error = error_of([&] { predictions(options(scaled, {"AAA.csv", "CCC.csv"})); });
    EXPECT_TRUE(contains(error, "the model was not trained on CCC")) << error;
    EXPECT_TRUE(contains(error, "bars of AAA, BBB")) << error;
    EXPECT_EQ(predictions(options(scaled, {"BBB.csv"})).size(), 1u);

    config.scale_by = ScaleBy::all;
    config.instrument_input = InstrumentInput::one_hot;
    const fs::path told = run(config).run_folder;
    EXPECT_TRUE(contains(error_of([&] { predictions(options(told, {"CCC.csv"})); }),
                         "the network has an input for each instrument"));

    config.instrument_input = InstrumentInput::none;
    const fs::path shared = run(config).run_folder;
    const auto predicted = predictions(options(shared, {"CCC.csv"}));
    ASSERT_EQ(predicted.size(), 1u);
    EXPECT_EQ(predicted[0].name, "CCC");
    EXPECT_TRUE(std::isfinite(predicted[0].value));
    ASSERT_FALSE(predicted[0].notes.empty());
    EXPECT_TRUE(contains(predicted[0].notes.front(), "was not trained on CCC"));
}

TEST_F(PredictSeveralTest, AnInstrumentMustStillBeItself) {
    const fs::path run_folder = run(of({"AAA.csv", "BBB.csv"})).run_folder;
    fs::create_directory(folder_ / "other");
    write_lines(folder_ / "other" / "AAA.csv", daily_lines(160, 9));
    const std::string error = error_of([&] { predictions(options(run_folder, {"other/AAA.csv"})); });
    EXPECT_TRUE(contains(error, "move differently")) << error;
}

TEST_F(PredictSeveralTest, TheModelFilesAreEnough) {
    const fs::path run_folder = run(of({"AAA.csv", "BBB.csv"})).run_folder;
    const double value = predictions(options(run_folder, {"AAA.csv"})).front().value;
    for (const char* file : {"best_model.pt", "best_model.safetensors"}) {
        fs::copy(run_folder / file, folder_ / file, fs::copy_options::overwrite_existing);
        EXPECT_EQ(predictions(options(folder_ / file, {"AAA.csv"})).front().value, value) << file;
    }
}

TEST_F(PredictSeveralTest, TrainingDoesNotContinueFromSuchAModel) {
    TrainConfig config = of({"AAA.csv", "BBB.csv"});
    config.model = run(config).run_folder.string();
    EXPECT_TRUE(contains(error_of([&] { run(config); }), "bars of several instruments"));
    config.data = {(folder_ / "AAA.csv").string()};
    config.several_instruments = SeveralInstruments::no;
    EXPECT_TRUE(contains(error_of([&] { run(config); }), "bars of several instruments"));
}

TEST_F(PredictSeveralTest, TheReportHasTheScoresOfEachInstrument) {
    const TrainOutcome outcome = run(of({"AAA.csv", "BBB.csv"}));
    const std::string report = read_file(outcome.report);
    EXPECT_TRUE(contains(report, "Data of each instrument"));
    EXPECT_TRUE(contains(report, "<td>BBB</td>"));
    ASSERT_EQ(outcome.instrument_lines.size(), 2u);
    const Json details = metadata(outcome.run_folder);
    std::size_t rows = 0;
    for (const Json& instrument : details.at("instruments"))
        rows += instrument.at("evaluation").at("rows").get<std::size_t>();
    EXPECT_EQ(rows, details.at("evaluation").at("rows").get<std::size_t>());
}

} // namespace
} // namespace rekindle::trainer
