/// The length of bars from their timestamps, over lengths, gaps and short files.

#include <rekindle/base/philox.h>
#include <rekindle/market/bar_length.h>
#include <rekindle/market/clock.h>

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <vector>

namespace rekindle::market {
namespace {

constexpr std::int64_t minute = 60, hour = 3600, day = day_seconds, week = 7 * day, month = 30 * day;
constexpr std::array lengths{minute, 2 * minute, 5 * minute, 15 * minute, 30 * minute,
                             hour,   4 * hour,   day,        week};

BarSpacing spacing_of(const std::vector<std::int64_t>& times) {
    std::map<std::int64_t, std::uint64_t> counts;
    for (std::size_t i = 1; i < times.size(); ++i)
        ++counts[times[i] - times[i - 1]];
    const std::vector<std::pair<std::int64_t, std::uint64_t>> pairs(counts.begin(), counts.end());
    return BarSpacing(pairs);
}

/// Ends of the bars of a market that trades on weekdays for `open` seconds a day. A day's last bar is cut off
/// at the close.
std::vector<std::int64_t> bar_ends(std::int64_t length, int days, std::int64_t open) {
    std::vector<std::int64_t> times;
    const std::int32_t first = make_date(2024, 1, 1); // a Monday
    for (std::int32_t date = first; date < first + days; ++date) {
        const std::int64_t begin = std::int64_t{date} * day;
        if (length >= week) {
            if (weekday_of(date) == 4)
                times.push_back(begin);
            continue;
        }
        if (weekday_of(date) >= 5)
            continue;
        if (length == day) {
            times.push_back(begin);
            continue;
        }
        for (std::int64_t end = length; end < open + length; end += length)
            times.push_back(begin + std::min(end, open));
    }
    return times;
}

/// Keeps each time with the given probability.
std::vector<std::int64_t> with_gaps(const std::vector<std::int64_t>& times, double kept, std::uint64_t seed) {
    PhiloxStream random(seed, RandomPurpose::test);
    std::vector<std::int64_t> result;
    for (const std::int64_t time : times)
        if (random.next_below(1000) < static_cast<std::uint32_t>(1000 * kept))
            result.push_back(time);
    return result;
}

/// A future's 23 hours, a coin's 24, a stock's 6.5 hours.
constexpr std::array openings{23 * hour, 24 * hour, 13 * hour / 2};

TEST(BarLength, IsToldApartForEveryPairOfLengths) {
    for (const std::int64_t open : openings)
        for (const std::int64_t trained : lengths) {
            const auto length = BarLength::of(spacing_of(bar_ends(trained, 200, open)));
            EXPECT_TRUE(length.is_regular()) << bar_length_text(trained);
            for (const std::int64_t other : lengths)
                for (const int days : {15, 35, 200}) {
                    if (other == week && days < 35)
                        continue; // two bars
                    EXPECT_EQ(has_length(spacing_of(bar_ends(other, days, open)), length),
                              trained == other ? SameLength::yes : SameLength::no)
                        << bar_length_text(trained) << ", then " << bar_length_text(other) << " for " << days
                        << " days of " << open << " s";
                }
        }
}

/// Minutes without trades are absent: half of the bars, or two of three.
TEST(BarLength, GapsDoNotChangeIt) {
    for (const double kept : {0.9, 0.5, 0.33})
        for (const std::int64_t trained : {minute, 5 * minute, hour})
            for (const std::int64_t other : {minute, 5 * minute, hour}) {
                const auto length = BarLength::of(spacing_of(bar_ends(trained, 60, 23 * hour)));
                EXPECT_EQ(has_length(spacing_of(with_gaps(bar_ends(other, 60, 23 * hour), kept, 1)), length),
                          trained == other ? SameLength::yes : SameLength::no)
                    << trained << " " << other << " " << kept;
            }
}

/// Whatever a short file looks like, it is not refused for gaps, weekends and holidays.
TEST(BarLength, ShortFilesOfTheSameLengthAreNeverRefused) {
    for (const std::int64_t trained : lengths) {
        const auto all = bar_ends(trained, trained >= day ? 600 : 30, 23 * hour);
        const auto length = BarLength::of(spacing_of(all));
        for (const double kept : {1.0, 0.8})
            for (std::uint64_t seed = 0; seed < 40; ++seed) {
                const auto times = with_gaps(all, kept, seed);
                for (const std::size_t count : {1u, 2u, 3u, 4u, 6u, 10u}) {
                    const std::size_t first = (seed * 17) % (times.size() - count);
                    const std::vector<std::int64_t> few(times.begin() + static_cast<std::ptrdiff_t>(first),
                                                        times.begin() +
                                                            static_cast<std::ptrdiff_t>(first + count));
                    EXPECT_NE(has_length(spacing_of(few), length), SameLength::no)
                        << bar_length_text(trained) << ", " << count << " bars, seed " << seed;
                }
            }
    }
}

TEST(BarLength, AFewBarsOfAnotherLengthAreRefused) {
    for (const std::int64_t trained : lengths)
        for (const std::int64_t other : lengths) {
            if (trained == other)
                continue;
            const auto length = BarLength::of(spacing_of(bar_ends(trained, 200, 24 * hour)));
            auto times = bar_ends(other, 200, 24 * hour);
            times.resize(5);
            EXPECT_EQ(has_length(spacing_of(times), length), SameLength::no)
                << bar_length_text(trained) << ", then five of " << bar_length_text(other);
        }
}

TEST(BarLength, OneOrTwoBarsDoNotTell) {
    const BarLength daily{day, 0.8};
    EXPECT_EQ(has_length(spacing_of({0}), daily), SameLength::unknown);
    EXPECT_EQ(has_length(spacing_of({0, 3 * day}), daily), SameLength::unknown) << "a weekend";
    EXPECT_EQ(has_length(spacing_of({0, 3 * day, 5 * day}), daily), SameLength::unknown) << "and a holiday";
    EXPECT_EQ(has_length(spacing_of({0, day, day + 5 * hour}), daily), SameLength::yes) << "today's bar";
}

TEST(BarLength, HolidaysMonthsAndDaylightSavingDoNotMatter) {
    std::vector<std::int64_t> month_ends, weeks{0}, days{0};
    for (int year = 2020; year < 2024; ++year)
        for (int m = 1; m <= 12; ++m) { // the last weekday of each month
            std::int32_t date = make_date(m == 12 ? year + 1 : year, m % 12 + 1, 1) - 1;
            while (weekday_of(date) >= 5)
                --date;
            month_ends.push_back(std::int64_t{date} * day);
        }
    EXPECT_EQ(BarLength::of(spacing_of(month_ends)), (BarLength{month, 1}));
    for (const std::int64_t step : {7, 8, 6, 7, 7, 5, 9}) // weeks that begin on a Tuesday, too
        weeks.push_back(weeks.back() + step * day);
    EXPECT_EQ(BarLength::of(spacing_of(weeks)), (BarLength{week, 1}));
    for (const std::int64_t step : {24, 23, 24, 25, 24})
        days.push_back(days.back() + step * hour);
    EXPECT_EQ(BarLength::of(spacing_of(days)), (BarLength{day, 1}));
}

TEST(BarLength, BarsByVolumeHaveNone) {
    PhiloxStream random(2, RandomPurpose::test);
    std::vector<std::int64_t> times{0};
    for (int i = 0; i < 1000; ++i)
        times.push_back(times.back() + 1 + random.next_below(600));
    const auto length = BarLength::of(spacing_of(times));
    EXPECT_FALSE(length.is_regular());
    EXPECT_EQ(has_length(spacing_of(bar_ends(minute, 5, 23 * hour)), length), SameLength::unknown);
}

TEST(BarLength, Text) {
    const std::vector<std::pair<std::int64_t, std::string>> texts{
        {0, "an unknown length"}, {1, "1 second"},      {90, "90 seconds"}, {60, "1 minute"},
        {300, "5 minutes"},       {5400, "90 minutes"}, {3600, "1 hour"},   {14400, "4 hours"},
        {day, "1 day"},           {week, "1 week"},     {month, "1 month"}, {2 * day, "2 days"}};
    for (const auto& [seconds, text] : texts)
        EXPECT_EQ(bar_length_text(seconds), text);
}

} // namespace
} // namespace rekindle::market
