/// Walk-forward and search on bars of several instruments: each keeps its own rows, scaling and reference,
/// and nothing of the future of another one is seen.

#include "../../trainer/run_fixture.h"

#include <rekindle/base/text.h>
#include <rekindle/research/search.h>
#include <rekindle/research/walk_forward.h>

#include <gtest/gtest.h>

#include <map>
#include <sstream>

namespace rekindle::research {
namespace {

using namespace trainer::fixtures;

/// The lines of predictions.csv without the instrument, by instrument.
std::map<std::string, std::vector<std::string>> predictions_by_instrument(const fs::path& folder) {
    std::map<std::string, std::vector<std::string>> lines;
    std::istringstream text(read_file(folder / "predictions.csv"));
    std::string line;
    std::getline(text, line);
    EXPECT_TRUE(line.starts_with("known_at,session,instrument,")) << line;
    while (std::getline(text, line)) {
        const auto fields = split(line, ',');
        const std::size_t name = fields[0].size() + 1 + fields[1].size() + 1;
        lines[std::string(fields[2])].push_back(line.substr(0, name) +
                                                line.substr(name + fields[2].size() + 1));
    }
    return lines;
}

class SeveralWalkForwardTest : public RunTest {
  protected:
    SeveralWalkForwardTest() {
        write_lines(folder_ / "AAA.csv", daily_lines(150, 1));
        write_lines(folder_ / "BBB.csv", daily_lines(140, 2));
    }
    trainer::TrainConfig of(const std::vector<std::string>& files) const {
        trainer::TrainConfig config = RunTest::config();
        config.data.clear();
        for (const std::string& file : files)
            config.data.push_back((folder_ / file).string());
        config.several_instruments = trainer::SeveralInstruments::by_name;
        return config;
    }
    static WalkForwardOptions options(trainer::TrainConfig config) {
        WalkForwardOptions options;
        options.config = std::move(config);
        options.config.population = 2;
        options.rules.folds = 3;
        return options;
    }
    static WalkForwardOutcome job(const WalkForwardOptions& options) {
        trainer::NullProgressSink progress;
        return walk_forward(options, progress, CancellationToken());
    }
    static ForecastRows rows_of(const trainer::TrainConfig& config) {
        ThreadPool pool(2);
        trainer::NullProgressSink progress;
        const auto markets = trainer::load_markets(config, {}, pool, progress, CancellationToken());
        return label_rows(config, markets, pool, progress);
    }
    static Json results_of(const fs::path& folder) { return Json::parse(read_file(folder / "results.json")); }
};

TEST_F(SeveralWalkForwardTest, NamesTheInstrumentOfEachPrediction) {
    const WalkForwardOutcome outcome = job(options(of({"AAA.csv", "BBB.csv"})));
    const auto lines = predictions_by_instrument(outcome.folder);
    ASSERT_EQ(lines.size(), 2u);
    EXPECT_GT(lines.at("AAA").size(), 90u);
    EXPECT_GT(lines.at("BBB").size(), 60u);
    const Json results = results_of(outcome.folder);
    ASSERT_EQ(results.at("instruments").size(), 2u);
    std::size_t rows = 0;
    for (const Json& instrument : results.at("instruments"))
        rows += instrument.at("evaluation").at("rows").get<std::size_t>();
    EXPECT_EQ(rows, results.at("evaluation").at("rows").get<std::size_t>());
    ASSERT_EQ(outcome.instrument_lines.size(), 2u);
    EXPECT_TRUE(outcome.instrument_lines[0].starts_with("AAA: ")) << outcome.instrument_lines[0];
    const std::string page = read_file(outcome.report);
    EXPECT_TRUE(contains(page, "Bars of BBB"));
    EXPECT_TRUE(contains(page, "one in 40"));
}

/// The oracle is walk-forward on one instrument, which shares neither the joining nor the scaling by
/// instrument.
TEST_F(SeveralWalkForwardTest, OneInstrumentGivesWhatItGivesAlone) {
    const WalkForwardOutcome several = job(options(of({"AAA.csv"})));
    trainer::TrainConfig alone = of({"AAA.csv"});
    alone.several_instruments = trainer::SeveralInstruments::no;
    const WalkForwardOutcome one = job(options(alone));
    const auto of_several = predictions_by_instrument(several.folder),
               of_one = predictions_by_instrument(one.folder);
    ASSERT_EQ(of_one.size(), 1u);
    EXPECT_EQ(of_several.at("AAA"), of_one.begin()->second);
}

TEST_F(SeveralWalkForwardTest, NoPredictionSeesTheFutureOfAnyInstrument) {
    const auto before = predictions_by_instrument(job(options(of({"AAA.csv", "BBB.csv"}))).folder);
    auto lines = daily_lines(140, 2);
    const auto other = daily_lines(140, 9);
    std::copy(other.end() - 5, other.end(), lines.end() - 5);
    write_lines(folder_ / "BBB.csv", lines);
    const auto after = predictions_by_instrument(job(options(of({"AAA.csv", "BBB.csv"}))).folder);
    const std::string changed = (lines.end() - 5)->substr(0, 10);
    std::size_t compared = 0;
    for (const char* name : {"AAA", "BBB"}) {
        ASSERT_EQ(before.at(name).size(), after.at(name).size());
        for (std::size_t i = 0; i < before.at(name).size(); ++i) {
            const std::string &was = before.at(name)[i], &is = after.at(name)[i];
            if (was.substr(0, 10) >= changed)
                break;
            const auto prediction = [](const std::string& line) {
                const auto fields = split(line, ',');
                return std::string(fields[0]) + " " + std::string(fields[4]);
            };
            EXPECT_EQ(prediction(was), prediction(is));
            ++compared;
        }
    }
    EXPECT_GT(compared, 100u);
}

TEST_F(SeveralWalkForwardTest, EachInstrumentHasItsOwnScalingInEachFold) {
    for (const auto input : {trainer::InstrumentInput::none, trainer::InstrumentInput::one_hot}) {
        trainer::TrainConfig config = of({"AAA.csv", "BBB.csv"});
        config.instrument_input = input;
        const ForecastRows rows = rows_of(config);
        ASSERT_EQ(rows.instruments, (std::vector<std::string>{"AAA", "BBB"}));
        const std::size_t features = rows.matrix.columns();
        const bool one_hot = input == trainer::InstrumentInput::one_hot;
        ASSERT_EQ(rows.inputs(), features + (one_hot ? 2 : 0));
        EXPECT_EQ(rows.input_names().size(), rows.inputs());
        const Fold fold{{{0, 90}}, {{100, 110}}};
        ThreadPool pool(1);
        const FoldBlock block(rows, {&fold, 1}, pool);
        for (std::size_t i = 0; i < 2; ++i) {
            trainer::TrainConfig alone = of({rows.instruments[i] + ".csv"});
            alone.several_instruments = trainer::SeveralInstruments::no;
            const ForecastRows own = rows_of(alone);
            std::size_t train = 0;
            for (std::size_t row = 0; row < 90; ++row)
                train += rows.matrix.instrument_of(row) == i ? 1 : 0;
            const auto scaler = market::Scaler::fit(own.matrix, {0, train}, own.scaling, pool);
            EXPECT_EQ(block.folds()[0].instruments[i].scaler, scaler);
            std::size_t next = 0;
            for (std::size_t row = 0; row < 90; ++row) {
                if (rows.matrix.instrument_of(row) != i)
                    continue;
                const auto inputs = block.inputs({row, row + 1});
                const auto expected = scaler.transform_row(own.matrix.row(next++));
                for (std::size_t column = 0; column < features; ++column)
                    ASSERT_EQ(inputs[column], expected[column]);
                for (std::size_t column = features; column < inputs.size(); ++column)
                    EXPECT_EQ(inputs[column], column - features == i ? 1.0f : 0.0f);
            }
        }
    }
}

TEST_F(SeveralWalkForwardTest, MayShareOneScaling) {
    trainer::TrainConfig config = of({"AAA.csv", "BBB.csv"});
    config.scale_by = trainer::ScaleBy::all;
    const ForecastRows rows = rows_of(config);
    const Fold fold{{{0, 90}}, {{100, 110}}};
    ThreadPool pool(1);
    const FoldBlock block(rows, {&fold, 1}, pool);
    const auto scaler = market::Scaler::fit(rows.matrix, {0, 90}, rows.scaling, pool);
    for (const FoldInstrument& instrument : block.folds()[0].instruments) {
        EXPECT_EQ(instrument.scaler, scaler);
        EXPECT_EQ(instrument.meaning.scale, block.folds()[0].instruments[0].meaning.scale);
    }
    EXPECT_NE(block.folds()[0].instruments[0].training_mean, block.folds()[0].instruments[1].training_mean);
}

TEST_F(SeveralWalkForwardTest, RefusesAnInstrumentThatBeginsAfterTheFirstWindow) {
    auto lines = daily_lines(260, 2);
    lines.erase(lines.begin() + 1, lines.begin() + 150); // begins when AAA ends
    write_lines(folder_ / "CCC.csv", lines);
    write_lines(folder_ / "DDD.csv", daily_lines(260, 4));
    WalkForwardOptions late = options(of({"CCC.csv", "DDD.csv"}));
    const std::string error = error_of([&] { job(late); });
    EXPECT_TRUE(contains(error, "CCC")) << error;
    EXPECT_TRUE(contains(error, "--scale-by all")) << error;
    late.config.scale_by = trainer::ScaleBy::all;
    EXPECT_FALSE(job(late).verdict.empty());
}

TEST_F(SeveralWalkForwardTest, ResumesAFinishedJobAndOpensTheFinalPart) {
    const WalkForwardOutcome first = job(options(of({"AAA.csv", "BBB.csv"})));
    WalkForwardOptions again;
    again.config.resume_from_checkpoint = first.folder.string();
    again.given = {"resume_from_checkpoint"};
    again.open_final = true;
    const auto before = predictions_by_instrument(first.folder);
    const auto after = predictions_by_instrument(job(again).folder);
    for (const char* name : {"AAA", "BBB"}) {
        ASSERT_GT(after.at(name).size(), before.at(name).size());
        EXPECT_TRUE(std::equal(before.at(name).begin(), before.at(name).end(), after.at(name).begin()));
    }
}

TEST_F(SeveralWalkForwardTest, CountsTheEmbargoPerInstrument) {
    // Two instruments with rows at the same times; each target is known at the next time.
    std::vector<std::int64_t> known, ends;
    std::vector<std::uint16_t> instrument;
    for (std::int64_t time = 0; time < 20; ++time)
        for (std::uint16_t i = 0; i < 2; ++i) {
            known.push_back(time);
            ends.push_back(time + 1);
            instrument.push_back(i);
        }
    const std::vector<std::uint8_t> trainable(known.size(), 1);
    const auto folds = combinatorial_folds({known, ends, trainable, instrument}, known.size(), {4, 1, 3, 0});
    const Fold& first = folds.folds.front(); // predicts times 0 to 4
    EXPECT_EQ(known[first.train.front().begin], 8) << "three times are in the embargo";
    EXPECT_EQ(rows_in(first.train), 2U * 12);
}

TEST_F(SeveralWalkForwardTest, ASearchJudgesOneReturnPerInstant) {
    const auto search_in = [&](trainer::TrainConfig config, std::vector<std::string> vary) {
        SearchOptions options;
        options.config = std::move(config);
        options.rules.vary = std::move(vary);
        options.rules.trials = 4;
        options.rules.folds.folds = 2;
        trainer::NullProgressSink progress;
        return search(options, progress, CancellationToken());
    };
    const std::string rates = "learning-rate=1e-4..1e-2@log";
    const SearchOutcome both =
        search_in(of({"AAA.csv", "BBB.csv"}), {rates, "instrument-input=none|one-hot"});
    trainer::TrainConfig alone = of({"AAA.csv"});
    const SearchOutcome several = search_in(alone, {rates});
    alone.several_instruments = trainer::SeveralInstruments::no;
    const SearchOutcome one = search_in(alone, {rates});
    ASSERT_EQ(both.settings.size(), 4u);
    ASSERT_EQ(several.settings.size(), one.settings.size());
    for (std::size_t t = 0; t < one.settings.size(); ++t) {
        EXPECT_EQ(several.settings[t].loss_saved, one.settings[t].loss_saved);
        EXPECT_EQ(several.settings[t].timing.size(), one.settings[t].timing.size());
        // The units of the folds differ a little.
        EXPECT_NEAR(several.settings[t].timing_ratio, one.settings[t].timing_ratio, 0.01);
        // As many instants as one instrument has rows, not the rows of both.
        EXPECT_LT(both.settings[t].timing.size(), one.settings[t].timing.size() + 20);
    }
}

} // namespace
} // namespace rekindle::research
