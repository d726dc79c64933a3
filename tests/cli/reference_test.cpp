#include "process.h"

#include <rekindle/cli/reference.h>
#include <rekindle/cli/text_layout.h>
#include <rekindle/foundation/environment.h>
#include <rekindle/foundation/error.h>
#include <rekindle/foundation/file.h>
#include <rekindle/trainer/verify.h>

#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

namespace rekindle::cli {
namespace {

const UserFolders folders{.cache = "~/.cache/rekindle", .config = "~/.config/rekindle"};
const std::filesystem::path source = std::filesystem::path(REKINDLE_TEST_DATA) / "../../..";

/// Compares with a committed file; REKINDLE_RENEW_GOLDEN=1 in the environment writes it again.
void expect_golden(const std::string& name, const std::string& text) {
    const std::filesystem::path file = std::filesystem::path(REKINDLE_TEST_DATA) / name;
    if (switched_on("REKINDLE_RENEW_GOLDEN"))
        write_file_atomically(file, text);
    EXPECT_EQ(text, read_file(file)) << "run the test with REKINDLE_RENEW_GOLDEN=1 and review the diff";
}

TEST(Help, MatchesGoldenFilesAt80And40Columns) {
    for (const std::size_t width : {80U, 40U}) {
        expect_golden("help-" + std::to_string(width) + ".txt", render_overview(width, folders));
        for (const char* command : {"train", "volume-profile"})
            expect_golden("help-" + std::string(command) + "-" + std::to_string(width) + ".txt",
                          render_help(*find_command(command), width, folders));
    }
}

TEST(Help, FitsEveryWidth) {
    for (const CommandSpec& command : command_table())
        for (const std::size_t width : {20U, 40U, 63U, 64U, 80U, 100U}) {
            std::istringstream text(render_help(command, width, folders));
            for (std::string line; std::getline(text, line);) {
                const bool one_word = line.find(' ', line.find_first_not_of(' ')) == std::string::npos;
                EXPECT_TRUE(display_width(line) <= width || one_word) << width << " columns: " << line;
                EXPECT_TRUE(line.empty() || line.back() != ' ') << line;
            }
        }
}

TEST(Help, NamesEveryOptionWithItsDefault) {
    const std::string help = render_help(*find_command("train"), 100, folders);
    for (const OptionSpec* option : options_of("train"))
        EXPECT_NE(help.find("--" + std::string(option->name)), std::string::npos) << option->name;
    EXPECT_NE(help.find("Rows per batch [32]"), std::string::npos);
    EXPECT_NE(help.find("Nothing is ever sent anywhere"), std::string::npos);
}

TEST(Pages, CommittedPagesAreUpToDate) {
    for (const auto& [name, text] : committed_pages())
        EXPECT_EQ(text, read_file(source / "docs" / name))
            << "docs/" << name << ": run rekindle generate-docs docs --only committed";
}

TEST(Pages, ReferenceHasEveryCommandAndOption) {
    const std::map<std::string, std::string> pages = reference_pages();
    for (const CommandSpec& command : command_table())
        EXPECT_NE(pages.at("reference/commands.md").find("\n## " + std::string(command.name) + "\n"),
                  std::string::npos)
            << command.name;
    for (const OptionSpec& option : option_table())
        EXPECT_NE(pages.at("reference/options.md").find("\n## --" + std::string(option.name)),
                  std::string::npos)
            << option.name;
}

TEST(Pages, CommittedHardwarePageIsUpToDate) {
    EXPECT_EQ(trainer::hardware_page_of(source / "docs"), read_file(source / "docs" / "hardware.md"))
        << "run rekindle generate-docs docs --only committed";
}

TEST(Pages, ExamplesUseTheirOption) {
    for (const OptionSpec& option : option_table()) {
        std::istringstream words{std::string(option.example)};
        bool found = false;
        for (std::string word; words >> word;)
            found = found || word.substr(0, word.find('=')) == "--" + std::string(option.name);
        EXPECT_TRUE(found) << "the example of --" << option.name << " does not use it";
    }
}

/// Checks that a shell accepts the script.
void expect_valid(const std::string& shell, const std::vector<std::string>& check) {
    const TemporaryFolder folder;
    const std::string file = folder.file("script", completion_script(shell));
    std::vector<std::string> words = check;
    words.push_back(file);
    const Finished finished = run_process(words);
    EXPECT_EQ(finished.status, 0) << finished.errors;
    EXPECT_EQ(finished.errors, "");
}

TEST(Completions, BashCompletesCommandsOptionsAndWords) {
    expect_valid("bash", {"bash", "-n"});
    const auto completed = [](const std::string& words, int index) {
        const TemporaryFolder folder;
        const std::string script = folder.file("script", completion_script("bash"));
        return run_process({"bash", "-c",
                            "source " + script + "; COMP_WORDS=(" + words + "); COMP_CWORD=" +
                                std::to_string(index) + "; _rekindle; echo ${COMPREPLY[@]}"})
            .output;
    };
    EXPECT_EQ(completed("rekindle vol", 1), "volume-profile\n");
    EXPECT_EQ(completed("rekindle train --batch", 2), "--batch-size\n");
    EXPECT_EQ(completed("rekindle train --clock ex", 3), "exchange\n");
    EXPECT_EQ(completed("rekindle profile --value-area t", 3), "two-row\n");
    EXPECT_EQ(completed("rekindle completions z", 2), "zsh\n");
    EXPECT_EQ(completed("rekindle train --epochs ''", 3), "\n");
}

TEST(Completions, ZshReadsTheScript) {
    if (!is_installed("zsh"))
        GTEST_SKIP() << "zsh is not installed";
    expect_valid("zsh", {"zsh", "-n"});
}

TEST(Completions, FishCompletes) {
    if (!is_installed("fish"))
        GTEST_SKIP() << "fish is not installed";
    expect_valid("fish", {"fish", "-n"});
    const TemporaryFolder folder;
    const std::string script = folder.file("script", completion_script("fish"));
    const Finished finished = run_process(
        {"fish", "--no-config", "-c", "source " + script + "; complete -C 'rekindle train --clock ex'"},
        {.environment = {{"HOME", folder.path()}}});
    EXPECT_TRUE(finished.output.starts_with("exchange\t")) << finished.output << finished.errors;
}

TEST(Completions, RefusesOtherShells) {
    EXPECT_THROW(completion_script("tcsh"), Error);
}

TEST(ManualPages, FormatWithoutWarnings) {
    if (!is_installed("man"))
        GTEST_SKIP() << "man is not installed";
    const TemporaryFolder folder;
    for (const auto& [name, text] : manual_pages()) {
        const Finished finished = run_process({"man", "--warnings", "-l", folder.file(name, text)},
                                              {.environment = {{"MANWIDTH", "80"}, {"LC_ALL", "C.UTF-8"}}});
        EXPECT_EQ(finished.status, 0) << name;
        EXPECT_EQ(finished.errors, "") << name;
        EXPECT_NE(finished.output.find("EXIT STATUS"), std::string::npos) << name;
    }
}

TEST(ManualPages, PassMandoc) {
    if (!is_installed("mandoc"))
        GTEST_SKIP() << "mandoc is not installed";
    const TemporaryFolder folder;
    for (const auto& [name, text] : manual_pages()) {
        const Finished finished =
            run_process({"mandoc", "-T", "lint", "-W", "warning", folder.file(name, text)});
        std::istringstream lines(finished.output);
        for (std::string line; std::getline(lines, line);)
            EXPECT_NE(line.find("missing date"), std::string::npos)
                << line; // omitted, so that builds are reproducible
    }
}

} // namespace
} // namespace rekindle::cli
