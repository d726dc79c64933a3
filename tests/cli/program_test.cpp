#include "process.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>

namespace rekindle::cli {
namespace {

TEST(Program, WithoutArgumentsShowsTheCommands) {
    const Finished finished = rekindle({});
    EXPECT_EQ(finished.status, 0);
    EXPECT_NE(finished.output.find("volume-profile"), std::string::npos);
    EXPECT_EQ(finished.output, rekindle({"--help"}).output);
    EXPECT_EQ(finished.output, rekindle({"help"}).output);
}

TEST(Program, HelpFitsTheWidthItIsGiven) {
    const Finished finished = rekindle({"train", "--help"}, {.environment = {{"COLUMNS", "50"}}});
    EXPECT_EQ(finished.output, rekindle({"help", "train"}, {.environment = {{"COLUMNS", "50"}}}).output);
    EXPECT_NE(finished.output, rekindle({"help", "train"}).output);
}

TEST(Program, PrintsItsVersion) {
    const Finished finished = rekindle({"--version"});
    EXPECT_EQ(finished.status, 0);
    EXPECT_TRUE(finished.output.starts_with("rekindle ")) << finished.output;
}

TEST(Program, WrongUseIsStatusTwoAndOneMessageOnStandardError) {
    for (const std::vector<std::string>& arguments : {std::vector<std::string>{"trian"},
                                                      {"train", "--batch_sise", "3"},
                                                      {"train", "--epochs"},
                                                      {"completions"},
                                                      {"completions", "tcsh"},
                                                      {"predict", "--data", "x"},
                                                      {"help", "nothing"},
                                                      {"inspect"}}) {
        const Finished finished = rekindle(arguments);
        EXPECT_EQ(finished.status, 2) << arguments[0];
        EXPECT_EQ(finished.output, "");
        EXPECT_TRUE(finished.errors.starts_with("error: ")) << finished.errors;
    }
}

TEST(Program, ErrorsAreJsonWhenAskedFor) {
    const Finished finished = rekindle({"train", "--epochs", "0", "--log_format", "json"});
    EXPECT_EQ(finished.status, 2);
    const auto event = nlohmann::json::parse(finished.errors);
    EXPECT_EQ(event.at("event"), "error");
    EXPECT_EQ(event.at("where"), "--epochs");
    EXPECT_EQ(event.at("exit_status"), 2);
}

TEST(Program, SaysWhenItsOutputCannotBeWritten) {
    if (!std::ifstream("/dev/full"))
        GTEST_SKIP() << "this system has no /dev/full";
    const Finished finished =
        run_process({"sh", "-c", std::string(REKINDLE_PROGRAM) + " --help > /dev/full"});
    EXPECT_EQ(finished.status, 1);
    EXPECT_NE(finished.errors.find("standard output could not be written"), std::string::npos)
        << finished.errors;
}

TEST(Program, PrintsCompletions) {
    EXPECT_TRUE(
        rekindle({"completions", "bash"}).output.find("complete -o filenames -F _rekindle rekindle\n") !=
        std::string::npos);
}

TEST(Program, GeneratesItsReference) {
    const TemporaryFolder folder;
    EXPECT_EQ(rekindle({"generate-docs", folder.path()}).status, 0);
    for (const char* name :
         {"flags/batch-size.md", "commands/train.md", "man1/rekindle-train.1", "completions/_rekindle"})
        EXPECT_TRUE(std::ifstream(folder.path() + "/" + name)) << name;
}

} // namespace
} // namespace rekindle::cli
