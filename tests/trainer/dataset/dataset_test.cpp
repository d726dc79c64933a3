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

/// A source of VIX values that leaves the bars without any, and the part of the message that says why.
struct MissingVix {
    const char* name;
    bool column = false;                ///< the bars have a VIX column
    std::size_t values = 0;             ///< of it, at its end
    std::vector<std::string> file = {}; ///< rows of a VIX file
    std::string reason;
};

const std::vector<MissingVix>& missing_vix() {
    static const std::vector<MissingVix> list{
        {"nothing", false, 0, {}, "the bars have no VIX column and no --vix was given"},
        {"an empty column", true, 0, {}, "the VIX column of the bars has no values"},
        {"a column that begins late",
         true,
         1,
         {},
         "the first value of the VIX column of the bars was published"},
        {"a file that begins late",
         false,
         0,
         {"01/02/2031,15,16,14,15.5"},
         "vix.csv was published after the last bar"},
        {"a file without values",
         false,
         0,
         {"01/02/2020,15,16,14,."},
         "vix.csv: no values follow the header"},
        {"a file of bad rows", false, 0, {"01/02/2020,15,16,14,x"}, "vix.csv has no values"},
        {"a column beside a late file",
         true,
         900,
         {"01/02/2031,15,16,14,15.5"},
         "vix.csv was published after the last bar"},
        {"a column beside a file of bad rows",
         true,
         900,
         {"01/02/2020,15,16,14,x"},
         "vix.csv has no values"}};
    return list;
}

class MissingVixTest : public DatasetTest {
  protected:
    TrainConfig written(const MissingVix& source) const {
        std::vector<std::string> lines = daily_lines(900);
        for (std::size_t i = 0; i < lines.size(); ++i) {
            const std::size_t last = lines[i].rfind(',');
            if (!source.column)
                lines[i].resize(last);
            else if (i > 0 && lines.size() - i > source.values)
                lines[i].resize(last + 1);
        }
        write_lines(bars(), lines);
        TrainConfig config = this->config();
        config.bad_rows = BadRows::skip;
        config.across_sessions = true;
        if (source.file.empty())
            return config;
        config.vix = (folder_ / "vix.csv").string();
        std::vector<std::string> file = source.file;
        file.insert(file.begin(), "DATE,OPEN,HIGH,LOW,CLOSE");
        write_lines(config.vix, file);
        return config;
    }
    /// The messages and the error of a call.
    template <class Call>
    static std::string said_by(Call&& call) {
        Messages messages;
        try {
            call(messages);
        } catch (const Error& error) {
            EXPECT_EQ(error.status(), ExitStatus::usage) << error.render();
            messages.text += error.render();
        }
        return messages.text;
    }
    static void expect_reason(const MissingVix& source, const std::string& text) {
        EXPECT_TRUE(contains(text, source.reason)) << source.name << ": " << text;
        const bool given = source.column || !source.file.empty();
        EXPECT_EQ(contains(text, "no --vix was given"), !given) << source.name << ": " << text;
        EXPECT_FALSE(contains(text, "Provide a VIX file")) << source.name << ": " << text;
    }
};

TEST_F(MissingVixTest, GivenVixIsNotAskedForAgain) {
    for (const MissingVix& source : missing_vix()) {
        TrainConfig config = written(source);
        for (const auto& features : {std::vector<std::string>{"session", "vix"}, {"minute"}}) {
            config.features = features;
            expect_reason(source,
                          said_by([&](Messages& messages) { build(config, load(config), messages); }));
        }
    }
}

// The features of a model, in predict.
TEST_F(MissingVixTest, NamedFeaturesSayWhyToo) {
    for (const MissingVix& source : missing_vix()) {
        const TrainConfig config = written(source);
        for (const auto& [name, by_bar] : {std::pair{"vix_level", false}, {"vix_lagged", true}}) {
            const std::vector<std::string> names{name};
            ThreadPool pool(1);
            expect_reason(source, said_by([&](Messages&) {
                              build_named_features(names, by_bar, config, load(config), pool, {});
                          }));
        }
    }
}

// Bars of a session that is not used have a VIX, the sessions have none.
TEST_F(MissingVixTest, FirstValueAfterTheLastSession) {
    TrainConfig config = written({.name = "late", .column = true, .values = 3, .reason = ""});
    config.features = {"session", "vix"};
    const MarketData data = first(load(config), 897);
    const std::string text = said_by([&](Messages& messages) { build(config, data, messages); });
    EXPECT_TRUE(contains(text, "was published after the last complete session, ")) << text;
}

// ------------------------------------------------------------------------------------------------ flat rows

TEST_F(DatasetTest, FlatRowsAreNoPartOfTheShareOfRises) {
    auto lines = daily_lines(140, 3);
    for (std::size_t i = 3; i < lines.size(); i += 3) // every third session closes where the one before did
        lines[i] = lines[i].substr(0, 10) + lines[i - 1].substr(10);
    write_lines(bars(), lines);
    using Target = market::TargetKind;
    for (const Target target : {Target::next_return, Target::bar_return, Target::direction}) {
        TrainConfig config = this->config();
        config.target = target;
        config.target_bars = 1;
        const Dataset set = build(config, load(config));
        std::vector<double> closes;
        for (std::size_t i = 1; i < lines.size(); ++i) { // the fifth field
            std::size_t at = 0;
            for (int field = 0; field < 4; ++field)
                at = lines[i].find(',', at) + 1;
            closes.push_back(std::stod(lines[i].substr(at)));
        }
        int rises = 0, falls = 0, flat = 0;
        for (std::size_t row = set.split.train_begin; row < set.split.train_end; ++row) {
            const std::size_t session = set.matrix.source[row];
            const double change = closes[session + 1] - closes[session];
            ++(change > 0 ? rises : change < 0 ? falls : flat);
        }
        EXPECT_EQ(flat > 0, target != Target::direction) << name_of(target);
        EXPECT_GT(rises, 0);
        EXPECT_EQ(set.training_share_up, static_cast<double>(rises) / (rises + falls)) << name_of(target);
    }
}

} // namespace
} // namespace rekindle::trainer
