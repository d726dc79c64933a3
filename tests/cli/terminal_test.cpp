#include <rekindle/cli/surroundings.h>
#include <rekindle/cli/terminal.h>
#include <rekindle/cli/text_layout.h>

#include <gtest/gtest.h>

#include <map>

namespace rekindle::cli {
namespace {

Environment variables(std::map<std::string, std::string> values) {
    return [values = std::move(values)](const std::string& name) {
        const auto found = values.find(name);
        return found == values.end() ? std::string() : found->second;
    };
}

constexpr int no_terminal = -1;

TEST(Terminal, FirstLocaleVariableThatIsSetDecides) {
    EXPECT_TRUE(terminal_traits(no_terminal, variables({{"LANG", "de_DE.UTF-8"}})).utf8);
    EXPECT_TRUE(terminal_traits(no_terminal, variables({{"LC_CTYPE", "C.utf8"}, {"LANG", "C"}})).utf8);
    EXPECT_FALSE(terminal_traits(no_terminal, variables({{"LC_ALL", "C"}, {"LANG", "de_DE.UTF-8"}})).utf8);
    EXPECT_FALSE(terminal_traits(no_terminal, variables({{"LANG", "de_DE.ISO-8859-1"}})).utf8);
    EXPECT_FALSE(terminal_traits(no_terminal, variables({})).utf8);
}

TEST(Terminal, WidthComesFromColumns) {
    EXPECT_EQ(terminal_traits(no_terminal, variables({{"COLUMNS", "40"}})).width, 40U);
    EXPECT_EQ(terminal_traits(no_terminal, variables({{"COLUMNS", "3"}})).width, 20U);
    EXPECT_EQ(terminal_traits(no_terminal, variables({{"COLUMNS", "wide"}})).width, 80U);
    EXPECT_EQ(terminal_traits(no_terminal, variables({})).width, 80U);
    EXPECT_FALSE(terminal_traits(no_terminal, variables({})).interactive);
    EXPECT_FALSE(terminal_traits(no_terminal, variables({})).color);
}

TEST(TextLayout, WrapsAtSpaces) {
    EXPECT_EQ(wrap("one two three", 7), (std::vector<std::string>{"one two", "three"}));
    EXPECT_EQ(wrap("one incomprehensible two", 5),
              (std::vector<std::string>{"one", "incomprehensible", "two"}));
    EXPECT_EQ(wrap("", 5), (std::vector<std::string>{""}));
    EXPECT_EQ(wrap("äöü äöü", 7), (std::vector<std::string>{"äöü äöü"}));
    EXPECT_EQ(indented("a b\n\nc", 10, 2), "  a b\n\n  c\n");
}

TEST(TextLayout, ConvertsKnownCharactersToAscii) {
    EXPECT_EQ(to_ascii("3 × 4 ≤ 12 … – ✓"), "3 x 4 <= 12 ... - ?");
    EXPECT_EQ(to_ascii("plain\ttext\n"), "plain\ttext\n");
    EXPECT_EQ(to_ascii("\xff\xc3"), "??");
}

TEST(Surroundings, FollowsTheXdgSpecification) {
    EXPECT_EQ(user_folders(variables({{"HOME", "/home/ada"}})).config, "/home/ada/.config/rekindle");
    EXPECT_EQ(user_folders(variables({{"HOME", "/home/ada"}})).cache, "/home/ada/.cache/rekindle");
    EXPECT_EQ(user_folders(variables({{"HOME", "/h"}, {"XDG_CONFIG_HOME", "/etc/x"}})).config,
              "/etc/x/rekindle");
    EXPECT_EQ(user_folders(variables({{"HOME", "/h"}, {"XDG_CACHE_HOME", "relative"}})).cache,
              "/h/.cache/rekindle");
    EXPECT_EQ(user_folders(variables({{"HOME", "/h"}, {"REKINDLE_CACHE_DIR", "/big/cache"}})).cache,
              "/big/cache");
    EXPECT_EQ(user_folders(variables({})).config, "");
    const Environment home = variables({{"HOME", "/home/ada"}});
    EXPECT_EQ(shown_folders(user_folders(home), home).config, "~/.config/rekindle");
}

TEST(Surroundings, NamesVariablesOfOtherSystemsInOneSentence) {
    const std::vector<std::string> none{"HOME=/root", "PYTHONPATH=/workspace", "AMDGPU=1", "PATH=/bin"};
    EXPECT_EQ(ineffective_variables(none), "");
    const std::vector<std::string> some{"HSA_XNACK=1", "HOME=/root",
                                        "CUDA_VISIBLE_DEVICES=", "HIP_VISIBLE_DEVICES=0,1"};
    EXPECT_EQ(ineffective_variables(some),
              "without effect here, because Rekindle uses neither ROCm, CUDA nor PyTorch: "
              "CUDA_VISIBLE_DEVICES=, HIP_VISIBLE_DEVICES=0,1, HSA_XNACK=1");
}

} // namespace
} // namespace rekindle::cli
