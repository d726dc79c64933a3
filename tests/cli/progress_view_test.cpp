#include <rekindle/cli/progress_view.h>
#include <rekindle/cli/text_layout.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <memory>
#include <sstream>

namespace rekindle::cli {
namespace {

using trainer::EpochMetrics;
using trainer::StageProgress;

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

StageProgress training(std::uint64_t done) {
    return {.stage = "Training",
            .done = done,
            .total = 1000,
            .unit = "steps",
            .loss = 0.6931,
            .validation_loss = 0.7012,
            .learning_rate = 5e-4};
}

/// A view on two temporary files, with a clock that the test advances.
class Screen {
  public:
    explicit Screen(TerminalTraits traits, MessageOptions options = {})
        : output_(file_.get(), traits), errors_(error_file_.get(), traits),
          view_(output_, errors_, options, [this] { return now_; }) {}

    ProgressView& view() { return view_; }
    void wait(double seconds) { now_ += seconds; }
    std::string output() { return content(file_.get()); }
    std::string errors() { return content(error_file_.get()); }

  private:
    static std::string content(std::FILE* file) {
        std::fflush(file);
        std::rewind(file);
        std::string text;
        for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file))
            text += static_cast<char>(c);
        return text;
    }
    struct Closer {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };
    std::unique_ptr<std::FILE, Closer> file_{std::tmpfile()};
    std::unique_ptr<std::FILE, Closer> error_file_{std::tmpfile()};
    double now_ = 100;
    Stream output_, errors_;
    ProgressView view_;
};

std::vector<std::string> lines(const std::string& text) {
    std::istringstream stream(text);
    std::vector<std::string> result;
    for (std::string line; std::getline(stream, line);)
        result.push_back(line);
    return result;
}

TEST(ProgressLine, ShowsRateTimeLeftLossesAndLearningRate) {
    EXPECT_EQ(progress_line(training(250), 0.5, 200),
              "Training   25 %  500 steps/s  1.50 s left  loss 0.6931  validation 0.7012  rate 0.0005");
    EXPECT_EQ(progress_line({.stage = "Reading bars",
                             .done = 2097152,
                             .total = 0,
                             .unit = "bytes",
                             .loss = unknown,
                             .validation_loss = unknown,
                             .learning_rate = unknown},
                            2, 200),
              "Reading bars  2.0 MiB  1.0 MiB/s");
    EXPECT_EQ(format_rate(3.14e6, "rows"), "3.1 M rows/s");
    EXPECT_EQ(format_rate(1234, "rows"), "1,234 rows/s");
}

TEST(ProgressLine, OmitsWhatDoesNotFit) {
    for (std::size_t width = 1; width < 100; ++width) {
        const std::string line = progress_line(training(250), 0.5, width);
        EXPECT_LE(display_width(line), width);
        EXPECT_FALSE(line.empty());
    }
    EXPECT_EQ(progress_line(training(250), 0.5, 20), "Training   25 %");
}

TEST(ProgressView, PrintsAPlainLineEveryFiveSecondsOnAPipe) {
    Screen screen({.utf8 = true});
    for (std::uint64_t step = 0; step <= 44; ++step) {
        screen.view().advanced(training(step));
        screen.wait(0.25);
    }
    screen.view().stage_ended("Training", 10, "1,000 steps");
    const std::vector<std::string> shown = lines(screen.output());
    ASSERT_EQ(shown.size(), 3U) << screen.output();
    EXPECT_EQ(shown[0].substr(0, 15), "Training    2 %");
    EXPECT_EQ(shown[2], "Training: 1,000 steps (10.00 s)");
    EXPECT_EQ(screen.output().find('\033'), std::string::npos);
}

TEST(ProgressView, DrawsOneLiveLineOnATerminal) {
    Screen screen({.interactive = true, .utf8 = true, .width = 60});
    screen.view().advanced(training(1));
    screen.view().advanced(training(2)); // too soon to be drawn again
    screen.wait(0.2);
    screen.view().advanced(training(3));
    screen.view().info("a note");
    screen.view().finish();
    const std::string text = screen.output();
    EXPECT_EQ(std::count(text.begin(), text.end(), '\r'), 3) << text;
    EXPECT_NE(text.find("\r\033[Ka note\n"), std::string::npos) << text;
    EXPECT_EQ(text.substr(text.size() - 7), "a note\n");
}

TEST(ProgressView, QuietKeepsWarningsOnly) {
    Screen screen({}, {.quiet = true});
    screen.view().advanced(training(1));
    screen.wait(60);
    screen.view().advanced(training(2));
    screen.view().info("a note");
    screen.view().epoch_ended({});
    screen.view().stage_ended("Training", 1, "done");
    screen.view().warning("a warning");
    EXPECT_EQ(screen.output(), "");
    EXPECT_EQ(screen.errors(), "warning: a warning\n");
}

TEST(ProgressView, DebugMessagesNeedVerbose) {
    Screen terse({});
    terse.view().debug("detail");
    EXPECT_EQ(terse.output(), "");
    Screen verbose({}, {.verbose = true});
    verbose.view().debug("detail");
    EXPECT_EQ(verbose.output(), "detail\n");
}

TEST(ProgressView, JsonIsOneObjectPerLineAndUnknownIsNull) {
    Screen screen({.interactive = true}, {.json = true});
    screen.view().advanced(training(1));
    screen.wait(10);
    StageProgress progress = training(500);
    progress.loss = unknown;
    screen.view().advanced(progress);
    screen.view().epoch_ended(
        {.epoch = 1, .epochs = 3, .train_loss = 0.5, .validation_loss = unknown, .best = true});
    screen.view().info("3 × 4");
    const std::vector<std::string> shown = lines(screen.output());
    ASSERT_EQ(shown.size(), 3U) << screen.output();
    const auto first = nlohmann::json::parse(shown[0]);
    EXPECT_EQ(first.at("event"), "progress");
    EXPECT_EQ(first.at("seconds_left"), 10.0);
    EXPECT_TRUE(first.at("loss").is_null());
    const auto second = nlohmann::json::parse(shown[1]);
    EXPECT_EQ(second.at("train_loss"), 0.5);
    EXPECT_TRUE(second.at("validation_loss").is_null());
    EXPECT_EQ(nlohmann::json::parse(shown[2]).at("message"),
              "3 × 4"); // escaped, since the stream is not UTF-8
}

TEST(ProgressView, EpochIsOneLine) {
    const EpochMetrics metrics{.epoch = 2,
                               .epochs = 10,
                               .train_loss = 0.25,
                               .validation_loss = 0.5,
                               .accuracy = 0.512,
                               .learning_rate = 5e-4,
                               .seconds = 1.5,
                               .rows_per_second = 1234,
                               .best = true};
    EXPECT_EQ(
        epoch_line(metrics),
        "epoch 2/10  loss 0.25  validation 0.5 (best)  direction 51.2 %  rate 0.0005  1,234 rows/s  1.50 s");
}

} // namespace
} // namespace rekindle::cli
