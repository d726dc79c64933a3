/// Compares networks of folds with networks that are trained alone and with data that ends earlier.

#include "planted_rows.h"

#include <rekindle/mlp/engine.h>
#include <rekindle/trainer/ridge.h>
#include <rekindle/trainer/row_orders.h>

#include <gtest/gtest.h>

#include <map>

namespace rekindle::research {
namespace {

using planted::forecast_on_cpu;
using planted::PlantedRows;
using planted::small_config;

std::vector<Fold> folds_of(const ForecastRows& rows, std::size_t folds, std::size_t train_rows,
                           Window window = Window::rolling) {
    return walk_forward_folds(rows.times(), rows.known_at.size(), {window, folds, train_rows});
}

void expect_same(const FoldForecasts& a, const FoldForecasts& b, const std::string& what) {
    ASSERT_EQ(a.blocks.size(), b.blocks.size()) << what;
    for (std::size_t i = 0; i < a.blocks.size(); ++i) {
        ASSERT_EQ(a.blocks[i].networks.size(), b.blocks[i].networks.size()) << what;
        EXPECT_EQ(a.blocks[i].linear, b.blocks[i].linear) << what;
        for (std::size_t n = 0; n < a.blocks[i].networks.size(); ++n)
            for (std::size_t row = 0; row < a.blocks[i].rows.size(); ++row) {
                EXPECT_EQ(a.blocks[i].networks[n][row].value, b.blocks[i].networks[n][row].value)
                    << what << ", block " << i << ", row " << row;
                EXPECT_EQ(a.blocks[i].networks[n][row].sigma, b.blocks[i].networks[n][row].sigma) << what;
            }
    }
}

/// Importance also depends on the outcomes of the predicted rows.
void expect_same_importance(const FoldForecasts& a, const FoldForecasts& b, const std::string& what) {
    ASSERT_EQ(a.importance.size(), b.importance.size());
    for (std::size_t i = 0; i < a.importance.size(); ++i)
        EXPECT_EQ(a.importance[i].loss_increase, b.importance[i].loss_increase) << what;
}

TEST(ForecastFolds, ANetworkIsTheOneThatItsRowsTrainAlone) {
    const ForecastRows rows = PlantedRows{.rows = 300, .r_squared = 0.3}.make();
    trainer::TrainConfig config = small_config();
    config.population = 2;
    config.dropout_rate = 0.2;
    const std::vector<Fold> folds = folds_of(rows, 3, 100);
    const FoldForecasts forecasts = forecast_on_cpu(rows, folds, config);
    ASSERT_EQ(forecasts.blocks.size(), 3U);
    ThreadPool pool(1);
    for (std::size_t f = 0; f < folds.size(); ++f) {
        const RowRange train = folds[f].train.front(), test = folds[f].test.front();
        const auto scaler = market::Scaler::fit(rows.matrix, train, rows.scaling, pool);
        const std::vector<float> inputs = scaler.transform(rows.matrix, train, pool);
        trainer::TargetMeaning meaning = rows.meaning;
        const auto values = std::span<const float>(rows.targets.values).subspan(train.begin, train.size());
        trainer::set_scale(meaning, values);
        std::vector<float> targets;
        for (const float value : values)
            targets.push_back(static_cast<float>(meaning.network_target(value)));
        for (std::uint64_t n = 0; n < 2; ++n) {
            auto spec = trainer::training_spec(config, meaning, train.size(), 1);
            spec.seed = 42 + n;
            mlp::Engine engine(trainer::network_of(config, 4, meaning), spec);
            engine.initialize();
            for (std::int64_t epoch = 0; epoch < config.epochs; ++epoch) {
                engine.train({inputs.data(), 4, targets.data(), train.size(), {}},
                             trainer::epoch_order(train.size(), spec.seed, epoch), 16);
                engine.finish_accumulation();
            }
            const std::vector<float> test_inputs = scaler.transform(rows.matrix, test, pool);
            const auto expected = trainer::predict_values(engine, meaning, test_inputs, test.size());
            for (std::size_t row = 0; row < test.size(); ++row)
                EXPECT_EQ(forecasts.blocks[f].networks[n][row].value, expected[row])
                    << "fold " << f << ", seed " << spec.seed;
        }
        const auto ridge = trainer::Ridge::fit({inputs, 4, values});
        EXPECT_EQ(forecasts.blocks[f].linear, ridge.predict(scaler.transform(rows.matrix, test, pool)));
    }
}

TEST(ForecastFolds, GroupsAndThreadsDoNotChangeTheResult) {
    const ForecastRows rows = PlantedRows{.rows = 260, .r_squared = 0.2}.make();
    trainer::TrainConfig config = small_config();
    config.population = 3;
    const std::vector<Fold> folds = folds_of(rows, 5, 80, Window::expanding);
    const FoldForecasts together = forecast_on_cpu(rows, folds, config);
    const FoldForecasts threads = forecast_on_cpu(rows, folds, config, 3),
                        groups = forecast_on_cpu(rows, folds, config, 1, 1);
    expect_same(together, threads, "three threads");
    expect_same_importance(together, threads, "three threads");
    expect_same(together, groups, "a group for each fold");
    expect_same_importance(together, groups, "a group for each fold");
}

TEST(ForecastFolds, LaterRowsDoNotChangeEarlierPredictions) {
    constexpr std::size_t known = 180; // rows before it are the same in all data
    const PlantedRows all{.rows = 300, .r_squared = 0.3, .horizon = 3};
    const ForecastRows rows = all.make();
    std::vector<Fold> folds;
    for (std::size_t begin = 100; begin < known; begin += 20)
        folds.push_back({training_rows_before(rows.times(), begin, 80), {{begin, begin + 20}}});
    const trainer::TrainConfig config = small_config();
    const FoldForecasts expected = forecast_on_cpu(rows, folds, config);

    // Truncated: the rows after the last prediction are missing, and targets that reach beyond it are
    // unknown.
    ForecastRows truncated = all.make();
    for (std::size_t row = known; row < truncated.known_at.size(); ++row)
        for (std::size_t c = 0; c < 4; ++c)
            truncated.matrix.values[row * 4 + c] = 0;
    for (std::size_t row = 0; row < truncated.known_at.size(); ++row)
        if (truncated.target_end[row] > truncated.known_at[known - 1]) {
            truncated.targets.valid[row] = 0;
            truncated.targets.values[row] = 0;
        }
    expect_same(expected, forecast_on_cpu(truncated, folds, config), "truncated");

    // Shuffled: everything that becomes known later is replaced.
    ForecastRows shuffled = all.make();
    for (std::size_t row = 0; row < shuffled.known_at.size(); ++row) {
        const std::size_t other = shuffled.known_at.size() - 1 - row % 50;
        if (row >= known)
            for (std::size_t c = 0; c < 4; ++c)
                shuffled.matrix.values[row * 4 + c] = rows.matrix.values[other * 4 + c];
        if (shuffled.target_end[row] > shuffled.known_at[known - 1])
            shuffled.targets.values[row] = 7 * rows.targets.values[other] + 1;
    }
    const FoldForecasts forecasts = forecast_on_cpu(shuffled, folds, config);
    ASSERT_EQ(forecasts.blocks.size(), expected.blocks.size());
    for (std::size_t i = 0; i < forecasts.blocks.size(); ++i)
        for (std::size_t row = 0; row < forecasts.blocks[i].rows.size(); ++row)
            EXPECT_EQ(forecasts.blocks[i].networks[0][row].value, expected.blocks[i].networks[0][row].value);

    // This holds only because of the purge: a fold that trains on targets that end later does leak.
    const std::vector<Fold> leaking{{{{100, known}}, {{known - 1, known}}}};
    EXPECT_NE(forecast_on_cpu(shuffled, leaking, config).blocks[0].networks[0][0].value,
              forecast_on_cpu(rows, leaking, config).blocks[0].networks[0][0].value);
}

class MemoryStore final : public JobStore {
  public:
    std::optional<NetworkResult> find(std::size_t fold, std::uint64_t seed) override {
        const auto found = results_.find({fold, seed});
        if (found == results_.end())
            return std::nullopt;
        return found->second;
    }
    void add(std::span<const NetworkJob> jobs, std::span<const NetworkResult> results) override {
        for (std::size_t j = 0; j < jobs.size(); ++j)
            EXPECT_TRUE(results_.emplace(std::pair(jobs[j].fold, jobs[j].training.seed), results[j]).second)
                << "trained twice";
        if (stop_after > 0 && results_.size() >= stop_after)
            token.request();
    }
    std::size_t size() const { return results_.size(); }
    CancellationToken token;
    std::size_t stop_after = 0;

  private:
    std::map<std::pair<std::size_t, std::uint64_t>, NetworkResult> results_;
};

TEST(ForecastFolds, AnInterruptedJobContinuesWithTheSameResult) {
    const ForecastRows rows = PlantedRows{.rows = 260}.make();
    trainer::TrainConfig config = small_config();
    config.population = 2;
    const std::vector<Fold> folds = folds_of(rows, 5, 80);
    MemoryStore store;
    store.stop_after = 4;
    const FoldForecasts stopped = forecast_on_cpu(rows, folds, config, 1, 1, &store, store.token);
    EXPECT_TRUE(stopped.interrupted);
    EXPECT_EQ(store.size(), 4U) << "two folds of two seeds";
    store.stop_after = 0;
    const FoldForecasts continued = forecast_on_cpu(rows, folds, config, 1, 1, &store);
    EXPECT_FALSE(continued.interrupted);
    EXPECT_EQ(store.size(), 10U);
    expect_same(continued, forecast_on_cpu(rows, folds, config), "continued");
}

TEST(ForecastFolds, ImportanceIsThatOfTheFeatureWithThePlantedEdge) {
    const ForecastRows rows = PlantedRows{.rows = 1200, .r_squared = 0.5}.make();
    trainer::TrainConfig config = small_config();
    config.epochs = 10;
    const FoldForecasts forecasts = forecast_on_cpu(rows, folds_of(rows, 3, 600), config);
    ASSERT_EQ(forecasts.importance.size(), 4U);
    EXPECT_EQ(forecasts.importance.front().group, "feature_0");
    // Without the feature, the squared error is 1 + R² (the permuted guess) instead of 1 - R².
    EXPECT_NEAR(forecasts.importance.front().loss_increase, 2, 0.6);
    EXPECT_LT(forecasts.importance[1].loss_increase, 0.1);
}

TEST(ForecastFolds, APlantedEdgeIsFoundAndNoiseIsNot) {
    for (const bool direction : {false, true})
        for (const double r_squared : {0.0, 0.15}) {
            const ForecastRows rows =
                PlantedRows{.rows = 2500, .r_squared = r_squared, .seed = 3, .direction = direction}.make();
            const FoldForecasts forecasts = forecast_on_cpu(rows, folds_of(rows, 5, 1000), small_config());
            const auto evaluation =
                evaluate_path(rows, forecasts.blocks, 0, std::numeric_limits<std::int64_t>::max(), 1);
            EXPECT_EQ(evaluation.has_edge, r_squared > 0) << direction << " " << evaluation.verdict.text();
            EXPECT_EQ(evaluation.rows, 1499U) << "all rows after the first window but the last";
        }
}

TEST(ForecastFolds, TheMeanHasTheSpreadOfTheNetworksInItsSigma) {
    BlockForecasts block;
    block.networks = {{{1, 2}}, {}, {{3, 4}}};
    EXPECT_EQ(block.mean(0).value, 2);
    EXPECT_NEAR(block.mean(0).sigma, std::sqrt((4.0 + 16) / 2 + 1), 1e-12);
}

TEST(PreviousOutcomes, AreThoseThatWereKnown) {
    const ForecastRows rows = PlantedRows{.rows = 10, .horizon = 3}.make();
    const auto previous = previous_outcomes(rows);
    for (std::size_t row = 0; row < 10; ++row)
        EXPECT_EQ(previous[row], row < 3 ? 0 : static_cast<double>(rows.targets.values[row - 3]));
}

} // namespace
} // namespace rekindle::research
