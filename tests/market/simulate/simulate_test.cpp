#include "temporary_folder.h"

#include <rekindle/base/hash.h>
#include <rekindle/base/text.h>
#include <rekindle/foundation/error.h>
#include <rekindle/market/calendar.h>
#include <rekindle/market/session_plan.h>
#include <rekindle/market/simulate.h>

#include <gtest/gtest.h>

#include <charconv>
#include <cmath>
#include <fstream>
#include <map>
#include <sstream>

namespace rekindle::market {
namespace {

std::string csv(const SimulateOptions& options) {
    std::string text;
    simulate_csv(options, [&](std::string_view piece) { text += piece; });
    return text;
}

SimulateOptions small(std::int64_t bars, std::uint64_t seed = 1) {
    SimulateOptions options;
    options.bars = bars;
    options.seed = seed;
    return options;
}

TEST(Simulate, SameOptionsSameBytes) {
    EXPECT_EQ(csv(small(5000)), csv(small(5000)));
    EXPECT_NE(csv(small(5000, 1)).substr(200), csv(small(5000, 2)).substr(200));
    // Rows do not depend on how many are requested (the first line has the number).
    const std::string shorter = csv(small(3000)), longer = csv(small(5000));
    const auto rows = [](const std::string& text) { return text.substr(text.find('\n')); };
    EXPECT_EQ(rows(longer).substr(0, rows(shorter).size()), rows(shorter));
}

// The bytes must not change, because benchmarks and documents quote results that depend on them.
TEST(Simulate, BytesStayTheSame) {
    EXPECT_EQ(hash128(csv(small(20'000, 7))).hex(), "2177a9b87e6060b81cc4b77a18de2b52");
}

TEST(Simulate, TextAndTableAgree) {
    const SimulateOptions options = small(30'000);
    const BarTable table = simulate_table(options);
    const BarColumns& bars = table.columns();
    ASSERT_EQ(table.size(), 30'000u);
    std::istringstream lines(csv(options));
    std::string line;
    std::getline(lines, line);
    EXPECT_TRUE(line.starts_with("# synthetic: "));
    std::getline(lines, line);
    EXPECT_EQ(line, "timestamp,open,high,low,close,volume,contract,session,date,bar_range,bar_return,VIX");
    std::map<std::string, double> close_before;
    float vix = NAN;
    for (std::size_t i = 0; i < table.size(); ++i) {
        ASSERT_TRUE(std::getline(lines, line));
        const auto fields = split(line, ',');
        ASSERT_EQ(fields.size(), 12u) << line;
        const auto number = [&](std::size_t field) { return std::stod(std::string(fields[field])); };
        EXPECT_EQ(fields[0], format_civil(bars.time[i]));
        EXPECT_EQ(fields[8], format_date(date_of(bars.time[i])));
        EXPECT_EQ(number(1) * 4, bars.open[i]);
        EXPECT_EQ(number(2) * 4, bars.high[i]);
        EXPECT_EQ(number(3) * 4, bars.low[i]);
        EXPECT_EQ(number(4) * 4, bars.close[i]);
        EXPECT_EQ(number(5), static_cast<double>(bars.volume[i]));
        EXPECT_EQ(fields[6], table.metadata().contracts[bars.contract[i]]);
        EXPECT_EQ(fields[7],
                  fields[0].substr(11) >= "09:30:00" && fields[0].substr(11) < "16:00:00" ? "RTH" : "ETH");
        EXPECT_EQ(number(9), number(2) - number(3));
        double& before = close_before[std::string(fields[6])];
        if (before == 0) {
            EXPECT_EQ(fields[10], "");
        } else {
            EXPECT_NEAR(number(10), number(4) / before - 1, 0.51e-6);
        }
        before = number(4);
        if (!fields[11].empty())
            vix = static_cast<float>(number(11));
        EXPECT_EQ(bars.vix[i], vix) << line;
    }
    EXPECT_FALSE(std::getline(lines, line));
}

TEST(Simulate, BarsAreValid) {
    const BarTable table = simulate_table(small(200'000));
    const BarColumns& bars = table.columns();
    const ZoneClock new_york = ZoneClock::load("America/New_York");
    for (std::size_t i = 0; i < table.size(); ++i) {
        ASSERT_GT(bars.low[i], 0);
        ASSERT_LE(bars.low[i], std::min(bars.open[i], bars.close[i]));
        ASSERT_GE(bars.high[i], std::max(bars.open[i], bars.close[i]));
        ASSERT_GE(bars.volume[i], 1);
        ASSERT_FALSE(std::isnan(bars.vix[i]));
        if (i > 0) {
            ASSERT_TRUE(bars.time[i] > bars.time[i - 1] ||
                        (bars.time[i] == bars.time[i - 1] && bars.contract[i] > bars.contract[i - 1]));
        }
        const std::int64_t local = new_york.to_local(bars.time[i]);
        const std::int64_t second = local - std::int64_t{date_of(local)} * day_seconds;
        ASSERT_TRUE(second <= 17 * 3600 || second > 18 * 3600) << format_civil(local); // the daily halt
        ASSERT_NE(weekday_of(date_of(local - 1)), 5) << format_civil(local);
    }
}

// Checks what the documentation says about the model, on a year of bars.
TEST(Simulate, ResemblesAnIndexFuture) {
    const BarTable table = simulate_table(small(350'000, 3));
    const BarColumns& bars = table.columns();
    SessionRules rules;
    const SessionPlan plan = plan_sessions(table, rules, HolidayCalendar::embedded(), RollMethod::volume);
    ASSERT_GE(plan.rolls.size(), 3u);
    for (const Roll& roll : plan.rolls) {
        EXPECT_EQ(weekday_of(roll.date), 1) << format_date(roll.date); // the day after the Monday
        EXPECT_EQ(roll.gap_distance, 0);
        EXPECT_GE(roll.gap_ticks, 150);
        EXPECT_LE(roll.gap_ticks, 210);
        const auto expiry = contract_expiry(table.metadata().contracts[roll.from]);
        ASSERT_TRUE(expiry.has_value());
        EXPECT_EQ(*expiry - roll.date, 3);
    }
    rules.hours = SessionHours::rth;
    const SessionPlan regular = plan_sessions(table, rules, HolidayCalendar::embedded(), RollMethod::volume);
    double all_volume = 0, regular_volume = 0, first = 0, middle = 0, last = 0;
    for (const std::int64_t volume : bars.volume)
        all_volume += static_cast<double>(volume);
    std::vector<double> returns;
    double close_before = 0;
    for (const Session& session : regular.sessions) {
        if (session.half_day)
            continue;
        std::vector<std::size_t> held;
        for (std::size_t i = session.first; i < session.first + session.count; ++i)
            if (bars.contract[i] == session.contract)
                held.push_back(i);
        ASSERT_EQ(held.size(), 390u);
        for (std::size_t k = 0; k < held.size(); ++k) {
            const auto volume = static_cast<double>(bars.volume[held[k]]);
            regular_volume += volume;
            first += k < 30 ? volume : 0;
            middle += k >= 180 && k < 210 ? volume : 0;
            last += k >= 360 ? volume : 0;
        }
        const double close = bars.close[held.back()] - static_cast<double>(session.roll_offset);
        if (close_before > 0)
            returns.push_back(std::log(close / close_before));
        close_before = close;
    }
    EXPECT_GT(regular_volume / all_volume, 0.6);
    EXPECT_GT(first, 1.8 * middle);
    EXPECT_GT(last, 1.8 * middle);
    double mean = 0, variance = 0, covariance = 0;
    for (const double value : returns)
        mean += value / static_cast<double>(returns.size());
    for (std::size_t i = 0; i < returns.size(); ++i) {
        variance += (returns[i] - mean) * (returns[i] - mean);
        if (i > 0)
            covariance += (returns[i] - mean) * (returns[i - 1] - mean);
    }
    const auto count = static_cast<double>(returns.size());
    const double sigma = std::sqrt(variance / (count - 1));
    EXPECT_GT(sigma, 0.004);
    EXPECT_LT(sigma, 0.025);
    EXPECT_LT(std::abs(mean), 4 * sigma / std::sqrt(count));          // no drift
    EXPECT_LT(std::abs(covariance / variance), 4 / std::sqrt(count)); // no memory of the sign
}

TEST(Simulate, VolatilityClusters) {
    const BarTable table = simulate_table(small(300'000, 5));
    const BarColumns& bars = table.columns();
    // Compares the squared moves in the hours from 11:00 and from 12:00 New York time of each day, one
    // contract at a time. Both hours have about the same expected volatility.
    const ZoneClock new_york = ZoneClock::load("America/New_York");
    std::map<std::int32_t, std::array<double, 2>> moves;
    for (std::size_t i = 1; i < table.size(); ++i) {
        const std::int64_t local = new_york.to_local(bars.time[i]);
        const std::int64_t hour = (local - std::int64_t{date_of(local)} * day_seconds - 1) / 3600;
        if (bars.contract[i] == bars.contract[i - 1] && (hour == 11 || hour == 12)) {
            const double move = static_cast<double>(bars.close[i] - bars.close[i - 1]) / bars.close[i];
            moves[date_of(local)][static_cast<std::size_t>(hour - 11)] += move * move;
        }
    }
    double x = 0, y = 0, xx = 0, yy = 0, xy = 0, n = 0;
    for (const auto& [date, pair] : moves) {
        if (pair[0] == 0 || pair[1] == 0)
            continue;
        const double a = std::log(pair[0]), b = std::log(pair[1]);
        x += a, y += b, xx += a * a, yy += b * b, xy += a * b, n += 1;
    }
    const double correlation = (n * xy - x * y) / std::sqrt((n * xx - x * x) * (n * yy - y * y));
    EXPECT_GT(correlation, 0.3);
}

TEST(Simulate, WritesAFileAndRejectsInvalidOptions) {
    const rekindle::test::TemporaryFolder folder;
    const auto path = folder / "ticks.csv";
    simulate_file(small(1000), path);
    std::ifstream file(path);
    std::stringstream content;
    content << file.rdbuf();
    EXPECT_EQ(content.str(), csv(small(1000)));
    EXPECT_THROW(csv(small(0)), Error);
    EXPECT_THROW(csv(small(-5)), Error);
    EXPECT_THROW(csv(small(2'000'000'000)), Error);
    SimulateOptions early = small(10);
    early.start_date = make_date(1900, 1, 1);
    EXPECT_THROW(csv(early), Error);
    EXPECT_THROW(simulate_file(small(10), "/nonexistent/folder/file.csv"), Error);
}

} // namespace
} // namespace rekindle::market
