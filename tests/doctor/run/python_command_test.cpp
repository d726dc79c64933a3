#include <rekindle/doctor/watched_run.h>

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <temporary_folder.h>

namespace rekindle::doctor {
namespace {

using Words = std::vector<std::string>;

/// A folder with programs.
class Programs {
  public:
    std::string add(const std::string& name, std::string_view first_line) const {
        const std::string path = (folder_ / name).string();
        std::ofstream(path) << first_line << "\n";
        std::filesystem::permissions(path, std::filesystem::perms::owner_all);
        return path;
    }

  private:
    test::TemporaryFolder folder_;
};

TEST(PythonCommand, TheInterpreterOfEachKindOfCommand) {
    const Programs programs;
    for (const char* name : {"python", "python3", "python3.11", "python3.14t"}) {
        const std::string python = programs.add(name, "\x7f"
                                                      "ELF");
        EXPECT_EQ(interpreter_of({python, "train.py"}), python);
        EXPECT_EQ(interpreter_of({programs.add("torchrun", "#!" + python), "train.py"}), python);
        EXPECT_EQ(interpreter_of({programs.add("accelerate", "#! " + python + " -s"), "launch"}), python);
    }
    EXPECT_EQ(interpreter_of({programs.add("shell", "#!/bin/sh")}), "");
    EXPECT_EQ(interpreter_of({programs.add("pythonize", "\x7f"
                                                        "ELF")}),
              "");
    EXPECT_EQ(interpreter_of({programs.add("gone", "#!/nowhere/python3")}), "");
    EXPECT_EQ(interpreter_of({"/nowhere/python3", "train.py"}), "");
    EXPECT_EQ(interpreter_of({}), "");
}

TEST(PythonCommand, RunsTheSameProgramOnVulkan) {
    const Programs programs;
    const std::string python = programs.add("python3", "\x7f"
                                                       "ELF");
    const auto changed = [&](Words words) {
        words.insert(words.begin(), python);
        Words result = command_on_vulkan(words);
        if (!result.empty()) {
            EXPECT_EQ(result.front(), python);
            result.erase(result.begin());
        }
        return result;
    };
    EXPECT_EQ(changed({"train.py", "-m", "x"}), (Words{"-m", "torch_rvk.run", "train.py", "-m", "x"}));
    EXPECT_EQ(changed({"-u", "-X", "dev", "-W", "error", "train.py"}),
              (Words{"-u", "-X", "dev", "-W", "error", "-m", "torch_rvk.run", "train.py"}));
    EXPECT_EQ(changed({"-m", "package.train", "--lr", "1"}),
              (Words{"-m", "torch_rvk.run", "-m", "package.train", "--lr", "1"}));
    EXPECT_EQ(changed({"-c", "pass"}), (Words{"-m", "torch_rvk.run", "-c", "pass"}));
    EXPECT_EQ(changed({}), Words{});
    EXPECT_EQ(changed({"-u"}), Words{});
    const std::string launcher = programs.add("launch", "#!" + python);
    EXPECT_EQ(command_on_vulkan({launcher, "a"}), (Words{python, "-m", "torch_rvk.run", launcher, "a"}));
    EXPECT_EQ(command_on_vulkan({programs.add("shell", "#!/bin/sh"), "train.py"}), Words{});
}

TEST(LogCollector, KeepsWhatTheFileWouldGive) {
    const test::TemporaryFolder folder;
    const std::filesystem::path file = folder / "collected.log";
    for (const std::size_t lines : {std::size_t{3}, std::size_t{300'000}, std::size_t{2'000'000}}) {
        std::string text;
        for (std::size_t i = 0; i < lines; ++i)
            text += "line " + std::to_string(i) + (i % 7 == 0 ? "\r\n" : "\n");
        std::ofstream(file, std::ios::binary) << text;
        LogCollector collector;
        for (std::size_t at = 0; at < text.size(); at += 60'001)
            collector.append(std::string_view(text).substr(at, 60'001));
        const LogText collected = collector.text("log");
        const LogText read = read_log(file);
        EXPECT_EQ(collected.bytes, text.size());
        ASSERT_FALSE(collected.lines.empty());
        EXPECT_EQ(collected.lines.front().text, read.lines.front().text);
        EXPECT_EQ(collected.lines.back().text, read.lines.back().text);
        EXPECT_EQ(collected.lines.back().number, lines);
    }
}

} // namespace
} // namespace rekindle::doctor
