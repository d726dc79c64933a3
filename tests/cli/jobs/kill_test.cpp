/// A run that is killed again and again ends with the weights of one that is not.

#include "program.h"

#include <rekindle/base/philox.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>

namespace rekindle::cli {
namespace {

namespace fs = std::filesystem;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kills_wanted = 20; // a sanitised program is ten times slower
constexpr int kills_inside_a_write_wanted = 2;
#else
constexpr int kills_wanted = 100;
constexpr int kills_inside_a_write_wanted = 10;
#endif

bool holds_half_written_checkpoint(const fs::path& run) {
    std::error_code code;
    for (const auto& entry : fs::directory_iterator(run / "checkpoints", code))
        if (entry.path().filename().string().starts_with('.'))
            return true;
    return false;
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
                "--quiet",
                "--data",
                bars_.string(),
                "--output",
                output.string(),
                "--epochs",
                "6",
                "--batch-size",
                "1",
                "--hidden-layers",
                "32,16",
                "--checkpoint-interval",
                "4",
                "--features",
                "session,returns"};
    }
    std::vector<std::string> go_on(const fs::path& output) const {
        const fs::path run = only_run(output);
        return run.empty()
                   ? begin(output)
                   : std::vector<std::string>{"train", "--quiet", "--resume-from-checkpoint", run.string()};
    }
    void SetUp() override {
        ScratchFolderTest::SetUp();
        bars_ = folder() / "bars.csv";
        ASSERT_EQ(
            run_program({"simulate", "--bars", "120000", "--seed", "5", "--output", bars_.string()}).status,
            0);
    }
    fs::path bars_;
};

TEST_F(KillTest, TheWeightsAreThoseOfAnUninterruptedRun) {
    const auto started = std::chrono::steady_clock::now();
    const ProgramResult whole = run_program(begin(folder() / "whole"));
    ASSERT_EQ(whole.status, 0) << whole.error;
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
    const std::string expected = read_whole(only_run(folder() / "whole") / "model_final.safetensors");

    PhiloxStream random(1, RandomPurpose::test);
    int kills = 0, inside_a_write = 0, finished = 0;
    while (kills < kills_wanted || inside_a_write < kills_inside_a_write_wanted || finished == 0) {
        ASSERT_LT(kills, 20 * kills_wanted) << "no kill fell into a checkpoint write";
        const fs::path output = folder() / ("run" + std::to_string(finished));
        RunningProgram program(go_on(output));
        // Early kills reach reading and profiling, late ones training and writing.
        const bool killed = kills < kills_wanted || inside_a_write < kills_inside_a_write_wanted
                                ? program.kill_after(seconds * 1.1 * random.next_double())
                                : program.wait_for_end().status != 0;
        if (killed) {
            ++kills;
            const fs::path run = only_run(output);
            inside_a_write += !run.empty() && holds_half_written_checkpoint(run);
            continue;
        }
        ASSERT_EQ(program.wait_for_end().status, 0) << program.wait_for_end().error;
        EXPECT_EQ(read_whole(only_run(output) / "model_final.safetensors"), expected)
            << "run " << finished << " after " << kills << " kills";
        ++finished;
    }
    std::printf("%d kills, %d of them inside a checkpoint write, %d runs finished, an uninterrupted run "
                "takes %.2f s\n",
                kills, inside_a_write, finished, seconds);
}

} // namespace
} // namespace rekindle::cli
