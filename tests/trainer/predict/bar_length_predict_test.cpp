/// A model predicts only from bars of the length that it was trained on, whichever of its files is given.

#include "../run_fixture.h"

#include <rekindle/market/bar_length.h>
#include <rekindle/market/clock.h>
#include <rekindle/trainer/predict.h>

#include <fmt/format.h>

#include <array>
#include <map>

namespace rekindle::trainer {
namespace {

using namespace fixtures;

constexpr std::array all_lengths{60, 120, 300, 900, 1800, 3600, 14'400, 86'400, 604'800};

/// One bar of minute_bars(), prices in points.
struct JoinedBar {
    std::int64_t end = 0;
    double open = 0, high = 0, low = 0, close = 0;
    std::int64_t volume = 0;
};

std::vector<JoinedBar> read_minutes() {
    std::vector<JoinedBar> bars;
    std::istringstream lines(read_file(minute_bars()));
    for (std::string line; std::getline(lines, line);) {
        JoinedBar bar;
        int year = 0, month = 0, day = 0, hour = 0, minute = 0;
        if (std::sscanf(line.c_str(), "%d-%d-%d %d:%d:00,%lf,%lf,%lf,%lf,%ld", &year, &month, &day, &hour,
                        &minute, &bar.open, &bar.high, &bar.low, &bar.close, &bar.volume) != 10)
            continue;
        bar.end = std::int64_t{market::make_date(year, month, day)} * 86'400 + hour * 3600 + minute * 60;
        if (bars.empty() || bar.end > bars.back().end) // of contracts that overlap, the first
            bars.push_back(bar);
    }
    return bars;
}

/// When the bar of this length that holds the minute ends; for days and weeks, midnight of its last weekday.
std::int64_t end_of_bar(std::int64_t minute, std::int64_t length) {
    const std::int64_t days = (minute - 1) / 86'400;
    if (length < 86'400)
        return (minute + length - 1) / length * length;
    const int weekday = market::weekday_of(static_cast<std::int32_t>(days));
    const std::int64_t friday = weekday == 6 ? 5 : 4 - weekday; // Sunday evening belongs to the next week
    if (length == 604'800)
        return (days + friday) * 86'400;
    return (weekday >= 5 ? days + (7 - weekday) : days) * 86'400;
}

/// minute_bars() joined into longer bars without names of contracts; days and weeks as dates.
std::string joined_text(const std::vector<JoinedBar>& minutes, std::int64_t length) {
    std::map<std::int64_t, JoinedBar> bars;
    for (const JoinedBar& minute : minutes) {
        const auto [place, is_new] = bars.try_emplace(end_of_bar(minute.end, length), minute);
        JoinedBar& bar = place->second;
        if (is_new)
            continue;
        bar.high = std::max(bar.high, minute.high);
        bar.low = std::min(bar.low, minute.low);
        bar.close = minute.close;
        bar.volume += minute.volume;
    }
    std::string text = "time,open,high,low,close,volume\n";
    for (const auto& [end, bar] : bars)
        text +=
            fmt::format("{},{},{},{},{},{}\n", market::format_civil(end).substr(0, length < 86'400 ? 19 : 10),
                        bar.open, bar.high, bar.low, bar.close, bar.volume);
    return text;
}

class BarLengthPredictTest : public RunTest {
  protected:
    BarLengthPredictTest() {
        static const std::vector<JoinedBar> minutes = read_minutes();
        for (const int length : all_lengths)
            write_file_atomically(file(length), joined_text(minutes, length));
    }
    fs::path file(int length) const { return folder_ / fmt::format("spy_{}.csv", length); }
    /// Features that need no earlier sessions, because there are only 16 weeks.
    TrainConfig config_of(int length) const {
        TrainConfig settings = config();
        settings.data = {file(length).string()};
        settings.clock = market::Clock::utc;
        settings.tick = "0.25";
        settings.features = {"calendar"};
        settings.epochs = 1;
        return settings;
    }
    Prediction predict_bars(const fs::path& model, int length) const {
        TrainConfig input;
        input.data = {file(length).string()};
        NullProgressSink progress;
        return predict({model, input, {"data"}, {}}, progress, CancellationToken());
    }
    static bool notes_length(const Prediction& prediction) {
        return std::ranges::any_of(prediction.notes,
                                   [](const std::string& note) { return contains(note, "bars of"); });
    }
};

TEST_F(BarLengthPredictTest, OnlyBarsOfTheSameLengthAreTaken) {
    for (const int trained : all_lengths) {
        const fs::path model = run(config_of(trained)).run_folder;
        const std::string own = "bars of " + market::bar_length_text(trained);
        for (const int predicted : all_lengths) {
            if (predicted == trained) {
                const Prediction prediction = predict_bars(model, predicted);
                EXPECT_EQ(prediction.bar_length, market::bar_length_text(predicted));
                EXPECT_TRUE(contains(describe(prediction).front(), own)) << describe(prediction).front();
                EXPECT_FALSE(notes_length(prediction)) << own;
                continue;
            }
            const std::string error = error_of([&] { predict_bars(model, predicted); });
            EXPECT_TRUE(contains(error, "trained on " + own)) << error;
            EXPECT_TRUE(contains(error, "the data has bars of " + market::bar_length_text(predicted)))
                << error;
            EXPECT_TRUE(contains(error, "Give a file with " + own)) << error;
        }
    }
}

TEST_F(BarLengthPredictTest, EveryFileOfARunKnowsIt) {
    const fs::path model = run(config_of(3600)).run_folder;
    for (const char* name :
         {"best_model.pt", "best_model.safetensors", "best_model_metadata.json", "model.pt", "model_final.pt",
          "model_final.safetensors", "model_final_metadata.json", "checkpoint.pt"}) {
        const std::string error = error_of([&] { predict_bars(model / name, 300); });
        EXPECT_TRUE(contains(error, "trained on bars of 1 hour")) << name << ": " << error;
        EXPECT_FALSE(notes_length(predict_bars(model / name, 3600))) << name;
    }
}

/// Bars of a model whose rows are bars: the newest minutes, with and without gaps.
TEST_F(BarLengthPredictTest, AFewBarsWithGapsAreEnough) {
    TrainConfig settings = config_of(60);
    settings.features = {"minute"};
    settings.target = market::TargetKind::bar_return;
    settings.data_fraction = 0.2;
    settings.batch_size = 512;
    const fs::path model = run(settings).run_folder;
    const std::string text = read_file(file(60));
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);)
        lines.push_back(line);
    PhiloxStream random(1, RandomPurpose::test);
    for (const std::size_t kept : {10u, 5u, 3u}) { // of ten
        std::vector<std::string> part{lines.front()};
        for (std::size_t i = lines.size() - 3000; i < lines.size(); ++i)
            if (random.next_below(10) < kept)
                part.push_back(lines[i]);
        write_lines(folder_ / "spy_now.csv", part);
        TrainConfig input;
        input.data = {(folder_ / "spy_now.csv").string()};
        NullProgressSink progress;
        const Prediction prediction = predict({model, input, {"data"}, {}}, progress, CancellationToken());
        EXPECT_FALSE(notes_length(prediction)) << kept;
    }
    EXPECT_TRUE(contains(error_of([&] { predict_bars(model, 300); }), "bars of 5 minutes"));
}

TEST_F(BarLengthPredictTest, OlderModelsSayThatItIsUnknown) {
    const fs::path model = run(config_of(3600)).run_folder;
    Json metadata = Json::parse(read_file(model / "best_model_metadata.json"));
    EXPECT_EQ(metadata["rekindle"]["bar_length"]["seconds"], 3600);
    metadata["rekindle"].erase("bar_length");
    write_file_atomically(model / "best_model_metadata.json", metadata.dump());
    const Prediction prediction = predict_bars(model, 300);
    EXPECT_TRUE(std::ranges::any_of(prediction.notes, [](const std::string& note) {
        return contains(note, "does not record how long the bars") && contains(note, "bars of 5 minutes");
    }));
}

} // namespace
} // namespace rekindle::trainer
