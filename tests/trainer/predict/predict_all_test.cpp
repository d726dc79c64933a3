/// Checks every out-of-sample prediction against the run's own scores, and against data that ends earlier.

#include "../run_fixture.h"

#include <rekindle/market/clock.h>
#include <rekindle/trainer/predict.h>

#include <cmath>

namespace rekindle::trainer {
namespace {

using namespace fixtures;

class PredictAllTest : public RunTest {
  protected:
    static AllPredictions all_of(const fs::path& model, const fs::path& data = {}) {
        NullProgressSink progress;
        PredictOptions options{model, {}, {}, {}};
        if (!data.empty()) {
            options.input.data = {data.string()};
            options.given = {"data"};
        }
        return predict_all(options, progress, CancellationToken());
    }
    static Json details(const fs::path& run) {
        return Json::parse(read_file(run / "best_model_metadata.json")).at("rekindle");
    }
    /// The bars of the run, cut or extended to `sessions` sessions; fewer sessions are a prefix of more.
    fs::path bars_of(int sessions) const {
        const fs::path path = folder_ / "other" / "bars.csv";
        ensure_directory(path.parent_path());
        write_lines(path, daily_lines(sessions));
        return path;
    }
};

TEST_F(PredictAllTest, ValidationRowsHaveTheScoreOfTheRun) {
    for (const auto target : {market::TargetKind::next_return, market::TargetKind::direction}) {
        TrainConfig settings = config();
        settings.target = target;
        const fs::path model = run(settings).run_folder;
        const AllPredictions all = all_of(model);
        const PredictionTable& table = all.table;
        ASSERT_EQ(all.validation_rows + 1, table.rows()) << "the outcome of the last session is not known";
        const auto log_loss = [](double p, double y) { return -std::log(y > 0.5 ? p : 1 - p); };
        double loss = 0, base = 0;
        for (std::size_t row = 0; row + 1 < table.rows(); ++row) {
            EXPECT_EQ(table.fold.at(row), "validation");
            EXPECT_EQ(table.seed.at(row), "42");
            EXPECT_GT(table.sigma[row], 0);
            const double p = table.prediction[row], y = table.outcome[row];
            if (target == market::TargetKind::direction) {
                loss += log_loss(p, y);
                base += log_loss(table.baseline[row], y);
            } else {
                loss += (y - p) * (y - p);
                base += (y - table.baseline[row]) * (y - table.baseline[row]);
            }
        }
        EXPECT_EQ(table.fold.at(table.rows() - 1), "later");
        EXPECT_TRUE(std::isnan(table.outcome.back()));
        const double score = details(model).at("evaluation").at("scores")[0].at("value");
        EXPECT_NEAR(100 * (1 - loss / base), score, 1e-6 * std::abs(score)) << name_of(target);
    }
}

TEST_F(PredictAllTest, LastPredictionIsThatOfPredict) {
    const fs::path model = run(config()).run_folder;
    NullProgressSink progress;
    EXPECT_EQ(all_of(model).table.prediction.back(),
              predict({model, {}, {}, {}}, progress, CancellationToken()).value);
}

TEST_F(PredictAllTest, SigmaOfGaussianNllDiffersByRow) {
    TrainConfig settings = config();
    settings.loss = LossChoice::gaussian_nll;
    const PredictionTable table = all_of(run(settings).run_folder).table;
    EXPECT_NE(table.sigma.front(), table.sigma.back());
}

TEST_F(PredictAllTest, NoPredictionChangesWithLaterBars) {
    const fs::path model = run(config()).run_folder;
    const PredictionTable longest = all_of(model, bars_of(140)).table;
    for (const int sessions : {118, 120, 127, 139}) {
        const PredictionTable table = all_of(model, bars_of(sessions)).table;
        ASSERT_LT(table.rows(), longest.rows());
        for (std::size_t row = 0; row < table.rows(); ++row) {
            EXPECT_EQ(table.known_at[row], longest.known_at[row]);
            EXPECT_EQ(table.prediction[row], longest.prediction[row]) << sessions << " sessions, row " << row;
            EXPECT_EQ(table.sigma[row], longest.sigma[row]);
            EXPECT_EQ(table.fold.at(row), longest.fold.at(row));
        }
    }
    const auto later = std::ranges::count_if(
        longest.fold.indices, [&](std::uint32_t i) { return longest.fold.words[i] == "later"; });
    EXPECT_EQ(later, 21) << "20 new sessions, and the one whose outcome was not known in training";
}

TEST_F(PredictAllTest, MinutesOfTheSameSessionAreToldApart) {
    TrainConfig settings = config();
    settings.data = {minute_bars().string()};
    settings.clock = market::Clock::utc;
    settings.features = {"minute"};
    settings.batch_size = 1024;
    settings.epochs = 1;
    const PredictionTable table = all_of(run(settings).run_folder).table;
    ASSERT_GT(table.rows(), 15'000U);
    EXPECT_TRUE(table.utc);
    EXPECT_TRUE(std::ranges::is_sorted(table.known_at, std::less_equal{})) << "strictly ascending";
    EXPECT_TRUE(std::ranges::any_of(table.outcome, [](double y) { return std::isnan(y); }))
        << "the last bars of sessions";
}

TEST_F(PredictAllTest, RefusesWhatItCannotKnow) {
    const fs::path model = run(config()).run_folder;
    EXPECT_TRUE(contains(error_of([&] { all_of(model, bars_of(90)); }), "no row of this data is later"));
    Json json = Json::parse(read_file(model / "best_model_metadata.json"));
    json.at("rekindle").erase("forecasts");
    write_file_atomically(model / "best_model_metadata.json", json.dump());
    EXPECT_TRUE(contains(error_of([&] { all_of(model); }), "does not record which rows"));
}

TEST(PredictionFiles, CsvQuotesAndLeavesUnknownNumbersOut) {
    const rekindle::test::TemporaryFolder folder;
    PredictionTable table;
    table.utc = false;
    table.known_at = {0, 86'400};
    table.session = {0, 1};
    for (const char* name : {"a,\"b\"", "ES"})
        table.instrument.add(name);
    for (const char* fold : {"1", "1"})
        table.fold.add(fold);
    for (const char* seed : {"7", "mean"})
        table.seed.add(seed);
    table.prediction = {0.1, -0.25};
    table.sigma = {1e-7, 1};
    table.outcome = {std::nan(""), 2};
    table.baseline = {0, 0.5};
    write_predictions(folder / "p.csv", table);
    EXPECT_EQ(read_file(folder / "p.csv"),
              "known_at,session,instrument,fold,seed,prediction,sigma,outcome,baseline\n"
              "1970-01-01T00:00:00,1970-01-01,\"a,\"\"b\"\"\",1,7,0.1,1e-07,,0\n"
              "1970-01-02T00:00:00,1970-01-02,ES,1,mean,-0.25,1,2,0.5\n");
    write_predictions(folder / "p.parquet", table);
    EXPECT_TRUE(read_file(folder / "p.parquet").starts_with("PAR1"));
}

} // namespace
} // namespace rekindle::trainer
