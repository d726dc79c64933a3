/// Whole walk-forward jobs: files, resuming, the final part, and look-ahead from bars to predictions.

#include "../../trainer/run_fixture.h"

#include <rekindle/base/text.h>
#include <rekindle/research/walk_forward.h>

#include <gtest/gtest.h>

#include <map>
#include <sstream>

namespace rekindle::research {
namespace {

using namespace trainer::fixtures;

using Line = std::map<std::string, std::string>;

std::vector<Line> read_csv(const fs::path& path) {
    std::istringstream text(read_file(path));
    std::string line;
    std::vector<std::string> names;
    std::vector<Line> lines;
    while (std::getline(text, line)) {
        std::vector<std::string> fields;
        for (const auto field : rekindle::split(line, ','))
            fields.emplace_back(field);
        if (names.empty()) {
            names = fields;
            continue;
        }
        Line& added = lines.emplace_back();
        for (std::size_t i = 0; i < names.size(); ++i)
            added[names[i]] = fields.at(i);
    }
    return lines;
}

class WalkForwardJobTest : public trainer::fixtures::RunTest {
  protected:
    WalkForwardOptions options() const {
        WalkForwardOptions options;
        options.config = config();
        options.config.population = 2;
        options.rules.folds = 3;
        return options;
    }
    static WalkForwardOutcome job(const WalkForwardOptions& options,
                                  const CancellationToken& token = CancellationToken()) {
        trainer::NullProgressSink progress;
        return walk_forward(options, progress, token);
    }
    static WalkForwardOptions resumed(const fs::path& folder) {
        WalkForwardOptions options;
        options.config.resume_from_checkpoint = folder.string();
        options.given = {"resume_from_checkpoint"};
        return options;
    }
};

TEST_F(WalkForwardJobTest, WritesEveryPredictionAndAVerdict) {
    const WalkForwardOutcome outcome = job(options());
    for (const char* name : {"predictions.parquet", "folds.csv", "results.json", "report.html",
                             "walk-forward.json", "networks/000000.safetensors"})
        EXPECT_TRUE(fs::exists(outcome.folder / name)) << name;
    EXPECT_FALSE(fs::exists(outcome.folder / "final.json"));
    const auto lines = read_csv(outcome.folder / "predictions.csv");
    // 120 sessions give 70 rows; 56 of them are before the final part, and 28 of those are the first training
    // window.
    ASSERT_EQ(lines.size(), 28U * 3);
    EXPECT_EQ(lines[0].at("seed"), "42");
    EXPECT_EQ(lines[1].at("seed"), "43");
    EXPECT_EQ(lines[2].at("seed"), "mean");
    EXPECT_NEAR(std::stod(lines[2].at("prediction")),
                (std::stod(lines[0].at("prediction")) + std::stod(lines[1].at("prediction"))) / 2, 1e-12);
    EXPECT_EQ(lines.front().at("fold"), "1");
    EXPECT_EQ(lines.back().at("fold"), "3");
    EXPECT_FALSE(outcome.verdict.empty());
    const std::string page = read_file(outcome.report);
    EXPECT_TRUE(contains(page, "is untouched"));
    EXPECT_TRUE(contains(page, "Permutation importance"));
    EXPECT_TRUE(contains(page, "Sharpe"));
}

TEST_F(WalkForwardJobTest, ResumesWithTheSameFilesAndRefusesOthers) {
    const WalkForwardOutcome whole = job(options());
    fs::remove_all(whole.folder / "networks");
    const std::string predictions = read_file(whole.folder / "predictions.csv");
    const WalkForwardOutcome again = job(resumed(whole.folder));
    EXPECT_EQ(read_file(again.folder / "predictions.csv"), predictions);

    CancellationToken stop;
    stop.request();
    EXPECT_THROW(job(options(), stop), Error) << "reading was interrupted";

    WalkForwardOptions other = resumed(whole.folder);
    other.config.epochs = 77;
    other.given.insert("epochs");
    EXPECT_TRUE(contains(error_of([&] { job(other); }), "cannot continue with 77"));
    other = resumed(whole.folder);
    other.given_rules = {"folds"};
    EXPECT_TRUE(contains(error_of([&] { job(other); }), "--folds cannot change"));
    write_lines(bars(), daily_lines(121));
    EXPECT_TRUE(contains(error_of([&] { job(resumed(whole.folder)); }), "the input is not the one"));
}

TEST_F(WalkForwardJobTest, ADamagedFileOfNetworksIsNamed) {
    const WalkForwardOutcome outcome = job(options());
    const fs::path file = outcome.folder / "networks" / "000000.safetensors";
    write_file_atomically(file, read_file(file).substr(0, 200));
    EXPECT_TRUE(contains(error_of([&] { job(resumed(outcome.folder)); }), "000000.safetensors"));
}

TEST_F(WalkForwardJobTest, TheFinalPartIsOpenedOnceAndSaysSo) {
    const WalkForwardOutcome outcome = job(options());
    WalkForwardOptions opening = resumed(outcome.folder);
    opening.open_final = true;
    job(opening);
    const auto lines = read_csv(outcome.folder / "predictions.csv");
    EXPECT_EQ(std::ranges::count_if(lines, [](const Line& line) { return line.at("fold") == "final"; }),
              14 * 3);
    const std::string opened = read_file(outcome.folder / "final.json");
    const WalkForwardOutcome again = job(opening);
    EXPECT_EQ(read_file(outcome.folder / "final.json"), opened) << "the first time counts";
    EXPECT_TRUE(contains(again.notes.back(), "no longer untouched"));

    // A later job with other features on the same rows notices that the final part was opened.
    WalkForwardOptions later = options();
    later.config.population = 1;
    later.config.hidden_layers = {4};
    const WalkForwardOutcome second = job(later);
    EXPECT_TRUE(contains(read_file(second.report), "so it is no longer untouched"));

    WalkForwardOptions none = options();
    none.rules.final_share = 0;
    none.open_final = true;
    EXPECT_TRUE(contains(error_of([&] { job(none); }), "no final part"));
}

TEST_F(WalkForwardJobTest, CombinatorialPathsCoverEveryRow) {
    WalkForwardOptions combinatorial = options();
    combinatorial.config.population = 1;
    combinatorial.rules.blocks = 4;
    combinatorial.rules.test_blocks = 2;
    const auto lines = read_csv(job(combinatorial).folder / "predictions.csv");
    std::map<std::string, std::size_t> rows;
    for (const Line& line : lines)
        ++rows[line.at("fold")];
    EXPECT_EQ(rows, (std::map<std::string, std::size_t>{{"path 1", 56}, {"path 2", 56}, {"path 3", 56}}));
}

/// Trains on the rows that are known by a date, once from bars that end there and once from all bars.
TEST_F(WalkForwardJobTest, PredictionsFromBarsThatEndEarlierAreTheSame) {
    const auto rows_of = [&](int sessions) {
        write_lines(bars(), daily_lines(sessions));
        ThreadPool pool(1);
        trainer::NullProgressSink progress;
        const auto data = trainer::load_market_data(config(), {}, pool, progress, CancellationToken());
        ForecastRows rows;
        rows.meaning = trainer::target_meaning(config());
        rows.matrix = trainer::build_features(config(), data, pool);
        rows.targets = trainer::build_targets(rows.meaning, rows.matrix, data);
        for (std::size_t row = 0; row < rows.matrix.rows(); ++row) {
            rows.known_at.push_back(data.ends.of(rows.matrix.known_at[row]));
            rows.target_end.push_back(rows.targets.valid[row] != 0
                                          ? data.ends.of(rows.targets.outcome_at[row])
                                          : rows.known_at.back());
        }
        return rows;
    };
    const auto predict = [&](const ForecastRows& rows, const Fold& fold) {
        ThreadPool pool(1);
        trainer::NullProgressSink progress;
        return forecast_folds(
            rows, {&fold, 1}, {{0}}, config(),
            [](const mlp::ModelDescription& model, const std::vector<mlp::TrainingSpec>& members, double) {
                return mlp::cpu_population(model, members, 1);
            },
            pool, nullptr, progress, CancellationToken());
    };
    const ForecastRows all = rows_of(140);
    for (const std::size_t row : {55U, 63U, 88U}) {
        const Fold fold{training_rows_before(all.times(), row, 1000), {{row, row + 1}}};
        const ForecastRows truncated = rows_of(static_cast<int>(row) + 51); // 50 sessions fill the look-backs
        ASSERT_EQ(truncated.matrix.rows(), row + 1) << "the row is the last one, with an unknown outcome";
        EXPECT_EQ(truncated.targets.valid[row], 0);
        EXPECT_EQ(training_rows_before(truncated.times(), row, 1000), fold.train);
        const auto early = predict(truncated, fold), late = predict(all, fold);
        EXPECT_EQ(early.blocks[0].networks[0][0].value, late.blocks[0].networks[0][0].value);
        EXPECT_EQ(early.blocks[0].linear, late.blocks[0].linear);
    }
}

} // namespace
} // namespace rekindle::research
