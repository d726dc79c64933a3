#include <rekindle/base/philox.h>
#include <rekindle/base/text.h>

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace rekindle {
namespace {

TEST(Text, OrdinalsHaveTheRightEnding) {
    // An independent implementation of the rule, which depends only on the last two digits.
    const auto ending = [](std::int64_t n) -> std::string {
        if (n % 100 == 11 || n % 100 == 12 || n % 100 == 13)
            return "th";
        const std::string last = std::to_string(n % 10);
        return last == "1" ? "st" : last == "2" ? "nd" : last == "3" ? "rd" : "th";
    };
    for (std::int64_t n = 0; n < 1000; ++n)
        EXPECT_EQ(ordinal(n), std::to_string(n) + ending(n));
    EXPECT_EQ(ordinal(1002), "1,002nd");
    EXPECT_EQ(ordinal(1'000'011), "1,000,011th");
}

TEST(Text, WithThousands) {
    EXPECT_EQ(with_thousands(0), "0");
    EXPECT_EQ(with_thousands(999), "999");
    EXPECT_EQ(with_thousands(1000), "1,000");
    EXPECT_EQ(with_thousands(-1234567), "-1,234,567");
    EXPECT_EQ(with_thousands(-100), "-100");
    EXPECT_EQ(with_thousands(std::numeric_limits<std::int64_t>::min()), "-9,223,372,036,854,775,808");
}

TEST(Text, ShellWord) {
    for (const char* plain : {"train.py", "--lr=0.1", "/a/b-c_d.e:f,g@h+i"})
        EXPECT_EQ(shell_word(plain), plain);
    EXPECT_EQ(shell_word(""), "''");
    EXPECT_EQ(shell_word("a b"), "'a b'");
    EXPECT_EQ(shell_word("it's $1"), "'it'\\''s $1'");
}

TEST(Text, FormatDuration) {
    EXPECT_EQ(format_duration(0), "0.0 ms");
    EXPECT_EQ(format_duration(0.0043), "4.3 ms");
    EXPECT_EQ(format_duration(0.00996), "0.01 s");
    EXPECT_EQ(format_duration(0.43), "0.43 s");
    EXPECT_EQ(format_duration(59.99), "59.99 s");
    EXPECT_EQ(format_duration(59.996), "1 min 00 s");
    EXPECT_EQ(format_duration(125), "2 min 05 s");
    EXPECT_EQ(format_duration(3599.6), "1 h 00 min");
    EXPECT_EQ(format_duration(90000), "25 h 00 min");
}

TEST(Text, FormatBytes) {
    EXPECT_EQ(format_bytes(0), "0 B");
    EXPECT_EQ(format_bytes(1023), "1023 B");
    EXPECT_EQ(format_bytes(1536), "1.5 KiB");
    EXPECT_EQ(format_bytes((1 << 20) - 1), "1.0 MiB");
    EXPECT_EQ(format_bytes(std::uint64_t{5} << 30), "5.0 GiB");
    EXPECT_EQ(format_bytes(std::numeric_limits<std::uint64_t>::max()), "16777216.0 TiB");
}

TEST(Text, ShortestReadsBackAsTheSameDouble) {
    EXPECT_EQ(shortest(0.1), "0.1");
    EXPECT_EQ(shortest(-0.0), "-0");
    EXPECT_EQ(shortest(std::numeric_limits<double>::infinity()), "inf");
    EXPECT_EQ(shortest(-std::numeric_limits<double>::infinity()), "-inf");
    EXPECT_EQ(shortest(std::nan("")), "nan");
    PhiloxStream random(3, RandomPurpose::test);
    for (int i = 0; i < 10000; ++i) {
        const double value = std::bit_cast<double>(random.next_u64());
        if (std::isfinite(value)) {
            EXPECT_EQ(std::strtod(shortest(value).c_str(), nullptr), value);
        }
    }
}

TEST(Text, SplitKeepsEmptyParts) {
    using Parts = std::vector<std::string_view>;
    EXPECT_EQ(split("", ','), Parts{""});
    EXPECT_EQ(split(",", ','), (Parts{"", ""}));
    EXPECT_EQ(split("a,,b", ','), (Parts{"a", "", "b"}));
    EXPECT_EQ(split("a;b", ','), Parts{"a;b"});
}

TEST(Text, TrimRemovesBlanksFromBothEnds) {
    EXPECT_EQ(trim(" \t a b\r"), "a b");
    EXPECT_EQ(trim(" \r\t"), "");
    EXPECT_EQ(trim(""), "");
    EXPECT_EQ(trim("\n"), "\n") << "a line feed is not a blank";
}

TEST(Text, NearestWord) {
    const std::vector<std::string_view> options{"data", "device", "dropout-rate", "epochs"};
    EXPECT_EQ(nearest_word("dvice", options), "device");
    EXPECT_EQ(nearest_word("epoch", options), "epochs");
    EXPECT_EQ(nearest_word("drop-outrate", options), "dropout-rate");
    EXPECT_EQ(nearest_word("hidden", options), "");
    EXPECT_EQ(nearest_word("x", options), "") << "no word is close enough to a single letter";
    EXPECT_EQ(nearest_word("", options), "");
    EXPECT_EQ(nearest_word("data", {}), "");
}

} // namespace
} // namespace rekindle
