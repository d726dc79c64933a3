/// How a file writes its timestamps belongs to the file: a model predicts the same from the same bars,
/// however they are stamped.

#include "../run_fixture.h"

#include <rekindle/market/clock.h>
#include <rekindle/trainer/predict.h>

namespace rekindle::trainer {
namespace {

using namespace fixtures;

/// One way to write the timestamps of bars, and the options that say so.
struct Writing {
    std::string name;
    const char* zone; ///< of the timestamps
    market::StampAt at;
    std::set<std::string> given;
};

class PredictFileTest : public RunTest {
  protected:
    TrainConfig utc_config() const {
        TrainConfig settings = config();
        settings.data = {minute_bars().string()};
        settings.clock = market::Clock::utc;
        settings.epochs = 1;
        return settings;
    }
    /// The simulated bars, which have UTC timestamps at the end of bars, written in another way. Without the
    /// VIX, whose dates are those of the timestamps as written.
    std::string written(const Writing& writing) const {
        const auto zone = market::ZoneClock::load(writing.zone);
        const std::string text = read_file(minute_bars());
        std::string result;
        for (std::size_t at = 0; at < text.size();) {
            const std::size_t end = text.find('\n', at);
            std::int32_t date = 0;
            std::string line = text.substr(at, end - at);
            if (line.size() > 19 && market::parse_date(line.substr(0, 10), date)) {
                const std::int64_t time = std::int64_t{date} * 86'400 + std::stoi(line.substr(11, 2)) * 3600 +
                                          std::stoi(line.substr(14, 2)) * 60 + std::stoi(line.substr(17, 2));
                const std::int64_t stamp = time - (writing.at == market::StampAt::bar_start ? 60 : 0);
                line.replace(0, 19, market::format_civil(zone.to_local(stamp)));
                line.resize(line.rfind(',') + 1);
            }
            result += line + "\n";
            at = end + 1;
        }
        const fs::path file = folder_ / (writing.name + ".csv");
        write_file_atomically(file, result);
        return file.string();
    }
    static Prediction predict_with(const fs::path& model, const TrainConfig& input,
                                   const std::set<std::string>& given) {
        NullProgressSink progress;
        return predict({model, input, given, {}, false}, progress, CancellationToken());
    }
};

TEST_F(PredictFileTest, TheSameBarsPredictTheSameHoweverTheyAreStamped) {
    TrainConfig sessions = utc_config();
    sessions.data = {written({"UTC", "UTC", market::StampAt::bar_end, {}})};
    TrainConfig bars = sessions;
    sessions.session = market::SessionHours::rth;
    bars.features = {"minute"};
    bars.data_fraction = 0.05;
    bars.batch_size = 256;
    for (const TrainConfig& trained : {sessions, bars}) {
        const fs::path model = run(trained).run_folder;
        TrainConfig input;
        input.data = sessions.data;
        const Prediction expected = predict_with(model, input, {"data"});
        using At = market::StampAt;
        for (const Writing& writing :
             {Writing{"start", "UTC", At::bar_start, {"stamp"}},
              {"New York", "America/New_York", At::bar_end, {"clock"}},
              {"Chicago, start", "America/Chicago", At::bar_start, {"clock", "stamp", "stamp_zone"}},
              {"Berlin", "Europe/Berlin", At::bar_end, {"clock", "stamp_zone"}}}) {
            SCOPED_TRACE(writing.name);
            input.data = {written(writing)};
            input.clock = writing.given.contains("clock") ? market::Clock::exchange : market::Clock::utc;
            input.stamp = writing.at;
            input.stamp_zone = writing.given.contains("stamp_zone") ? writing.zone : "";
            std::set<std::string> given = writing.given;
            given.insert("data");
            const Prediction prediction = predict_with(model, input, given);
            EXPECT_EQ(prediction.value, expected.value);
            EXPECT_EQ(prediction.price, expected.price);
            EXPECT_EQ(prediction.from_session, expected.from_session);
            EXPECT_EQ(prediction.from_timestamp, expected.from_timestamp);
            EXPECT_EQ(prediction.data_end, expected.data_end);
        }
    }
}

TEST_F(PredictFileTest, TheWayBackFromALocalFileWorksToo) {
    TrainConfig trained = utc_config();
    trained.data = {written({"Chicago", "America/Chicago", market::StampAt::bar_start, {}})};
    trained.clock = market::Clock::exchange;
    trained.stamp_zone = "America/Chicago";
    trained.stamp = market::StampAt::bar_start;
    const fs::path model = run(trained).run_folder;
    TrainConfig input;
    input.data = trained.data;
    const Prediction expected = predict_with(model, input, {"data"}); // the model's own file by default
    input.data = {written({"UTC", "UTC", market::StampAt::bar_end, {}})};
    const Prediction prediction = predict_with(model, input, {"data", "clock", "stamp"});
    EXPECT_EQ(prediction.value, expected.value);
    EXPECT_EQ(prediction.from_timestamp, expected.from_timestamp);
}

TEST_F(PredictFileTest, WhatCutsSessionsIsTheModels) {
    const fs::path model = run(utc_config()).run_folder;
    const auto refusal = [&](const std::set<std::string>& given, auto&& change) {
        TrainConfig input;
        input.data = {minute_bars().string()};
        change(input);
        return error_of([&] { predict_with(model, input, given); });
    };
    const std::string zone = refusal({"zone", "data"}, [](TrainConfig& c) { c.zone = "Asia/Tokyo"; });
    EXPECT_TRUE(contains(zone, "trained with zone")) << zone;
    EXPECT_TRUE(contains(zone, "--clock exchange --stamp-zone ZONE")) << zone;
    const std::string raw = refusal({"clock", "data"}, [](TrainConfig& c) { c.clock = market::Clock::raw; });
    EXPECT_TRUE(contains(raw, "raw labels")) << raw;
    const std::string day = refusal({"day_start", "data"}, [](TrainConfig& c) { c.day_start = "17:00"; });
    EXPECT_TRUE(contains(day, "day_start")) << day;
    const std::string useless =
        refusal({"stamp_zone", "data"}, [](TrainConfig& c) { c.stamp_zone = "Asia/Tokyo"; });
    EXPECT_TRUE(contains(useless, "--clock exchange with it")) << useless;
    TrainConfig same;
    same.data = {minute_bars().string()};
    same.day_start = "18:00"; // the default in New York
    EXPECT_NO_THROW(predict_with(model, same, {"day_start", "data"}));
    same.zone = "America/Chicago";
    same.day_start = "17:00"; // the same, one hour behind
    EXPECT_NO_THROW(predict_with(model, same, {"zone", "day_start", "data"}));
}

} // namespace
} // namespace rekindle::trainer
