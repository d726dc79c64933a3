/// One data set of several instruments: each keeps the rows that it has on its own, all are split at one
/// time, and the arrangement of the files does not matter.

#include "../run_fixture.h"

#include <rekindle/market/labeled_rows.h>
#include <rekindle/trainer/dataset.h>

#include <cmath>
#include <map>
#include <optional>

namespace rekindle::trainer {
namespace {

using namespace fixtures;

/// Daily lines with a column that names the instrument.
std::vector<std::string> lines_of(const std::string& name, std::uint64_t seed, int sessions) {
    auto lines = daily_lines(sessions, seed);
    for (std::string& line : lines)
        line += &line == &lines.front() ? ",Symbol" : "," + name;
    return lines;
}

class SeveralInstrumentsTest : public RunTest {
  protected:
    SeveralInstrumentsTest() {
        write_lines(folder_ / "AAA.csv", daily_lines(140, 1));
        write_lines(folder_ / "BBB.csv", daily_lines(130, 2));
        write_lines(folder_ / "joint.csv", joint(140, 130));
    }

    static std::vector<std::string> joint(int a, int b) {
        auto lines = lines_of("AAA", 1, a);
        const auto more = lines_of("BBB", 2, b);
        lines.insert(lines.end(), more.begin() + 1, more.end());
        std::stable_sort(lines.begin() + 1, lines.end(),
                         [](const std::string& one, const std::string& other) {
                             return one.substr(0, 10) < other.substr(0, 10);
                         });
        return lines;
    }
    TrainConfig of(std::vector<std::string> files) const {
        TrainConfig config = RunTest::config();
        config.data.clear();
        for (const std::string& file : files)
            config.data.push_back((folder_ / file).string());
        config.several_instruments = SeveralInstruments::by_name;
        return config;
    }
    static std::vector<MarketData> load(const TrainConfig& config) {
        ThreadPool pool(2);
        NullProgressSink progress;
        return load_markets(config, {}, pool, progress, CancellationToken());
    }
    static std::vector<market::LabeledRows> rows(const TrainConfig& config) {
        ThreadPool pool(2);
        NullProgressSink progress;
        return build_rows(config, load(config), pool, progress);
    }
    static Dataset build(const TrainConfig& config) {
        ThreadPool pool(2);
        NullProgressSink progress;
        return build_dataset(config, load(config), pool, progress);
    }
    static Messages messages_of(const TrainConfig& config) {
        ThreadPool pool(2);
        Messages progress;
        build_dataset(config, load_markets(config, {}, pool, progress, CancellationToken()), pool, progress);
        return progress;
    }
};

/// Bars of this many minutes on two days, in UTC.
std::vector<std::string> intraday_lines(int minutes) {
    std::vector<std::string> lines{"timestamp,open,high,low,close,volume"};
    for (const int day : {14, 15})
        for (int minute = 0; minute < 360; minute += minutes) {
            char line[96];
            std::snprintf(line, sizeof line, "2024-03-%02dT%02d:%02d:00Z,100,101,99,100.5,10", day,
                          14 + minute / 60, minute % 60);
            lines.emplace_back(line);
        }
    return lines;
}

void expect_same_rows(const market::LabeledRows& a, const market::LabeledRows& b, std::size_t count) {
    EXPECT_EQ(a.matrix.names, b.matrix.names);
    ASSERT_LE(count, a.rows());
    ASSERT_LE(count, b.rows());
    for (std::size_t row = 0; row < count; ++row) {
        ASSERT_EQ(a.known[row], b.known[row]);
        ASSERT_EQ(a.outcome_known[row], b.outcome_known[row]);
        ASSERT_EQ(a.previous[row], b.previous[row]);
        ASSERT_EQ(a.targets.values[row], b.targets.values[row]);
        ASSERT_EQ(a.matrix.dates[row], b.matrix.dates[row]);
        for (std::size_t column = 0; column < a.matrix.columns(); ++column)
            ASSERT_EQ(a.matrix.at(row, column), b.matrix.at(row, column)) << a.matrix.names[column];
    }
}

TEST_F(SeveralInstrumentsTest, EachHasTheRowsThatItHasAlone) {
    for (const auto kind : {market::TargetKind::next_return, market::TargetKind::direction}) {
        TrainConfig config = of({"AAA.csv", "BBB.csv"});
        config.target = kind;
        const auto together = rows(config);
        ASSERT_EQ(together.size(), 2u);
        for (const auto& [i, file] : std::map<std::size_t, std::string>{{0, "AAA.csv"}, {1, "BBB.csv"}}) {
            config.data = {(folder_ / file).string()};
            config.several_instruments = SeveralInstruments::no;
            const auto alone = rows(config);
            ASSERT_EQ(alone.front().rows(), together[i].rows());
            expect_same_rows(alone.front(), together[i], alone.front().rows());
        }
    }
}

TEST_F(SeveralInstrumentsTest, AColumnWithTheInstrumentEqualsTwoFiles) {
    const Dataset joint = build(of({"joint.csv"}));
    const std::vector<std::vector<std::string>> orders{{"AAA.csv", "BBB.csv"}, {"BBB.csv", "AAA.csv"}};
    for (const auto& files : orders) {
        const Dataset two = build(of(files));
        EXPECT_EQ(two.rows->inputs, joint.rows->inputs);
        EXPECT_EQ(two.rows->targets, joint.rows->targets);
        EXPECT_EQ(two.matrix.instrument, joint.matrix.instrument);
        EXPECT_EQ(two.known, joint.known);
        EXPECT_EQ(two.split, joint.split);
        for (std::size_t i = 0; i < 2; ++i)
            EXPECT_EQ(two.instruments[i].scaler, joint.instruments[i].scaler);
    }
}

/// If all files are cut at some time, every row that is known by then stays bit-identical.
TEST_F(SeveralInstrumentsTest, NoRowSeesTheFutureOfAnyInstrument) {
    const auto whole = rows(of({"joint.csv"}));
    for (const int sessions : {70, 81, 109}) {
        write_lines(folder_ / "joint.csv", joint(sessions, sessions));
        const auto part = rows(of({"joint.csv"}));
        for (std::size_t i = 0; i < 2; ++i) {
            ASSERT_GT(part[i].rows(), 10u);
            expect_same_rows(part[i], whole[i], part[i].rows());
            EXPECT_GT(whole[i].outcome_known[part[i].rows()], part[i].outcome_known[part[i].rows() - 1]);
        }
    }
}

TEST_F(SeveralInstrumentsTest, AreSplitAtOneTimeWithAPurgeForEach) {
    for (const std::int64_t ahead : {1, 5})
        for (const std::int64_t purge : {0, 7}) {
            TrainConfig config = of({"joint.csv"});
            config.target = market::TargetKind::bar_return;
            config.target_bars = ahead;
            config.purge = purge;
            config.embargo = 2;
            const Dataset set = build(config);
            const auto parts = rows(config);
            const market::Split& split = set.split;
            std::int64_t border = std::numeric_limits<std::int64_t>::max();
            for (std::size_t row = split.validation_begin; row < split.validation_end; ++row)
                border = std::min(border, set.known[row]);
            for (std::size_t row = split.train_begin; row < split.train_end; ++row)
                EXPECT_LT(set.outcome_known[row], border);
            std::size_t rows_in_all = 0;
            for (std::size_t i = 0; i < 2; ++i) {
                std::size_t train = 0, validation = 0;
                for (std::size_t row = 0; row < set.matrix.rows(); ++row)
                    if (set.matrix.instrument_of(row) == i) {
                        train += row < split.train_end;
                        validation += row >= split.validation_begin;
                    }
                EXPECT_EQ(set.instruments[i].training_rows, train);
                EXPECT_EQ(set.instruments[i].validation_rows, validation);
                EXPECT_EQ(parts[i].rows() - train - validation,
                          static_cast<std::size_t>(std::max(ahead, purge) + 2));
                rows_in_all += parts[i].rows();
            }
            EXPECT_EQ(set.matrix.rows(), rows_in_all);
            for (std::size_t row = 1; row < split.train_end; ++row)
                EXPECT_LE(set.known[row - 1], set.known[row]);
        }
}

TEST_F(SeveralInstrumentsTest, EachIsScaledByItsOwnTrainingRows) {
    const TrainConfig config = of({"joint.csv"});
    const Dataset set = build(config);
    const auto parts = rows(config);
    ThreadPool pool(1);
    for (std::size_t i = 0; i < 2; ++i) {
        const std::size_t train = set.instruments[i].training_rows;
        const auto scaler = market::Scaler::fit(parts[i].matrix, {0, train}, config.scaler, pool);
        EXPECT_EQ(set.instruments[i].scaler, scaler);
        double sum = 0, squares = 0;
        for (std::size_t row = 0; row < train; ++row)
            sum += parts[i].targets.values[row];
        for (std::size_t row = 0; row < train; ++row)
            squares += std::pow(parts[i].targets.values[row] - sum / static_cast<double>(train), 2);
        EXPECT_NEAR(set.instruments[i].target_scale, std::sqrt(squares / static_cast<double>(train)), 1e-9);
        std::size_t own = 0;
        for (std::size_t row = 0; row < set.split.train_end; ++row) {
            if (set.matrix.instrument_of(row) != i)
                continue;
            const auto scaled = scaler.transform_row(parts[i].matrix.row(own));
            for (std::size_t column = 0; column < scaled.size(); ++column)
                ASSERT_EQ(set.rows->inputs[row * set.matrix.columns() + column], scaled[column]);
            EXPECT_FLOAT_EQ(set.rows->targets[row], static_cast<float>(parts[i].targets.values[own] /
                                                                       set.instruments[i].target_scale));
            ++own;
        }
    }
}

TEST_F(SeveralInstrumentsTest, MayShareOneScaling) {
    TrainConfig config = of({"joint.csv"});
    config.scale_by = ScaleBy::all;
    const Dataset set = build(config);
    EXPECT_EQ(set.scaler.rows, set.split.train_end);
    for (const DatasetInstrument& instrument : set.instruments) {
        EXPECT_TRUE(instrument.scaler.features.empty());
        EXPECT_EQ(instrument.target_scale, set.meaning.scale);
    }
}

TEST_F(SeveralInstrumentsTest, MayTellTheNetworkWhichOne) {
    TrainConfig config = of({"joint.csv"});
    const Dataset plain = build(config);
    config.instrument_input = InstrumentInput::one_hot;
    const Dataset set = build(config);
    const std::size_t features = plain.matrix.columns();
    ASSERT_EQ(set.matrix.columns(), features + 2);
    EXPECT_EQ(set.matrix.names[features], "instrument AAA");
    EXPECT_EQ(set.matrix.names[features + 1], "instrument BBB");
    for (std::size_t row = 0; row < set.matrix.rows(); ++row) {
        const float* inputs = set.rows->inputs.data() + row * (features + 2);
        for (std::size_t column = 0; column < features; ++column)
            ASSERT_EQ(inputs[column], plain.rows->inputs[row * features + column]);
        EXPECT_EQ(inputs[features], set.matrix.instrument_of(row) == 0 ? 1.0f : 0.0f);
        EXPECT_EQ(inputs[features + 1], set.matrix.instrument_of(row) == 1 ? 1.0f : 0.0f);
    }
}

TEST_F(SeveralInstrumentsTest, EachMayHaveTheHoursOfItsOwnName) {
    write_lines(folder_ / "ES 03-24.csv", intraday_lines(1));
    write_lines(folder_ / "FGBL 03-24.csv", intraday_lines(1));
    write_lines(folder_ / "AAPL.csv", intraday_lines(1));
    TrainConfig config = of({"ES 03-24.csv", "FGBL 03-24.csv", "AAPL.csv"});
    config.several_instruments = SeveralInstruments::by_root;
    config.clock = market::Clock::utc;
    EXPECT_EQ(infer_instrument(config, {}), "");
    EXPECT_EQ(config.instrument, "each");
    const auto markets = load(config);
    ASSERT_EQ(markets.size(), 3u);
    for (const auto& [i, symbol] : {std::pair(1, "ES"), {2, "FGBL"}}) {
        TrainConfig alone = config;
        alone.several_instruments = SeveralInstruments::no;
        alone.instrument = symbol;
        std::set<std::string> given;
        apply_instrument(alone, given);
        EXPECT_EQ(markets[i].symbol, symbol);
        EXPECT_EQ(hours_text(markets[i].session_rules),
                  i == 1 ? "trading days that begin at 18:00, regular hours 09:30-16:00 (America/New_York)"
                         : hours_text(session_rules(alone)));
    }
    EXPECT_TRUE(contains(hours_text(markets[2].session_rules), "Europe/Berlin"));
    EXPECT_EQ(markets[0].symbol, "");
    EXPECT_EQ(hours_text(markets[0].session_rules),
              "trading days that begin at 18:00, regular hours 09:30-16:00 (America/New_York)");

    config.instrument = "AAPL=CRYPTO,FGBL=none";
    const auto given = load(config);
    EXPECT_EQ(given[0].symbol, "CRYPTO");
    EXPECT_TRUE(contains(hours_text(given[0].session_rules), "UTC"));
    EXPECT_EQ(given[1].symbol, "ES");
    EXPECT_EQ(given[2].symbol, "");
    config.instrument = "MSFT=CRYPTO";
    EXPECT_TRUE(contains(error_of([&] { load(config); }), "does not give the symbol of an instrument"));
    config.instrument = "AAPL=XYZ";
    EXPECT_TRUE(contains(error_of([&] { load(config); }), "XYZ"));
    config.instrument = "auto";
    EXPECT_TRUE(contains(infer_instrument(config, {"zone"}), "given ones for all instruments"));
    EXPECT_EQ(config.instrument, "none");
}

TEST_F(SeveralInstrumentsTest, MayEachHaveItsTick) {
    auto lines = daily_lines(120, 3);
    for (std::string& line : lines) // 0.01 above a multiple of 0.25
        for (const char* quarter : {".00,", ".25,", ".50,", ".75,"})
            for (auto at = line.find(quarter, 10); &line != &lines.front() && at != std::string::npos;
                 at = line.find(quarter, at + 1))
                line[at + 2] = static_cast<char>(line[at + 2] + 1);
    write_lines(folder_ / "CCC.csv", lines);
    const auto markets = load(of({"AAA.csv", "CCC.csv"}));
    EXPECT_EQ(markets[0].read.report.tick.points, 0.25);
    EXPECT_EQ(markets[1].read.report.tick.points, 0.01);
    TrainConfig config = of({"AAA.csv", "CCC.csv"});
    config.tick = "CCC=0.005";
    const auto given = load(config);
    EXPECT_EQ(given[0].read.report.tick.points, 0.25);
    EXPECT_EQ(given[1].read.report.tick.points, 0.005);
    config.tick = "0.25";
    EXPECT_TRUE(contains(error_of([&] { load(config); }), "CCC: "));
    config.tick = "DDD=0.25";
    EXPECT_TRUE(contains(error_of([&] { load(config); }), "NAME=SIZE with one of the names AAA, CCC"));
}

/// Contracts of two roots in one file: each root rolls among its own contracts only.
TEST_F(SeveralInstrumentsTest, ContractsOfTwoRootsAreNeverChained) {
    const auto contract_lines = [](const std::string& root, std::uint64_t seed) {
        auto lines = daily_lines(140, seed);
        for (std::size_t i = 0; i < lines.size(); ++i)
            lines[i] += i == 0 ? ",Symbol" : "," + root + (i <= 70 ? "H5" : "M5");
        return lines;
    };
    auto both = contract_lines("ES", 1);
    const auto other = contract_lines("NQ", 2);
    write_lines(folder_ / "es.csv", both);
    write_lines(folder_ / "nq.csv", other);
    both.insert(both.end(), other.begin() + 1, other.end());
    write_lines(folder_ / "roots.csv", both);

    TrainConfig config = of({"roots.csv"});
    config.several_instruments = SeveralInstruments::by_root;
    const auto markets = load(config);
    ASSERT_EQ(markets.size(), 2u);
    EXPECT_EQ(markets[0].instrument, "ES");
    EXPECT_EQ(markets[1].instrument, "NQ");
    for (const MarketData& data : markets) {
        const auto& names = data.read.bars.metadata().contracts;
        EXPECT_EQ(names, (std::vector<std::string>{data.instrument + "H5", data.instrument + "M5"}));
        ASSERT_EQ(data.plan.rolls.size(), 1u);
        EXPECT_EQ(names[data.plan.rolls[0].from], data.instrument + "H5");
        EXPECT_EQ(names[data.plan.rolls[0].to], data.instrument + "M5");
    }
    const Dataset joint = build(config);
    config.data = {(folder_ / "nq.csv").string(), (folder_ / "es.csv").string()};
    EXPECT_EQ(build(config).rows->inputs, joint.rows->inputs);

    config.data = {(folder_ / "roots.csv").string()};
    config.several_instruments = SeveralInstruments::no;
    const std::string error = error_of([&] { load(config); });
    EXPECT_TRUE(contains(error, "different instruments")) << error;
    EXPECT_TRUE(contains(error, "--several-instruments")) << error;
    config.several_instruments = SeveralInstruments::by_name;
    EXPECT_EQ(load(config).size(), 4u);
}

TEST_F(SeveralInstrumentsTest, AreChosenByContract) {
    TrainConfig config = of({"joint.csv"});
    config.contract = "BBB";
    EXPECT_EQ(load(config).size(), 1u);
    config.contract = "BBB, AAA";
    EXPECT_EQ(load(config).size(), 2u);
    config.contract = "CCC";
    EXPECT_TRUE(contains(error_of([&] { load(config); }), "the beginning of one of: AAA, BBB"));
}

TEST_F(SeveralInstrumentsTest, WrongUseIsExplained) {
    write_lines(folder_ / "bars.csv", daily_lines(120));
    EXPECT_TRUE(contains(error_of([&] {
                             load(of({"AAA.csv", "bars.csv"}));
                         }),
                         "neither the bars nor the name of this file say which instrument it holds"));

    write_lines(folder_ / "DDD.csv", daily_lines(8, 4));
    const std::string few = error_of([&] { build(of({"AAA.csv", "DDD.csv"})); });
    EXPECT_TRUE(contains(few, "DDD")) << few;
    EXPECT_TRUE(contains(few, "--contract")) << few;

    fs::copy(minute_bars(), folder_ / "EEE.csv");
    TrainConfig config = of({"AAA.csv", "EEE.csv"});
    config.several_instruments = SeveralInstruments::by_root;
    const std::string lengths = error_of([&] { load(config); });
    EXPECT_TRUE(contains(lengths, "shorter")) << lengths;

    write_lines(folder_ / "HHH.csv", intraday_lines(1));
    write_lines(folder_ / "III.csv", intraday_lines(5));
    EXPECT_TRUE(contains(error_of([&] {
                             load(of({"HHH.csv", "III.csv"}));
                         }),
                         "HHH has bars of 1 minute, III has bars of 5 minutes"));

    // All of an instrument's rows are after the split.
    auto late = daily_lines(160, 5);
    late.erase(late.begin() + 1, late.begin() + 121);
    write_lines(folder_ / "FFF.csv", late);
    config = of({"AAA.csv", "FFF.csv"});
    config.features = {"calendar"};
    config.train_split = 0.5;
    const std::string after = error_of([&] { build(config); });
    EXPECT_TRUE(contains(after, "FFF: only 0 rows before the split at")) << after;
    EXPECT_TRUE(contains(after, "--scale-by all")) << after;
    config.scale_by = ScaleBy::all;
    EXPECT_EQ(build(config).instruments[1].training_rows, 0u);
}

TEST_F(SeveralInstrumentsTest, FeaturesThatOneLacksAreOmittedForAll) {
    auto lines = daily_lines(120, 6);
    for (std::string& line : lines)
        line = line.substr(0, line.rfind(',')); // no VIX
    for (std::string& line : lines)
        if (&line != &lines.front())
            line = line.substr(0, line.rfind(',')) + ",0"; // no volume
    write_lines(folder_ / "GGG.csv", lines);
    const TrainConfig config = of({"AAA.csv", "GGG.csv"});
    const Dataset set = build(config);
    EXPECT_LT(set.matrix.columns(), build(of({"AAA.csv", "BBB.csv"})).matrix.columns());
    EXPECT_TRUE(contains(messages_of(config).text, "is omitted: GGG does not have it"));
    TrainConfig alone = config;
    alone.data = {(folder_ / "GGG.csv").string()};
    EXPECT_EQ(build(alone).matrix.names, set.matrix.names);
}

TEST_F(SeveralInstrumentsTest, ChunksChangeNothing) {
    TrainConfig config = of({"joint.csv"});
    const Dataset whole = build(config);
    config.chunk_size = 17;
    ThreadPool pool(2);
    NullProgressSink progress;
    const auto markets = load_markets(config, folder_ / "bars.columns", pool, progress, CancellationToken());
    const Dataset chunked =
        build_dataset(config, markets, pool, progress, workspace_of(config, folder_.path()));
    EXPECT_EQ(chunked.rows->inputs, whole.rows->inputs);
    EXPECT_EQ(chunked.rows->targets, whole.rows->targets);
}

} // namespace
} // namespace rekindle::trainer
