#pragma once
/// Shared by the tests of whole runs: small markets, a temporary folder, helpers to run and resume.

#include <rekindle/base/philox.h>
#include <rekindle/foundation/error.h>
#include <rekindle/foundation/file.h>
#include <rekindle/market/simulate.h>
#include <rekindle/trainer/safetensors.h>
#include <rekindle/trainer/train.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>
#include <temporary_folder.h>
#include <vector>

namespace rekindle::trainer::fixtures {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// Sessions of one bar each, in the layout of a daily file: a random walk in ticks of 0.25, weekdays only.
inline std::vector<std::string> daily_lines(int sessions, std::uint64_t seed = 1) {
    PhiloxStream random(seed, RandomPurpose::test);
    const auto below = [&](std::uint32_t limit) { return static_cast<int>(random.next_below(limit)); };
    const auto points = [](int ticks) { return static_cast<double>(ticks) / 4; };
    std::vector<std::string> lines{"Date,Open,High,Low,Close,Volume,VIX"};
    std::chrono::sys_days day = std::chrono::year(2020) / 1 / 6;
    int close = 13000;
    while (static_cast<int>(lines.size()) <= sessions) {
        if (std::chrono::weekday(day).iso_encoding() <= 5) {
            const int open = close + below(41) - 20;
            close = open + below(161) - 80;
            const int high = std::max(open, close) + below(40), low = std::min(open, close) - below(40);
            const std::chrono::year_month_day date(day);
            char line[128];
            std::snprintf(line, sizeof line, "%04d-%02u-%02u,%.2f,%.2f,%.2f,%.2f,%d,%.2f", int(date.year()),
                          unsigned(date.month()), unsigned(date.day()), points(open), points(high),
                          points(low), points(close), 100000 + below(50000), 15 + below(1000) / 100.0);
            lines.emplace_back(line);
        }
        day += std::chrono::days(1);
    }
    return lines;
}

inline void write_lines(const fs::path& path, const std::vector<std::string>& lines) {
    std::string text;
    for (const std::string& line : lines)
        text += line + "\n";
    write_file_atomically(path, text);
}

/// 120,000 one-minute bars, about 76 sessions; generated once per test program.
inline const fs::path& minute_bars() {
    static const rekindle::test::TemporaryFolder folder;
    static const fs::path path = [] {
        market::simulate_file({.bars = 120'000, .seed = 5}, folder / "minutes.csv");
        return folder / "minutes.csv";
    }();
    return path;
}

/// Asks to stop after `reports` progress reports of training.
class StopInTraining final : public ProgressSink {
  public:
    StopInTraining(CancellationToken& token, int reports) : token_(token), left_(reports) {}
    void log(LogLevel, std::string_view) override {}
    void advanced(const StageProgress& progress) override {
        if (progress.stage == "Training" && --left_ == 0)
            token_.request();
    }
    void stage_ended(std::string_view, double, std::string_view) override {}
    void epoch_ended(const EpochMetrics&) override {}

  private:
    CancellationToken& token_;
    int left_;
};

/// Keeps the messages.
class Messages final : public ProgressSink {
  public:
    void log(LogLevel, std::string_view message) override { text += std::string(message) + "\n"; }
    void advanced(const StageProgress&) override {}
    void stage_ended(std::string_view, double, std::string_view summary) override {
        text += std::string(summary) + "\n";
    }
    void epoch_ended(const EpochMetrics&) override {}
    std::string text;
};

class RunTest : public ::testing::Test {
  protected:
    RunTest() { write_lines(bars(), daily_lines(120)); }

    fs::path bars() const { return folder_ / "bars.csv"; }
    fs::path output() const { return folder_ / "output"; }
    TrainConfig config() const {
        TrainConfig config;
        config.data = {bars().string()};
        config.clock = market::Clock::raw;
        config.output = output().string();
        config.epochs = 3;
        config.batch_size = 8;
        config.hidden_layers = {16, 8};
        config.threads = 1;
        return config;
    }
    static TrainOutcome run(const TrainConfig& config, const std::set<std::string>& given = {}) {
        NullProgressSink progress;
        return train(config, given, progress, CancellationToken());
    }
    /// Resumes the run with its own settings and those in `given`.
    static TrainOutcome resume(const fs::path& run_folder, TrainConfig asked = {},
                               std::set<std::string> given = {}) {
        asked.resume_from_checkpoint = run_folder.string();
        given.insert("resume_from_checkpoint");
        return run(asked, given);
    }
    /// A run that is stopped after `reports` progress reports of training.
    static TrainOutcome interrupted(const TrainConfig& config, int reports) {
        CancellationToken token;
        StopInTraining progress(token, reports);
        TrainOutcome outcome = train(config, {}, progress, token);
        EXPECT_TRUE(outcome.interrupted);
        return outcome;
    }
    /// The text of the call's Error; empty when it throws none.
    template <class Call>
    static std::string error_of(Call&& call, ExitStatus status = ExitStatus::usage) {
        try {
            call();
        } catch (const Error& error) {
            EXPECT_EQ(error.status(), status) << error.render();
            return error.render();
        }
        ADD_FAILURE() << "no error";
        return {};
    }
    static bool contains(const std::string& text, std::string_view part) {
        return text.find(part) != std::string::npos;
    }

    rekindle::test::TemporaryFolder folder_;
};

inline std::vector<mlp::NamedTensor> tensors_of(const fs::path& safetensors) {
    auto tensors = read_safetensors(safetensors).tensors;
    std::ranges::sort(tensors, {}, &mlp::NamedTensor::name);
    return tensors;
}

inline void expect_same_tensors(const std::vector<mlp::NamedTensor>& a,
                                const std::vector<mlp::NamedTensor>& b, const std::string& what) {
    ASSERT_EQ(a.size(), b.size()) << what;
    for (std::size_t i = 0; i < a.size(); ++i) {
        EXPECT_EQ(a[i].name, b[i].name) << what;
        EXPECT_EQ(a[i].shape, b[i].shape) << what;
        EXPECT_EQ(a[i].values, b[i].values) << what << ": " << a[i].name;
    }
}

/// Compares both models of two runs, bit for bit.
inline void expect_same_weights(const fs::path& run, const fs::path& other, const std::string& what) {
    for (const char* name : {"model_final.safetensors", "best_model.safetensors"})
        expect_same_tensors(tensors_of(run / name), tensors_of(other / name), what + ", " + name);
}

} // namespace rekindle::trainer::fixtures
