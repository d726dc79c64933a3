/// Compares the search for many texts with a plain search.

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

TEST(TextFinder, FindsLongTextsInLongLines) {
    std::mt19937 random(11);
    const auto bytes = [&](std::size_t count, unsigned kinds) {
        std::string text(count, ' ');
        for (char& c : text)
            c = static_cast<char>(128 - kinds / 2 + random() % kinds); // letters and bytes of UTF-8
        std::transform(text.begin(), text.end(), text.begin(),
                       [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; });
        return text;
    };
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < 3000; ++i)
        texts.push_back(bytes(3 + random() % 10, 120));
    std::sort(texts.begin(), texts.end());
    texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
    TextFinder finder(texts);
    std::size_t count = 0;
    for (int round = 0; round < 200; ++round) {
        std::string line = bytes(random() % 300, 120);
        for (auto more = random() % 4; more > 0; --more)
            line.insert(random() % (line.size() + 1), texts[random() % texts.size()]);
        line.resize(line.size() - std::min<std::size_t>(line.size(), random() % 3)); // may cut one at the end
        std::vector<int> expected;
        for (std::size_t i = 0; i < texts.size(); ++i)
            if (line.find(texts[i]) != std::string::npos)
                expected.push_back(static_cast<int>(i));
        std::vector<int> found;
        finder.find(line, found);
        std::sort(found.begin(), found.end());
        EXPECT_EQ(found, expected);
        count += expected.size();
        for (const int text : expected)
            EXPECT_TRUE(finder.found_last(text));
    }
    EXPECT_GT(count, 200U);
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
