#include "lines_sink.h"
#include "temporary_folder.h"

#include <rekindle/doctor/fix.h>
#include <rekindle/foundation/error.h>
#include <rekindle/foundation/file.h>

#include <gtest/gtest.h>

#include <cstdlib>

namespace rekindle::doctor {
namespace {

Step make_folder(const std::string& environment) {
    Step step;
    step.id = "new-environment";
    step.commands = {"mkdir '" + environment + "'", "echo made"};
    step.verify = "test -d '" + environment + "' && echo it is there";
    step.expect = "it is there";
    step.undo = {"rm -rf '" + environment + "'"};
    step.automatic = true;
    step.environment = environment;
    return step;
}

TEST(Fix, RunsAndChecksTheCommandsAndWritesAnUndoScript) {
    const test::TemporaryFolder folder;
    const std::string environment = folder.path() / "env";
    LinesSink lines;
    const FixResult result = carry_out(make_folder(environment), {}, folder.path() / "records", lines);
    EXPECT_TRUE(result.carried_out);
    EXPECT_TRUE(result.verified) << result.failure;
    EXPECT_TRUE(std::filesystem::is_directory(environment));
    EXPECT_EQ(lines.text, "made\nit is there\n");
    EXPECT_EQ(read_file(result.folder / "output.log"), lines.text);
    EXPECT_NE(read_file(result.folder / "facts.json").find("\"schema\": 1"), std::string::npos);
    EXPECT_EQ(std::system(result.undo_script.c_str()), 0);
    EXPECT_FALSE(std::filesystem::exists(environment));
}

TEST(Fix, StopsAtTheFirstCommandThatFails) {
    const test::TemporaryFolder folder;
    Step step = make_folder(folder.path() / "env");
    step.commands = {"mkdir '" + step.environment + "'", "false", "echo never"};
    LinesSink lines;
    const FixResult result = carry_out(step, {}, folder.path() / "records", lines);
    EXPECT_FALSE(result.carried_out);
    EXPECT_FALSE(result.verified);
    EXPECT_EQ(result.failure, "the commands ended with status 1");
    EXPECT_EQ(lines.text.find("never"), std::string::npos);
    EXPECT_TRUE(std::filesystem::exists(result.undo_script));
}

TEST(Fix, ACheckThatPrintsSomethingElseFails) {
    const test::TemporaryFolder folder;
    Step step = make_folder(folder.path() / "env");
    step.verify = "echo something else";
    LinesSink lines;
    const FixResult result = carry_out(step, {}, folder.path() / "records", lines);
    EXPECT_TRUE(result.carried_out);
    EXPECT_FALSE(result.verified);
}

TEST(Fix, RefusesStepsThatTheUserMustRun) {
    const test::TemporaryFolder folder;
    const auto reason = [&](auto change) {
        Step step = make_folder(folder.path() / "env");
        change(step);
        return reason_to_refuse(step);
    };
    EXPECT_EQ(reason([](Step&) {}), "");
    EXPECT_EQ(reason([](Step& step) { step.root = true; }), "it needs root");
    EXPECT_EQ(reason([](Step& step) { step.reboot = true; }), "it needs a reboot");
    EXPECT_NE(reason([](Step& step) { step.automatic = false; }), "");
    EXPECT_NE(reason([](Step& step) { step.undo.clear(); }), "");
    EXPECT_NE(reason([](Step& step) { step.environment = "relative"; }), "");
    EXPECT_EQ(reason([&](Step& step) { step.environment = folder.path(); }),
              folder.path().string() + " exists already");
    Step step = make_folder(folder.path() / "env");
    step.root = true;
    LinesSink lines;
    EXPECT_THROW(carry_out(step, {}, folder.path() / "records", lines), Error);
    EXPECT_FALSE(std::filesystem::exists(folder.path() / "records"));
}

} // namespace
} // namespace rekindle::doctor
