#include "process.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <csignal>
#include <fstream>
#include <sstream>

namespace rekindle::cli {
namespace {

Finished run(const Words& command, const Words& options = {}, const Surroundings& surroundings = {}) {
    return rekindle(joined(joined({"doctor", "--run", "--probe", "none"}, options), joined({"--"}, command)),
                    surroundings);
}

Finished run_shell(const std::string& script, const Words& options = {}) {
    return run({"sh", "-c", script}, options);
}

TEST(DoctorRun, PassesOutputAndStatusOn) {
    const Finished finished = run_shell("echo to output; echo to errors >&2; exit 0");
    EXPECT_EQ(finished.status, 0);
    EXPECT_EQ(finished.output.find("to output\n"), 0U) << finished.output;
    EXPECT_EQ(finished.errors, "to errors\n");
    EXPECT_TRUE(contains(finished.output, "exited with status 0 after")) << finished.output;
    EXPECT_EQ(run_shell("exit 7").status, 7);
}

TEST(DoctorRun, EveryByteArrives) {
    const Finished finished = run_shell("seq 1 200000; printf last");
    std::ostringstream expected;
    for (int i = 1; i <= 200000; ++i)
        expected << i << "\n";
    expected << "last";
    EXPECT_TRUE(finished.output.starts_with(expected.str()));
}

TEST(DoctorRun, ArgumentsReachTheCommandUnchanged) {
    const Finished finished = run({"printf", "[%s]", "--json", "-v", "--", "a b", ""});
    EXPECT_TRUE(finished.output.starts_with("[--json][-v][--][a b][]")) << finished.output;
    EXPECT_TRUE(contains(finished.output, "printf '[%s]' --json -v -- 'a b' '' exited")) << finished.output;
}

TEST(DoctorRun, NamesTheCauseOfAFailure) {
    const Finished finished =
        run_shell("echo 'RuntimeError: CUDA error: HIPBLAS_STATUS_ALLOC_FAILED when calling "
                  "`hipblasCreate(handle)`' >&2; exit 1");
    EXPECT_EQ(finished.status, 1);
    EXPECT_TRUE(contains(finished.output, "HIPBLAS_STATUS_ALLOC_FAILED")) << finished.output;
    const Finished own =
        run_shell("echo 'Traceback (most recent call last):\n  File \"train.py\", line 4, in "
                  "<module>\n    d[\"x\"]\nKeyError: 0'; exit 1");
    EXPECT_TRUE(contains(own.output, "No GPU failure in this log: it ends with KeyError in train.py:4"))
        << own.output;
}

TEST(DoctorRun, ACommandThatSucceedsHasNoFailureInTheReport) {
    const Finished finished = run_shell("echo Killed; echo loading", {"--json"});
    EXPECT_EQ(finished.status, 0);
    const auto json = nlohmann::json::parse(finished.output);
    EXPECT_EQ(json.at("run").at("exit_status"), 0);
    EXPECT_FALSE(contains(json.at("verdict").get<std::string>(), "cannot be determined"))
        << json.at("verdict");
    EXPECT_FALSE(json.contains("recognized") && !json.at("recognized").empty()) << json.at("recognized");
    const Finished failed = run_shell("echo Killed; exit 1", {"--json"});
    EXPECT_FALSE(nlohmann::json::parse(failed.output).at("recognized").empty());
}

TEST(DoctorRun, ASignalIsDiagnosedAsTheShellReportsIt) {
    for (const auto& [signal, line] :
         {std::pair{SIGKILL, "Killed"}, std::pair{SIGSEGV, "Segmentation fault"}}) {
        const Finished finished = run_shell("kill -" + std::to_string(signal) + " $$", {"--json"});
        EXPECT_EQ(finished.status, 128 + signal);
        const nlohmann::json json = nlohmann::json::parse(finished.output);
        EXPECT_EQ(json.at("run").at("signal"), signal);
        ASSERT_FALSE(json.at("recognized").empty()) << finished.output;
        EXPECT_EQ(json.at("recognized").at(0).at("line"), line);
    }
}

TEST(DoctorRun, AnInterruptedCommandIsNotDiagnosed) {
    const Finished finished = run_shell("kill -TERM $$");
    EXPECT_EQ(finished.status, 128 + SIGTERM);
    EXPECT_TRUE(finished.output.ends_with(".\n") && contains(finished.output, "was ended by SIGTERM after"))
        << finished.output;
    EXPECT_FALSE(contains(finished.output, "Plan"));
}

TEST(DoctorRun, JsonAloneOnStandardOutput) {
    const Finished finished = run_shell("echo to output; exit 3", {"--json"});
    const nlohmann::json json = nlohmann::json::parse(finished.output);
    EXPECT_EQ(json.at("run").at("exit_status"), 3);
    EXPECT_EQ(json.at("run").at("command").at(0), "sh");
    EXPECT_EQ(finished.errors, "to output\n");
    EXPECT_FALSE(json.contains("second_run"));
}

TEST(DoctorRun, ASilentCommandIsReportedAndGoesOn) {
    const Finished finished = run_shell("echo begun; sleep 5; echo ended", {"--silence", "1"});
    EXPECT_EQ(finished.status, 0);
    EXPECT_TRUE(contains(finished.output, "begun\nended\n")) << finished.output;
    EXPECT_TRUE(contains(finished.errors, "no output for ")) << finished.errors;
    EXPECT_TRUE(contains(finished.errors, "is waiting; 1 thread: ")) << finished.errors;
    EXPECT_EQ(finished.errors.find("no output"), finished.errors.rfind("no output")) << "reported once";
    EXPECT_EQ(run_shell("sleep 2", {"--silence", "0"}).errors, "");
}

TEST(DoctorRun, AProcessLeftBehindDoesNotHoldItUp) {
    const Finished finished = run_shell("sleep 300 & echo $!; exit 1");
    EXPECT_EQ(finished.status, 1);
    const pid_t left = std::stoi(finished.output);
    EXPECT_EQ(::kill(left, SIGKILL), 0) << "it must still run: the doctor kills nothing";
}

/// Provides a fake module torch_rvk.run that prints its arguments, and a script that fails.
class DoctorFinish : public ::testing::Test {
  protected:
    void SetUp() override {
        ASSERT_TRUE(is_installed("python3")); // the build needs it too
        run_process({"mkdir", folder_.path() + "/torch_rvk"});
        folder_.file("torch_rvk/__init__.py", "");
        folder_.file("torch_rvk/run.py", "import sys\nprint('on Vulkan:', sys.argv[1:])\n");
        script_ =
            folder_.file("train.py", "import sys\nprint(sys.argv[1:])\nsys.exit('RuntimeError: failed')\n");
    }
    Surroundings with_package() const { return {.environment = {{"PYTHONPATH", folder_.path()}}}; }

    TemporaryFolder folder_;
    std::string script_;
};

TEST_F(DoctorFinish, RunsAFailedProgramOnVulkan) {
    const Finished finished =
        run({"python3", "-X", "utf8", "-u", script_, "--epochs", "3"}, {"--finish"}, with_package());
    EXPECT_EQ(finished.status, 0) << finished.errors;
    EXPECT_TRUE(contains(finished.output, "on Vulkan: ['" + script_ + "', '--epochs', '3']"))
        << finished.output;
    EXPECT_TRUE(contains(finished.output, "python3 -X utf8 -u -m torch_rvk.run " + script_ +
                                              " --epochs 3 exited with "
                                              "status 0 after"))
        << finished.output;
}

TEST_F(DoctorFinish, TheWrittenReportHasBothRuns) {
    for (const char* name : {"report.md", "report.json"}) {
        const std::string report = folder_.path() + "/" + name;
        EXPECT_EQ(run({"python3", script_}, {"--finish", "--report", report}, with_package()).status, 0);
        std::ostringstream text;
        text << std::ifstream(report).rdbuf();
        EXPECT_TRUE(contains(text.str(), "torch_rvk.run")) << text.str();
    }
}

TEST_F(DoctorFinish, RunsALauncherWithItsInterpreter) {
    const std::string launcher = folder_.file("launch", "#!/usr/bin/env python3\nraise SystemExit(4)\n");
    run_process({"chmod", "+x", launcher});
    const Finished finished = run({launcher, "a"}, {"--finish", "--json"}, with_package());
    const nlohmann::json json = nlohmann::json::parse(finished.output);
    EXPECT_EQ(json.at("run").at("exit_status"), 4);
    EXPECT_EQ(json.at("second_run").at("exit_status"), 0);
    EXPECT_TRUE(contains(finished.errors, "on Vulkan: ['" + launcher + "', 'a']")) << finished.errors;
}

TEST_F(DoctorFinish, SaysWhyItCannot) {
    const Finished without = run({"python3", script_}, {"--finish"});
    EXPECT_EQ(without.status, 1);
    EXPECT_TRUE(contains(without.errors, "torch_rvk is not installed there")) << without.errors;
    const Finished shell = run_shell("exit 5", {"--finish"});
    EXPECT_EQ(shell.status, 5);
    EXPECT_TRUE(contains(shell.errors, "--finish runs Python programs")) << shell.errors;
    const Finished succeeded = run({"python3", "-c", "pass"}, {"--finish"});
    EXPECT_FALSE(contains(succeeded.errors, "Vulkan"));
}

TEST(DoctorRun, WrongUseIsNamed) {
    const auto error_of = [](const Words& arguments) {
        const Finished finished = rekindle(joined({"doctor"}, arguments));
        EXPECT_EQ(finished.status, 2) << finished.output;
        return finished.errors;
    };
    EXPECT_TRUE(contains(error_of({"--run"}), "--run needs a command"));
    EXPECT_TRUE(
        contains(error_of({"--run", "--", "no-such-program"}), "there is no program \"no-such-program\""));
    EXPECT_TRUE(contains(error_of({"--run", "--", "/"}), "there is no program \"/\""));
    EXPECT_TRUE(contains(error_of({"train.py"}), "unexpected argument \"train.py\""));
    EXPECT_TRUE(contains(error_of({"--finish"}), "--finish needs --run"));
    EXPECT_TRUE(contains(error_of({"--silence", "3"}), "--silence needs --run"));
    EXPECT_TRUE(contains(error_of({"--run", "sh", "--epochs", "3"}), "comes after --"));
    EXPECT_TRUE(contains(error_of({"--run", "--log", "a", "--", "sh"}), "cannot be combined"));
    EXPECT_TRUE(contains(error_of({"--run", "--matrix", "--", "sh"}), "cannot be combined"));
}

} // namespace
} // namespace rekindle::cli
