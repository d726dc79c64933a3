/// Compares predictions with a network computed by hand, and tests everything that is refused.

#include "../run_fixture.h"

#include <rekindle/trainer/dataset.h>
#include <rekindle/trainer/model_file.h>
#include <rekindle/trainer/predict.h>

#include <cmath>

namespace rekindle::trainer {
namespace {

using namespace fixtures;

using Vector = std::vector<double>;

/// The default network in double precision, from the names and shapes of its tensors.
class NetworkByHand {
  public:
    explicit NetworkByHand(std::vector<mlp::NamedTensor> tensors) : tensors_(std::move(tensors)) {}

    Vector operator()(Vector row) const {
        row = silu(linear(row, "input_layer"));
        for (int i = 0; find("hidden_layers." + std::to_string(i) + ".0.weight"); ++i) {
            const std::string name = "hidden_layers." + std::to_string(i);
            row = silu(layer_norm(linear(row, name + ".0"), name + ".1"));
        }
        return linear(layer_norm(row, "final_norm"), "output_layer");
    }

  private:
    const mlp::NamedTensor* find(const std::string& name) const {
        const auto found = std::ranges::find(tensors_, name, &mlp::NamedTensor::name);
        return found == tensors_.end() ? nullptr : &*found;
    }
    Vector linear(const Vector& row, const std::string& name) const {
        const auto& weight = *find(name + ".weight");
        Vector result;
        for (std::size_t out = 0; out < weight.shape[0]; ++out) {
            result.push_back(find(name + ".bias")->values[out]);
            for (std::size_t in = 0; in < row.size(); ++in)
                result[out] += static_cast<double>(weight.values[out * row.size() + in]) * row[in];
        }
        return result;
    }
    Vector layer_norm(const Vector& row, const std::string& name) const {
        double mean = 0, variance = 0;
        for (const double x : row)
            mean += x / static_cast<double>(row.size());
        for (const double x : row)
            variance += (x - mean) * (x - mean) / static_cast<double>(row.size());
        Vector result;
        for (std::size_t i = 0; i < row.size(); ++i)
            result.push_back((row[i] - mean) / std::sqrt(variance + 1e-5) *
                                 static_cast<double>(find(name + ".weight")->values[i]) +
                             static_cast<double>(find(name + ".bias")->values[i]));
        return result;
    }
    static Vector silu(Vector row) {
        for (double& x : row)
            x = x / (1 + std::exp(-x));
        return row;
    }

    std::vector<mlp::NamedTensor> tensors_;
};

class PredictTest : public RunTest {
  protected:
    static Prediction predict_with(const PredictOptions& options) {
        NullProgressSink progress;
        return predict(options, progress, CancellationToken());
    }
    Prediction predict_from(const fs::path& model) const { return predict_with({model, {}, {}, {}}); }
    static Json details(const fs::path& run) {
        return Json::parse(read_file(run / "best_model_metadata.json")).at("rekindle");
    }
    /// The newest row of features, not scaled.
    static Vector newest_row(const TrainConfig& config) {
        ThreadPool pool(1);
        NullProgressSink progress;
        const MarketData data = load_market_data(config, {}, pool, progress, CancellationToken());
        const auto matrix = build_features(config, data, pool);
        const auto row = matrix.row(matrix.rows() - 1);
        return {row.begin(), row.end()};
    }
    /// By the scaler in the run's metadata, as docs/formats/scaler.md describes it.
    static Vector scaled(Vector row, const Json& scaler) {
        const double clip = scaler.at("clip");
        for (std::size_t i = 0; i < row.size(); ++i) {
            row[i] = (row[i] - scaler.at("center")[i].get<double>()) / scaler.at("scale")[i].get<double>();
            if (clip > 0)
                row[i] = std::clamp(row[i], -clip, clip);
        }
        return row;
    }
    static double raw_by_hand(const fs::path& run, const TrainConfig& config) {
        return NetworkByHand(tensors_of(run / "best_model.safetensors"))(
            scaled(newest_row(config), details(run).at("scaler")))[0];
    }
};

TEST_F(PredictTest, ReturnIsTheNetworkOutput) {
    using Scaling = market::Scaler::Kind;
    for (const Scaling scaler : {Scaling::robust, Scaling::standard, Scaling::none}) {
        TrainConfig settings = config();
        settings.scaler = scaler;
        settings.learning_rate = 5e-3;
        const fs::path model = run(settings).run_folder;
        const Prediction prediction = predict_from(model);
        const double scale = details(model).at("target").at("scale");
        EXPECT_NEAR(prediction.value / scale, raw_by_hand(model, settings), 1e-5) << name_of(scaler);
        EXPECT_NE(prediction.value, 0) << name_of(scaler);
        EXPECT_LT(prediction.interval_low, prediction.value) << name_of(scaler);
        EXPECT_GT(prediction.interval_high, prediction.value) << name_of(scaler);
        EXPECT_EQ(prediction.baseline, 0);
        EXPECT_EQ(prediction.baseline_name, "zero return");
        EXPECT_EQ(prediction.interval_level, 0.9);
        EXPECT_FALSE(prediction.verdict.empty());
        const std::string last = daily_lines(120).back();
        EXPECT_EQ(prediction.from_session, last.substr(0, 10));
    }
}

TEST_F(PredictTest, IntervalComesFromTheValidationResiduals) {
    const fs::path model = run(config()).run_folder;
    const Prediction prediction = predict_from(model);
    const Json quantiles = details(model).at("evaluation").at("residual_quantiles");
    EXPECT_DOUBLE_EQ(prediction.interval_low, prediction.value + quantiles[0].get<double>());
    EXPECT_DOUBLE_EQ(prediction.interval_high, prediction.value + quantiles[1].get<double>());
}

TEST_F(PredictTest, DirectionIsAProbabilityWithTheShareOfRisesAsBaseline) {
    TrainConfig settings = config();
    settings.target = market::TargetKind::direction;
    const fs::path model = run(settings).run_folder;
    const Prediction prediction = predict_from(model);
    EXPECT_NEAR(prediction.value, 1 / (1 + std::exp(-raw_by_hand(model, settings))), 1e-6);
    EXPECT_EQ(prediction.baseline, details(model).at("training_share_up").get<double>());
    EXPECT_EQ(prediction.baseline_name, "share of rises in training");
    EXPECT_GE(prediction.interval_low, 0);
    EXPECT_LE(prediction.interval_high, 1);
    EXPECT_LT(prediction.interval_low, prediction.interval_high);
}

TEST_F(PredictTest, WorksForEveryTargetAndLoss) {
    const auto works = [&](const char* name, auto&& change) {
        TrainConfig settings = config();
        change(settings);
        const fs::path model = run(settings).run_folder;
        const Prediction prediction = predict_from(model);
        EXPECT_TRUE(std::isfinite(prediction.value)) << name;
        EXPECT_LE(prediction.interval_low, prediction.interval_high) << name;
        EXPECT_GE(describe(prediction).size(), 4u) << name;
        Json json;
        to_json(json, prediction);
        EXPECT_EQ(Json::parse(json.dump())["value"], prediction.value) << name;
    };
    works("bar-return", [](TrainConfig& c) { c.target = market::TargetKind::bar_return; });
    works("gaussian-nll", [](TrainConfig& c) { c.loss = LossChoice::gaussian_nll; });
    works("original", [](TrainConfig& c) { c.compat = Compat::original; });
    works("all groups",
          [](TrainConfig& c) { c.features = {"session", "vix", "returns", "gap", "calendar", "naked-poc"}; });
    works("minute", [](TrainConfig& c) {
        c.data = {minute_bars().string()};
        c.clock = market::Clock::utc;
        c.features = {"minute"};
        c.data_fraction = 0.05;
        c.epochs = 1;
        c.batch_size = 256;
    });
}

TEST_F(PredictTest, WorksOnLongerDataAndOnlyTheNewestSessionsCount) {
    const fs::path model = run(config()).run_folder;
    TrainConfig other = config();
    write_lines(folder_ / "longer.csv", daily_lines(150));
    other.data = {(folder_ / "longer.csv").string()};
    const Prediction prediction = predict_with({model, other, {"data"}, {}});
    EXPECT_EQ(prediction.from_session, daily_lines(150).back().substr(0, 10));
    const double scale = details(model).at("target").at("scale");
    EXPECT_NEAR(prediction.value / scale, raw_by_hand(model, other), 1e-5);
}

TEST_F(PredictTest, TooFewSessionsAreReported) {
    const fs::path model = run(config()).run_folder;
    TrainConfig other = config();
    write_lines(folder_ / "short.csv", daily_lines(30));
    other.data = {(folder_ / "short.csv").string()};
    const std::string error = error_of([&] { predict_with({model, other, {"data"}, {}}); });
    EXPECT_TRUE(contains(error, "there are only 30 sessions")) << error;
}

TEST_F(PredictTest, RefusesOtherRulesAndNamesThem) {
    const fs::path model = run(config()).run_folder;
    const auto refused = [&](const std::string& key, auto&& change, std::string_view own,
                             std::string_view asked) {
        TrainConfig other = config();
        change(other);
        const std::string error = error_of([&] { predict_with({model, other, {key}, {}}); });
        EXPECT_TRUE(contains(error, key)) << error;
        EXPECT_TRUE(contains(error, own)) << error;
        EXPECT_TRUE(contains(error, asked)) << error;
    };
    refused(
        "clock", [](TrainConfig& c) { c.clock = market::Clock::exchange; }, "raw", "exchange");
    refused(
        "session", [](TrainConfig& c) { c.session = market::SessionHours::rth; }, "all", "rth");
    refused(
        "session_length", [](TrainConfig& c) { c.session_length = market::SessionLength::week; }, "day",
        "week");
    refused(
        "features",
        [](TrainConfig& c) {
            c.features = {"session", "vix"};
        },
        "session", "vix");
    refused(
        "weighting", [](TrainConfig& c) { c.weighting = market::Weighting::close; }, "uniform", "close");
    refused(
        "tick", [](TrainConfig& c) { c.tick = "0.125"; }, "0.25", "0.125");
    refused(
        "target", [](TrainConfig& c) { c.target = market::TargetKind::direction; }, "return", "direction");
}

// A model keeps the bins of its training data, even for data that has a tick.
TEST_F(PredictTest, BinsOfAModelWithoutATickAreKept) {
    TrainConfig without_tick = config();
    without_tick.tick = "none:2";
    const fs::path model = run(without_tick).run_folder;
    const Json metadata = Json::parse(read_file(model / "best_model_metadata.json"));
    EXPECT_EQ(metadata.at("rekindle").at("profile_bin_points"), 2.0);
    EXPECT_EQ(predict_from(model).value, predict_with({model, without_tick, {"tick"}, {}}).value);
    TrainConfig with_tick = config();
    with_tick.tick = "0.25";
    const std::string error = error_of([&] { predict_with({model, with_tick, {"tick"}, {}}); });
    EXPECT_TRUE(contains(error, "no tick and bins of 2 points")) << error;
    EXPECT_TRUE(contains(error, "--tick none:2")) << error;
}

TEST_F(PredictTest, FeaturesOfVolumeNeedVolume) {
    const fs::path model = run(config()).run_folder;
    TrainConfig other = config();
    other.columns = "time=1,open=2,high=3,low=4,close=5,volume=none";
    const std::string error = error_of([&] { predict_with({model, other, {"columns"}, {}}); });
    EXPECT_TRUE(contains(error, "vpoc has no data: no bar has volume")) << error;
}

TEST_F(PredictTest, UnfinishedRunIsRefused) {
    const TrainOutcome stopped = interrupted(config(), 1);
    const std::string error = error_of([&] { predict_from(stopped.run_folder); });
    EXPECT_TRUE(contains(error, "no finished run")) << error;
    EXPECT_TRUE(contains(error, "--resume-from-checkpoint")) << error;
}

TEST_F(PredictTest, DamagedFilesOfARunAreNamed) {
    const fs::path model = run(config()).run_folder;
    const auto named = [&](const std::string& file, const std::string& content) {
        const std::string whole = read_file(model / file);
        write_file_atomically(model / file, content);
        EXPECT_TRUE(contains(error_of([&] { predict_from(model); }), file)) << file << ": " << content;
        write_file_atomically(model / file, whole);
    };
    named("best_model_metadata.json", "{");
    named("best_model_metadata.json", "{}");
    named("best_model_metadata.json", "[]");
    named("best_model_metadata.json", R"({"rekindle": 3})");
    const Json whole = Json::parse(read_file(model / "best_model_metadata.json"));
    for (const auto& [key, value] : whole.at("rekindle").items()) {
        if (key == "software" || key == "instruction_set" || key == "device" || key == "seed" ||
            key == "split" || key == "data" || key == "rolls" || key == "timings" || key == "rules" ||
            key == "importance")
            continue; // for people
        for (const Json& wrong : {Json("text"), Json(-1), Json::array(), Json()}) {
            Json damaged = whole;
            damaged["rekindle"][key] = wrong;
            if (key != "tick_points" && !(key == "training_share_up" && wrong.is_number()))
                named("best_model_metadata.json", damaged.dump());
        }
        if (key == "instrument" || key == "bar_length" || key == "profile_bin_points" || key == "forecasts")
            continue; // older runs have none
        Json damaged = whole;
        damaged["rekindle"].erase(key);
        named("best_model_metadata.json", damaged.dump());
    }
    named("best_model.safetensors", "");
    named("best_model.safetensors", read_file(model / "best_model.safetensors").substr(0, 200));
}

TEST_F(PredictTest, ModelFileOfARunPredictsLikeTheRun) {
    const fs::path model = run(config()).run_folder;
    const Prediction expected = predict_from(model), found = predict_from(model / "best_model.pt");
    EXPECT_EQ(found.value, expected.value);
    EXPECT_EQ(found.interval_low, expected.interval_low);
    EXPECT_EQ(found.verdict, expected.verdict);
}

// ------------------------------------------------------------------------- files of the original system

/// The committed file was saved by PyTorch: 6 inputs, hidden 32, 32, without a scaler.
class OriginalModelTest : public PredictTest {
  protected:
    fs::path model() const { return fs::path(REKINDLE_TEST_DATA) / "archive" / "checkpoint.pt"; }
    /// Six features, as many as the file has inputs.
    TrainConfig input() const {
        TrainConfig input = config();
        input.features = {"calendar", "naked-poc"};
        return input;
    }
    PredictOptions options(const std::string& scaler) const {
        write_file_atomically(folder_ / "scaler.json", scaler);
        return {model(), input(), {"data", "clock", "features"}, folder_ / "scaler.json"};
    }
    /// Center 1 and scale 2 for every feature.
    Json scaler() const {
        ThreadPool pool(1);
        NullProgressSink progress;
        const MarketData data = load_market_data(input(), {}, pool, progress, CancellationToken());
        const auto names = build_features(input(), data, pool).names;
        const std::vector<double> center(names.size(), 1.0), scale(names.size(), 2.0);
        return {{"kind", "standard"}, {"clip", 10},       {"rows", 100},
                {"features", names},  {"center", center}, {"scale", scale}};
    }
};

TEST_F(OriginalModelTest, PredictsWithTheScalerThatIsGiven) {
    const Prediction prediction = predict_with(options(scaler().dump()));
    TrainConfig original = input();
    original.compat = Compat::original;
    const Vector row = scaled(newest_row(original), scaler());
    const double logit = NetworkByHand(import_model(model()).file.parameters)(row)[0];
    // The original trains (y + 1) / 2 with cross-entropy: the output is the logit of that.
    EXPECT_NEAR(prediction.value, 2 / (1 + std::exp(-logit)) - 1, 1e-6);
    EXPECT_GT(std::abs(prediction.value - logit), 1e-3) << "a logit is not a return";
    EXPECT_TRUE(std::isnan(prediction.interval_low)) << "its errors are unknown";
    EXPECT_TRUE(prediction.verdict.empty());
    ASSERT_FALSE(prediction.notes.empty());
    EXPECT_TRUE(std::ranges::any_of(
        prediction.notes, [](const std::string& note) { return contains(note, "no validation scores"); }));
}

/// Any file of a run that holds its scaler can be given for a model without one.
TEST_F(OriginalModelTest, ScalerOfARunCanBeGiven) {
    TrainConfig settings = input();
    settings.compat = Compat::original;
    const fs::path trained = run(settings).run_folder;
    PredictOptions options{model(), input(), {"data", "clock", "features"}, {}};
    write_file_atomically(folder_ / "own.json", details(trained).at("scaler").dump());
    options.scaler = folder_ / "own.json";
    const double expected = predict_with(options).value;
    for (const fs::path& given : {trained, trained / "best_model_metadata.json",
                                  trained / "model_final_metadata.json", trained / "best_model.pt"}) {
        options.scaler = given;
        EXPECT_EQ(predict_with(options).value, expected) << given;
    }
}

TEST_F(OriginalModelTest, AsksForItsScaler) {
    PredictOptions without = options("");
    without.scaler.clear();
    const std::string error = error_of([&] { predict_with(without); });
    EXPECT_TRUE(contains(error, "--scaler")) << error;
    EXPECT_TRUE(contains(error, "checkpoint.pt")) << error;
}

TEST_F(OriginalModelTest, MalformedScalerIsNamedWithItsFile) {
    Json wrong_kind = scaler(), no_scale = scaler(), short_center = scaler(), zero = scaler();
    wrong_kind["kind"] = "magic";
    no_scale.erase("scale");
    short_center["center"].erase(0);
    zero["scale"][0] = 0;
    for (const std::string& text :
         {std::string(), std::string("{"), std::string("[]"), std::string("{}"), std::string("3"),
          wrong_kind.dump(), no_scale.dump(), short_center.dump(), zero.dump()})
        EXPECT_TRUE(contains(error_of([&] { predict_with(options(text)); }), "scaler.json")) << text;
    PredictOptions missing = options("");
    missing.scaler = folder_ / "none.json";
    EXPECT_TRUE(contains(error_of([&] { predict_with(missing); }), "none.json"));
}

TEST_F(OriginalModelTest, ScalerOfTheWrongWidthIsRefused) {
    Json narrow = scaler();
    for (const char* key : {"features", "center", "scale"})
        narrow[key].erase(narrow[key].size() - 1);
    const std::string error = error_of([&] { predict_with(options(narrow.dump())); });
    EXPECT_TRUE(contains(error, "features")) << error;
}

} // namespace
} // namespace rekindle::trainer
