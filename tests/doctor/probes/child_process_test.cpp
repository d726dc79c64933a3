#include "probes/child_process.h"
#include "probes/probe_child_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <dirent.h>
#include <fstream>
#include <iterator>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace rekindle::doctor {
namespace {

using namespace std::chrono_literals;
using End = ChildOutcome::End;
using test::misbehaving;

struct Watched {
    ChildOutcome outcome;
    std::vector<std::string> lines;
};

Watched watch(const ChildCommand& command) {
    Watched watched;
    watched.outcome = run_children({&command, 1}, [&](std::size_t, std::string_view line) {
                          watched.lines.emplace_back(line);
                      }).front();
    return watched;
}

std::size_t open_descriptors() {
    std::size_t count = 0;
    DIR* folder = ::opendir("/proc/self/fd");
    while (::readdir(folder) != nullptr)
        ++count;
    ::closedir(folder);
    return count;
}

bool has_children() {
    siginfo_t info{};
    return ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 || errno != ECHILD;
}

TEST(ChildProcess, ExitStatusSignalAndMissingProgram) {
    EXPECT_EQ(watch(misbehaving({"exit", "0"})).outcome.end, End::exited);
    EXPECT_EQ(watch(misbehaving({"exit", "7"})).outcome.exit_status, 7);
    const ChildOutcome aborted = watch(misbehaving({"abort"})).outcome;
    EXPECT_EQ(aborted.end, End::signaled);
    EXPECT_EQ(aborted.signal, SIGABRT);
    ChildCommand absent = misbehaving({"exit", "0"});
    absent.program = "/no/such/program";
    const ChildOutcome not_started = watch(absent).outcome;
    EXPECT_EQ(not_started.end, End::not_started);
    EXPECT_EQ(not_started.why, "cannot start /no/such/program: No such file or directory");
}

TEST(ChildProcess, AChildThatIgnoresSigtermIsKilledAtItsDeadline) {
    for (const auto deadline : {1500ms, 2500ms}) { // time to start on a busy machine, even with sanitizers
        const Watched watched = watch(misbehaving({"ignore-sigterm"}, deadline));
        EXPECT_EQ(watched.outcome.end, End::killed);
        EXPECT_EQ(watched.outcome.signal, SIGKILL);
        EXPECT_EQ(watched.lines, std::vector<std::string>{"ready"});
        const double limit = std::chrono::duration<double>(deadline).count();
        EXPECT_GE(watched.outcome.seconds, limit);
    }
}

TEST(ChildProcess, AChildThatCannotBeKilledIsAbandoned) {
    // The deadline leaves the tracer time to attach on a busy machine.
    ChildCommand command = misbehaving({"unkillable", "4500"}, 2000ms);
    command.kill_grace = 300ms;
    const ChildOutcome outcome = watch(command).outcome;
    if (outcome.end == End::exited && outcome.exit_status == 77)
        GTEST_SKIP() << "skipped: this machine does not allow ptrace, which simulates the kernel here";
    EXPECT_EQ(outcome.end, End::unkillable);
    EXPECT_GE(outcome.seconds, 2.3);
    while (::waitpid(-1, nullptr, 0) > 0) { // its tracer lets go eventually
    }
}

TEST(ChildProcess, AFloodIsReadAndDiscarded) {
    for (const char* where : {"errors", "results"}) {
        const ChildOutcome outcome = watch(misbehaving({"flood", where}, 300ms)).outcome;
        EXPECT_EQ(outcome.end, End::killed) << where;
        EXPECT_LE(outcome.written.size(), 4096U) << where;
    }
    EXPECT_EQ(watch(misbehaving({"flood", "results"}, 5s)).outcome.why,
              "it wrote more results than any probe produces");
}

TEST(ChildProcess, TheEndOfTheOutputIsKeptAsText) {
    const ChildOutcome outcome = watch(misbehaving({"much"}, 20s)).outcome;
    EXPECT_EQ(outcome.end, End::exited);
    EXPECT_EQ(outcome.written.size(), 4096U);
    EXPECT_TRUE(outcome.written.ends_with("line 99998\nline 99999\n??[31m\xc3\xa4\n"))
        << outcome.written.substr(outcome.written.size() - 60);
}

TEST(ChildProcess, StragglersOfItsGroupDieWithIt) {
    const Watched watched = watch(misbehaving({"straggler"}));
    EXPECT_EQ(watched.outcome.end, End::exited);
    ASSERT_EQ(watched.lines.size(), 1U);
    const auto straggler = static_cast<pid_t>(std::stol(watched.lines.front()));
    for (int i = 0; i < 12'000 && ::kill(straggler, 0) == 0; ++i) { // two minutes
        std::ifstream status("/proc/" + watched.lines.front() + "/stat");
        const std::string text{std::istreambuf_iterator<char>(status), {}};
        if (text.find(") Z ") != std::string::npos)
            break; // dead; the process that adopted it may notice later
        std::this_thread::sleep_for(10ms);
        ASSERT_LT(i, 11'999) << "the straggler is still alive";
    }
}

TEST(ChildProcess, InheritsNothingAndDumpsNoCore) {
    const int left_open = ::dup(STDERR_FILENO); // without close-on-exec
    ChildCommand command = misbehaving({"describe"});
    command.input = "what it reads";
    command.environment["REKINDLE_TEST_VARIABLE"] = "set";
    const Watched watched = watch(command);
    ::close(left_open);
    // 1 also stops programs in core_pattern; a sanitizer's runtime lowers it to 0.
    EXPECT_THAT(watched.lines,
                testing::ElementsAre("descriptors: 0 1 2 3", testing::AnyOf("core: 1", "core: 0"),
                                     "leader: yes", "input: what it reads", "variable: set"));
}

TEST(ChildProcess, AStepDeadlineRestartsAtEveryLine) {
    ChildCommand command = misbehaving({"steps"}, 2000ms);
    command.deadline_restarts = true;
    const Watched watched = watch(command);
    EXPECT_EQ(watched.outcome.end, End::killed);
    EXPECT_EQ(watched.lines.size(), 6U) << "each step starts the deadline again";
    EXPECT_GE(watched.outcome.seconds, 2.6);
}

TEST(ChildProcess, SeveralRunTogetherAndLeaveNothingBehind) {
    const std::size_t before = open_descriptors();
    std::vector<ChildCommand> commands;
    for (int i = 0; i < 4; ++i)
        commands.push_back(misbehaving({"ignore-sigterm"}, 4000ms));
    commands.push_back(misbehaving({"exit", "3"}));
    const auto start = std::chrono::steady_clock::now();
    const std::vector<ChildOutcome> outcomes = run_children(commands, [](std::size_t, std::string_view) {});
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    double one_after_the_other = 0;
    for (const ChildOutcome& outcome : outcomes)
        one_after_the_other += outcome.seconds;
    EXPECT_LT(took.count(), one_after_the_other);
    for (int i = 0; i < 4; ++i)
        EXPECT_EQ(outcomes[i].end, End::killed);
    EXPECT_EQ(outcomes[4].exit_status, 3);
    EXPECT_EQ(open_descriptors(), before);
    EXPECT_FALSE(has_children()) << "a zombie, or a child that is still alive";
}

TEST(ChildProcess, TextIsValidUtf8) {
    EXPECT_EQ(printable_text("plain\n\ttext"), "plain\n\ttext");
    EXPECT_EQ(printable_text("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"), "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80");
    EXPECT_EQ(printable_text("\xa4 tail of a letter"), "? tail of a letter");
    EXPECT_EQ(printable_text("cut \xe2\x82"), "cut ??");
    EXPECT_EQ(printable_text("\xc0\x80 \xed\xa0\x80 \xf5"), "?? ??? ?");
    EXPECT_EQ(printable_text(std::string_view("\0\x7f\r", 3)), "???");
}

} // namespace
} // namespace rekindle::doctor
