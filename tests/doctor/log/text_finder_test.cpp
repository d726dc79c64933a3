/// Compares the one-pass search with a plain search.

#include "log/line_patterns.h"
#include "log/text_finder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace rekindle::doctor {
namespace {

TEST(TextFinder, FindsWhatAPlainSearchFinds) {
    std::mt19937 random(7);
    const auto letters = [&](std::size_t count) {
        std::string text(count, 'a');
        for (char& c : text)
            c = static_cast<char>('a' + random() % 3); // few letters, so that texts overlap
        return text;
    };
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < 60; ++i)
        if (const std::string text = letters(1 + random() % 5);
            std::find(texts.begin(), texts.end(), text) == texts.end())
            texts.push_back(text);
    TextFinder finder(texts);
    for (int round = 0; round < 200; ++round) {
        std::string line = letters(random() % 12);
        std::vector<int> expected;
        for (std::size_t i = 0; i < texts.size(); ++i)
            if (line.find(texts[i]) != std::string::npos)
                expected.push_back(static_cast<int>(i));
        std::transform(line.begin(), line.end(), line.begin(),
                       [](char c) { return c == 'b' ? 'B' : c; }); // lines are read as if in lowercase
        std::vector<int> found;
        finder.find(line, found);
        std::sort(found.begin(), found.end());
        EXPECT_EQ(found, expected) << line;
    }
}

TEST(LinePatterns, APatternWithoutALiteralTextIsTriedOnEveryLine) {
    LinePatterns patterns;
    const int digits = patterns.add(R"(^\d+$)");
    const int word = patterns.add("Out of Memory");
    EXPECT_EQ(patterns.add("("), -1);
    patterns.compile();
    std::vector<int> numbers;
    patterns.match("4711", numbers);
    EXPECT_EQ(numbers, std::vector<int>{digits});
    patterns.match("HIP OUT OF MEMORY", numbers);
    EXPECT_EQ(numbers, std::vector<int>{word});
    patterns.match("nothing", numbers);
    EXPECT_TRUE(numbers.empty());
}

} // namespace
} // namespace rekindle::doctor
