/// A run that is killed or interrupted repeatedly ends with the weights of an uninterrupted one.

#include "program.h"

#include <rekindle/base/philox.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>
#include <string>
#include <thread>

namespace rekindle::cli {
namespace {

namespace fs = std::filesystem;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int min_kills = 20; // a sanitized program is ten times slower
constexpr int min_kills_inside_a_write = 2;
#else
constexpr int min_kills = 100;
constexpr int min_kills_inside_a_write = 10;
#endif
constexpr int min_kills_in_each_stage = 1;

bool holds_half_written_checkpoint(const fs::path& run) {
    std::error_code code;
    for (const auto& entry : fs::directory_iterator(run / "checkpoints", code))
        if (entry.path().filename().string().starts_with('.'))
            return true;
    return false;
}

/// The stages of a run and the line that ends each, in order.
constexpr std::array<std::pair<const char*, const char*>, 4> stages{
    {{"reading", "Reading bars:"},
     {"profiling and features", "Building features:"},
     {"training", "Training:"},
     {"writing results", "Writing results:"}}};

/// Where a run was killed, by the last line that it had printed. One that had printed its end counts as
/// writing.
const char* stage_of(const std::string& output) {
    for (const auto& [stage, end] : stages)
        if (output.find(end) == std::string::npos)
            return stage;
    return stages.back().first;
}

fs::path only_run(const fs::path& output) {
    std::error_code code;
    for (const auto& entry : fs::directory_iterator(output, code))
        if (entry.path().filename().string().starts_with("train_"))
            return entry.path();
    return {};
}

class KillTest : public ScratchFolderTest {
  protected:
    std::vector<std::string> begin(const fs::path& output) const {
        return {"train",
                "--data",
                bars_.string(),
                "--output",
                output.string(),
                "--epochs",
                "8",
                "--batch-size",
                "1",
                "--hidden-layers",
                "32,16",
                "--checkpoint-interval",
                "2",
                "--features",
                "session,returns"};
    }
    std::vector<std::string> resume(const fs::path& output) const {
        const fs::path run = only_run(output);
        return run.empty() ? begin(output)
                           : std::vector<std::string>{"train", "--resume-from-checkpoint", run.string()};
    }
    void SetUp() override {
        ScratchFolderTest::SetUp();
        bars_ = folder() / "bars.csv";
        ASSERT_EQ(
            run_program({"simulate", "--bars", "60000", "--seed", "5", "--output", bars_.string()}).status,
            0);
    }
    fs::path bars_;
};

TEST_F(KillTest, WeightsMatchAnUninterruptedRun) {
    const auto started = std::chrono::steady_clock::now();
    const ProgramResult whole = run_program(begin(folder() / "whole"));
    ASSERT_EQ(whole.status, 0) << whole.error;
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
    const std::string expected = read_whole(only_run(folder() / "whole") / "model_final.safetensors");

    PhiloxStream random(1, RandomPurpose::test);
    int kills = 0, inside_a_write = 0, finished = 0;
    std::map<std::string, int> in_stage;
    const auto enough = [&] {
        return kills >= min_kills && inside_a_write >= min_kills_inside_a_write &&
               std::ranges::all_of(stages, [&](const auto& stage) {
                   return in_stage[stage.first] >= min_kills_in_each_stage;
               });
    };
    while (!enough() || finished == 0) {
        ASSERT_LT(kills, 20 * min_kills) << "some stage or checkpoint write was never hit";
        const fs::path output = folder() / ("run" + std::to_string(finished));
        RunningProgram program(resume(output));
        // Early kills reach reading and profiling, late ones training and writing.
        const bool killed = !enough() && program.kill_after(seconds * 1.1 * random.next_double());
        const ProgramResult& result = program.wait_for_end();
        if (killed) {
            ++kills;
            ++in_stage[stage_of(result.output)];
            const fs::path run = only_run(output);
            inside_a_write += !run.empty() && holds_half_written_checkpoint(run);
            continue;
        }
        ASSERT_EQ(result.status, 0) << result.error;
        EXPECT_EQ(read_whole(only_run(output) / "model_final.safetensors"), expected)
            << "run " << finished << " after " << kills << " kills";
        ++finished;
    }
    std::printf("%d kills of at least %d, %d of them inside a checkpoint write, %d runs finished, an "
                "uninterrupted run takes %.2f s\n",
                kills, min_kills, inside_a_write, finished, seconds);
    for (const auto& [stage, count] : in_stage)
        std::printf("  killed while %s: %d\n", stage.c_str(), count);
}

/// A run that is long enough to be interrupted by hand.
class InterruptTest : public KillTest {
  protected:
    std::vector<std::string> begin_long(const std::string& output) const {
        return {"train",
                "--data",
                bars_.string(),
                "--output",
                (folder() / output).string(),
                "--features",
                "minute",
                "--epochs",
                "4",
                "--batch-size",
                "64",
                "--target",
                "direction",
                "--learning-rate",
                "0.001"};
    }
    /// Sends SIGINT so many times once the first checkpoint is there.
    ProgramResult interrupt(const std::string& output, int times) const {
        RunningProgram program(begin_long(output));
        EXPECT_TRUE(program.wait_until([&] {
            const fs::path run = only_run(folder() / output);
            std::error_code code;
            return !run.empty() && fs::exists(run / "checkpoints", code) &&
                   !fs::is_empty(run / "checkpoints", code);
        }));
        for (int i = 0; i < times; ++i)
            program.send(SIGINT);
        return program.wait_for_end();
    }
    std::string weights(const std::string& output) const {
        return read_whole(only_run(folder() / output) / "model_final.safetensors");
    }
};

TEST_F(InterruptTest, SavesItsStateAndResumesToTheSameWeights) {
    ASSERT_EQ(run_program(begin_long("whole")).status, 0);
    for (const int times : {1, 2}) {
        const std::string output = "interrupted" + std::to_string(times);
        const ProgramResult result = interrupt(output, times);
        EXPECT_EQ(result.status, 130) << result.output << result.error;
        const fs::path run = only_run(folder() / output);
        EXPECT_FALSE(fs::exists(run / "best_model_metadata.json")) << "it had ended before the signal came";
        if (times == 1) {
            EXPECT_NE(result.output.find("--resume-from-checkpoint"), std::string::npos) << result.output;
        }
        const ProgramResult rest =
            run_program({"train", "--quiet", "--resume-from-checkpoint", run.string()});
        EXPECT_EQ(rest.status, 0) << rest.error;
        EXPECT_EQ(weights(output), weights("whole"));
    }
}

} // namespace
} // namespace rekindle::cli
