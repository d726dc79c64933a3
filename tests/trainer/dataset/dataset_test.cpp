/// Which rows are trained on: more data never makes a job impossible, and no target reaches too far.

#include "../run_fixture.h"

#include <rekindle/trainer/dataset.h>

#include <set>

namespace rekindle::trainer {
namespace {

using namespace fixtures;

class DatasetTest : public RunTest {
  protected:
    static MarketData load(const TrainConfig& config) {
        ThreadPool pool(1);
        NullProgressSink progress;
        return load_market_data(config, {}, pool, progress, CancellationToken());
    }
    static Dataset build(const TrainConfig& config, const MarketData& data, ProgressSink& progress) {
        ThreadPool pool(1);
        return build_dataset(config, data, pool, progress);
    }
    static Dataset build(const TrainConfig& config, const MarketData& data) {
        NullProgressSink progress;
        return build(config, data, progress);
    }
    /// The same data, cut off after `sessions` sessions.
    static MarketData first(const MarketData& data, std::size_t sessions) {
        MarketData part = data;
        part.plan.sessions.resize(sessions);
        part.summaries.resize(sessions);
        return part;
    }
    static bool trains(const TrainConfig& config, const MarketData& data) {
        try {
            const Dataset set = build(config, data);
            EXPECT_GE(set.validation().count, 1u);
            EXPECT_GE(set.train().count, 1u);
            return true;
        } catch (const Error& error) {
            EXPECT_EQ(error.status(), ExitStatus::usage) << error.render();
            return false;
        }
    }
};

struct Setting {
    const char* name;
    std::function<void(TrainConfig&)> change;
};

const std::vector<Setting>& settings() {
    static const std::vector<Setting> list{
        {"the defaults", [](TrainConfig&) {}},
        {"direction", [](TrainConfig& c) { c.target = market::TargetKind::direction; }},
        {"seven sessions ahead",
         [](TrainConfig& c) {
             c.target = market::TargetKind::bar_return;
             c.target_bars = 7;
         }},
        {"purge and embargo",
         [](TrainConfig& c) {
             c.purge = 6;
             c.embargo = 4;
         }},
        {"a small training part", [](TrainConfig& c) { c.train_split = 0.2; }},
        {"a small validation part", [](TrainConfig& c) { c.train_split = 0.97; }},
        {"all groups",
         [](TrainConfig& c) { c.features = {"session", "vix", "returns", "gap", "calendar", "naked-poc"}; }},
        {"look-backs alone", [](TrainConfig& c) { c.features = {"returns"}; }},
        {"the original", [](TrainConfig& c) { c.compat = Compat::original; }},
    };
    return list;
}

TEST_F(DatasetTest, MoreSessionsNeverFailWhereFewerWork) {
    for (const Setting& setting : settings()) {
        for (const int flat : {0, 3}) { // every third session closes where the one before did
            auto lines = daily_lines(140, 3);
            for (std::size_t i = 2; flat > 0 && i < lines.size(); i += static_cast<std::size_t>(flat))
                lines[i] = lines[i].substr(0, 10) + lines[i - 1].substr(10);
            write_lines(bars(), lines);
            TrainConfig config = this->config();
            setting.change(config);
            const MarketData all = load(config);
            std::size_t least = 0;
            for (std::size_t sessions = 1; sessions <= all.summaries.size(); ++sessions) {
                const bool works = trains(config, first(all, sessions));
                EXPECT_TRUE(works || least == 0)
                    << setting.name << ": " << least << " sessions train, " << sessions << " do not";
                if (works && least == 0)
                    least = sessions;
            }
            EXPECT_GT(least, 0u) << setting.name;
            EXPECT_LE(least, 100u) << setting.name;
        }
    }
}

TEST_F(DatasetTest, OmittedFeaturesAreReported) {
    write_lines(bars(), daily_lines(51));
    const MarketData data = load(config());
    Messages messages;
    const Dataset set = build(config(), data, messages);
    EXPECT_TRUE(contains(messages.text, "the features over 50 sessions are omitted")) << messages.text;
    EXPECT_FALSE(contains(messages.text, "over 20 sessions")) << messages.text;
    EXPECT_EQ(set.matrix.columns(), 44u);
    EXPECT_EQ(build(config(), first(data, 50)).matrix.columns(), 44u);
}

TEST_F(DatasetTest, EnoughDataUsesEveryLookBack) {
    write_lines(bars(), daily_lines(61));
    EXPECT_EQ(build(config(), load(config())).matrix.columns(), 54u);
}

TEST_F(DatasetTest, LateVixDoesNotRemoveRows) {
    TrainConfig config = this->config();
    config.data = {minute_bars().string()};
    config.clock = market::Clock::utc;
    config.features = {"minute"};
    config.data_fraction = 0.1;
    config.target = market::TargetKind::bar_return;
    const MarketData whole = load(config);
    const std::size_t rows = whole.read.bars.size();
    ASSERT_FALSE(whole.read.bars.columns().vix.empty());
    for (const std::size_t known : {std::size_t{0}, std::size_t{1}, std::size_t{8}, std::size_t{40}, rows}) {
        std::vector<float> vix(rows, std::numeric_limits<float>::quiet_NaN());
        std::fill(vix.end() - static_cast<std::ptrdiff_t>(known), vix.end(), 20.0f);
        MarketData data = whole;
        market::BarColumns columns = whole.read.bars.columns();
        columns.vix = vix;
        data.read.bars = market::BarTable(columns, whole.read.bars.metadata(),
                                          std::make_shared<market::BarTable>(whole.read.bars));
        EXPECT_TRUE(trains(config, data)) << known << " bars with a VIX";
    }
}

// ------------------------------------------------------------------------------------------- session ends

TEST_F(DatasetTest, TargetsOfBarsStayWithinTheirSession) {
    TrainConfig config = this->config();
    config.data = {minute_bars().string()};
    config.clock = market::Clock::utc;
    config.features = {"minute"};
    config.data_fraction = 0.1;
    const MarketData data = load(config);
    const auto session_of = [&](std::size_t bar) {
        std::size_t s = 0;
        while (bar >= data.plan.sessions[s].first + data.plan.sessions[s].count)
            ++s;
        return s;
    };
    using Target = market::TargetKind;
    for (const Target target : {Target::next_return, Target::direction, Target::bar_return}) {
        config.target = target;
        config.target_bars = 30;
        const std::size_t ahead = target == Target::next_return ? 1 : 30;
        config.across_sessions = false;
        const Dataset within = build(config, data);
        for (const std::size_t bar : within.matrix.source)
            ASSERT_EQ(session_of(bar), session_of(bar + ahead)) << name_of(target);
        config.across_sessions = true;
        EXPECT_GT(build(config, data).matrix.rows(), within.matrix.rows()) << name_of(target);
        EXPECT_TRUE(contains(within.meaning.text(), " of the session, ")) << within.meaning.text();
    }
}

TEST_F(DatasetTest, OneBarSessionsAreExplained) {
    write_lines(bars(), daily_lines(900));
    TrainConfig config = this->config();
    config.features = {"minute"};
    const MarketData data = load(config);
    const std::string error = error_of([&] { build(config, data); });
    EXPECT_TRUE(contains(error, "--across-sessions")) << error;
    config.across_sessions = true;
    EXPECT_TRUE(trains(config, data));
}

// ------------------------------------------------------------------------------------------------------- VIX

TEST_F(DatasetTest, GivenVixIsNotAskedForAgain) {
    std::vector<std::string> lines = daily_lines(90);
    for (std::string& line : lines)
        line.resize(line.rfind(','));
    write_lines(bars(), lines);
    TrainConfig config = this->config();
    config.features = {"session", "vix"};
    const std::string none = error_of([&] { build(config, load(config)); });
    EXPECT_TRUE(contains(none, "no --vix was given")) << none;

    config.vix = (folder_ / "vix.csv").string();
    write_lines(config.vix,
                {"DATE,OPEN,HIGH,LOW,CLOSE", "01/02/2031,15,16,14,15.5", "01/03/2031,15,16,14,15.5"});
    const std::string late = error_of([&] { build(config, load(config)); });
    EXPECT_TRUE(contains(late, config.vix)) << late;
    EXPECT_TRUE(contains(late, "published after the last bar")) << late;
}

} // namespace
} // namespace rekindle::trainer
