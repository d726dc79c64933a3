/// rekindle search from the command line.

#include "process.h"
#include "small_market.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace rekindle::cli {
namespace {

namespace fs = std::filesystem;

class SearchCommand : public ::testing::Test {
  protected:
    Finished search(const Words& more) const {
        return rekindle(joined({"search", "--data", shared_market().bars, "--epochs", "1", "--hidden-layers",
                                "4", "--features", "calendar,gap", "--folds", "2", "--device", "cpu"},
                               more),
                        {.folder = folder_.path()});
    }
    std::string only_folder() const {
        return fs::directory_iterator(fs::path(folder_.path()) / "TRAINING")->path().string();
    }
    TemporaryFolder folder_;
};

TEST_F(SearchCommand, PrintsAVerdictTheBestSettingAndTheNextStep) {
    const Finished finished =
        search({"--vary", "learning-rate=1e-4..1e-2@log", "--vary", "dropout-rate=0|0.2", "--trials", "6"});
    ASSERT_EQ(finished.status, 0) << finished.errors;
    EXPECT_TRUE(contains(finished.output, "best setting: learning-rate")) << finished.output;
    EXPECT_TRUE(contains(finished.output, "rekindle walk-forward --config"));
    const std::string folder = only_folder();
    for (const char* file : {"search.sqlite", "trials.csv", "best.json", "results.json", "report.html"})
        EXPECT_TRUE(fs::exists(fs::path(folder) / file)) << file;

    const Finished more =
        rekindle({"search", "--resume-from-checkpoint", folder, "--trials", "8", "--log-format", "json"},
                 {.folder = folder_.path()});
    EXPECT_EQ(more.status, 0) << more.errors;
    EXPECT_TRUE(contains(more.output, "\"trials\":8")) << more.output;
}

TEST_F(SearchCommand, WrongUseIsNamed) {
    const auto refused = [&](const Words& more, const std::string& text) {
        const Finished finished = search(more);
        EXPECT_EQ(finished.status, 2) << text;
        EXPECT_TRUE(contains(finished.errors, text)) << finished.errors;
    };
    refused({}, "--vary NAME=VALUES");
    refused({"--vary", "seed=1|2"}, "seed cannot vary");
    refused({"--vary", "dropout-rate=0|2"}, "dropout");
    refused({"--vary", "dropout-rate=0..0.5", "--method", "grid"}, "LOW..HIGH/POINTS");
    refused({"--vary", "dropout-rate=0|0.1", "--min-epochs", "2"}, "--method halving");
    refused({"--vary", "dropout-rate=0|0.1", "--method", "best"}, "one of");
    refused({"--vary", "dropout-rate=0|0.1", "--trials", "0"}, "--trials");
    refused({"--vary", "target=return|direction", "--objective", "loss"}, "losses of different targets");
    refused({"--vary", "dropout-rate=0|0.1", "--compat", "original"}, "--compat");
    EXPECT_FALSE(fs::exists(fs::path(folder_.path()) / "TRAINING"));
    EXPECT_EQ(rekindle({"search", "--vary", "dropout-rate=0|0.1"}, {.folder = folder_.path()}).status, 2);
}

} // namespace
} // namespace rekindle::cli
