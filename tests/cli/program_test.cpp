#include "process.h"

#include <rekindle/foundation/file.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
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

TEST(Program, UsageErrorIsStatusTwoAndOneMessageOnStandardError) {
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
    EXPECT_NE(finished.errors.find("cannot write to standard output"), std::string::npos) << finished.errors;
}

TEST(Program, PrintsCompletions) {
    EXPECT_TRUE(
        rekindle({"completions", "bash"}).output.find("complete -o filenames -F _rekindle rekindle\n") !=
        std::string::npos);
}

TEST(Program, GeneratesItsReference) {
    const TemporaryFolder folder;
    EXPECT_EQ(rekindle({"generate-docs", folder.path()}).status, 0);
    for (const char* name : {"reference/commands.md", "reference/options.md", "features/README.md",
                             "knowledge/causes.md", "man1/rekindle-train.1", "completions/_rekindle"})
        EXPECT_TRUE(std::ifstream(folder.path() + "/" + name)) << name;
}

TEST(Program, RenewsCommittedPagesOnlyInDocs) {
    const TemporaryFolder folder;
    const Finished finished = rekindle({"generate-docs", folder.path(), "--only", "committed"});
    EXPECT_EQ(finished.status, 2);
    EXPECT_NE(finished.errors.find("the folder docs of the repository"), std::string::npos)
        << finished.errors;
    EXPECT_FALSE(std::filesystem::exists(folder.path() + "/reference"));
}

TEST(Program, SimulatesTheSameFileForTheSameSeed) {
    const TemporaryFolder folder;
    const auto simulated = [&](const char* seed) {
        const std::string file = folder.path() + "/bars.csv";
        EXPECT_EQ(rekindle({"simulate", "--bars", "500", "--seed", seed, "--output", file}).status, 0);
        return read_file(file);
    };
    const std::string first = simulated("1");
    EXPECT_TRUE(first.starts_with("# synthetic")) << first.substr(0, 200);
    EXPECT_EQ(simulated("1"), first);
    EXPECT_NE(simulated("2"), first);
    EXPECT_EQ(rekindle({"simulate", "--output", "x", "--start-date", "2024-13-01"}).status, 2);
    EXPECT_EQ(rekindle({"simulate", "--bars", "0", "--output", "x"}).status, 2);
    EXPECT_EQ(rekindle({"simulate", "--bars", "5", "--output", folder.path() + "/no/such/folder"}).status, 1);
}

TEST(Program, VerifySaysWhyThereIsNothingToVerify) {
    const Finished cpu = rekindle({"verify", "--device", "cpu"});
    EXPECT_EQ(cpu.status, 2);
    EXPECT_NE(cpu.errors.find("--device: the CPU is what the devices are compared with"), std::string::npos)
        << cpu.errors;
    const Finished nothing = rekindle({"verify"}, {.environment = {{"REKINDLE_VISIBLE_DEVICES", ""}}});
    EXPECT_EQ(nothing.status, 2);
    EXPECT_NE(nothing.errors.find("there is no Vulkan device"), std::string::npos) << nothing.errors;
    EXPECT_NE(nothing.errors.find("rekindle doctor"), std::string::npos) << nothing.errors;
}

TEST(Program, ListsTheCpu) {
    const Finished text = rekindle({"devices"});
    EXPECT_EQ(text.status, 0);
    EXPECT_NE(text.output.find("x86-64"), std::string::npos) << text.output;
    EXPECT_NE(text.output.find("CPU: yes"), std::string::npos) << text.output;
    const auto json = nlohmann::json::parse(rekindle({"devices", "--format", "json"}).output);
    EXPECT_EQ(json.at("devices").back().at("device"), "cpu");
    EXPECT_GE(json.at("devices").back().at("usable_processors"), 1);
    for (const auto& gpu : json.at("vulkan_devices"))
        EXPECT_TRUE(gpu.at("usable").is_boolean() && !gpu.at("note").get<std::string>().empty())
            << gpu.dump();
    const auto lower = nlohmann::json::parse(
        rekindle({"devices", "--log-format", "json"}, {.environment = {{"REKINDLE_ISA", "x86-64"}}}).output);
    EXPECT_EQ(lower.at("event"), "result");
    EXPECT_EQ(lower.at("devices").back().at("instruction_set"), "x86-64");
}

} // namespace
} // namespace rekindle::cli
