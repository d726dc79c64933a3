/// Numbers and times as text, compared with fmt, with the C library, and with known values.

#include "reading/table_text.h"

#include <rekindle/base/philox.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <limits>
#include <string>
#include <vector>

namespace rekindle::market::reading {
namespace {

/// What append(text) appends.
template <class Append>
std::string text_of(const Append& append) {
    std::string text;
    append(text);
    return text;
}

std::string fixed(std::int64_t value, int scale) {
    return text_of([&](std::string& text) { append_fixed(value, scale, text); });
}

/// Integers of every length, with neighbors of the powers of two and ten, then random ones.
std::vector<std::int64_t> integers() {
    std::vector<std::int64_t> values{0, std::numeric_limits<std::int64_t>::min(),
                                     std::numeric_limits<std::int64_t>::max()};
    for (std::int64_t power = 1; power <= 1'000'000'000'000'000'000 / 10; power *= 10)
        for (const std::int64_t near : {power - 1, power, power + 1})
            values.insert(values.end(), {near, -near});
    PhiloxStream random(7, RandomPurpose::test);
    for (int i = 0; i < 2000; ++i) {
        const std::uint64_t bits = random.next_u64();
        values.push_back(static_cast<std::int64_t>(bits) >> i % 64);
    }
    return values;
}

TEST(TableText, IntegersAreThoseOfFmt) {
    for (const std::int64_t value : integers()) {
        EXPECT_EQ(text_of([&](std::string& text) { append_integer(value, text); }), fmt::format("{}", value));
        const auto bits = static_cast<std::uint64_t>(value);
        EXPECT_EQ(text_of([&](std::string& text) { append_integer(bits, text); }), fmt::format("{}", bits));
    }
}

// Removing the point and restoring the zeros gives the integer back.
TEST(TableText, FixedPointNumbersKeepEveryDigit) {
    EXPECT_EQ(fixed(0, 4), "0");
    EXPECT_EQ(fixed(-5, 4), "-0.0005");
    EXPECT_EQ(fixed(45'272'500, 4), "4527.25");
    EXPECT_EQ(fixed(-376'300, 4), "-37.63");
    EXPECT_EQ(fixed(120'000, 4), "12");
    EXPECT_EQ(fixed(std::numeric_limits<std::int64_t>::min(), 18), "-9.223372036854775808");
    for (const std::int64_t value : integers()) {
        for (const int scale : {0, 1, 4, 9, 18}) {
            std::string digits = fixed(value, scale);
            const std::size_t point = digits.find('.');
            const auto decimals =
                point == std::string::npos ? 0 : static_cast<int>(digits.size() - point) - 1;
            EXPECT_TRUE(decimals == 0 || digits.back() != '0') << digits;
            if (point != std::string::npos)
                digits.erase(point, 1);
            digits.append(static_cast<std::size_t>(scale - decimals), '0');
            const bool negative = digits.front() == '-';
            const std::size_t first = digits.find_first_of("123456789");
            digits = first == std::string::npos ? "0" : (negative ? "-" : "") + digits.substr(first);
            EXPECT_EQ(digits, fmt::format("{}", value)) << scale;
        }
    }
}

TEST(TableText, RealNumbersGiveTheSameDoubleAndAreShortest) {
    const auto real = [](double value) {
        return text_of([&](std::string& text) { append_real(value, text); });
    };
    EXPECT_EQ(real(4189.51), "4189.51");
    EXPECT_EQ(real(-37.63), "-37.63");
    EXPECT_EQ(real(0.1 + 0.2), "0.30000000000000004");
    EXPECT_EQ(real(1.15e-05), "1.15e-05");
    EXPECT_EQ(real(std::nan("")), "nan");
    EXPECT_EQ(real(HUGE_VAL), "inf");
    EXPECT_EQ(real(std::nextafter(0.00005, 0)), "4.9999999999999996e-05");
    PhiloxStream random(8, RandomPurpose::test);
    for (int i = 0; i < 5000; ++i) {
        const std::uint32_t bits = random.next_u32();
        for (const double value : {static_cast<double>(bits) / 100, -static_cast<double>(bits) / 10'000,
                                   static_cast<double>(bits) / 3, static_cast<double>(bits) * 1e9}) {
            const std::string text = real(value);
            EXPECT_EQ(std::strtod(text.c_str(), nullptr), value) << text;
            EXPECT_LE(text.size(), fmt::format("{}", value).size() + 1) << text;
        }
    }
}

TEST(TableText, TimesAreThoseOfTheCLibrary) {
    const auto time = [](std::int64_t count, std::int64_t per_second) {
        return text_of([&](std::string& text) { append_time(count, per_second, text); });
    };
    EXPECT_EQ(time(-1, 1'000'000'000), "1969-12-31 23:59:59.999999999");
    EXPECT_EQ(time(1'709'303'460'250, 1000), "2024-03-01 14:31:00.25");
    EXPECT_EQ(time(std::int64_t{400} * 366 * 86'400, 1), "beyond the calendar 00:00:00");
    PhiloxStream random(9, RandomPurpose::test);
    for (int i = 0; i < 5000; ++i) {
        const std::int64_t seconds = std::int64_t{random.next_u32()} - (std::int64_t{1} << 31);
        const std::time_t stamp = seconds;
        std::tm civil{};
        ASSERT_TRUE(gmtime_r(&stamp, &civil));
        std::array<char, 32> expected{};
        ASSERT_GT(std::strftime(expected.data(), expected.size(), "%Y-%m-%d %H:%M:%S", &civil), 0U);
        EXPECT_EQ(time(seconds, 1), expected.data());
        EXPECT_EQ(time(seconds * 1'000'000, 1'000'000), expected.data());
    }
}

TEST(TableText, QuotesOnlyWhereTheyAreNecessary) {
    const auto quoted = [](std::string_view value) {
        return text_of([&](std::string& text) { append_quoted(value, text); });
    };
    EXPECT_EQ(quoted(""), "");
    EXPECT_EQ(quoted("ES 03-25"), "ES 03-25");
    EXPECT_EQ(quoted("a,\"b\""), "\"a,\"\"b\"\"\"");
    EXPECT_EQ(quoted("tab\tand\nline"), "tab?and?line");
}

} // namespace
} // namespace rekindle::market::reading
