#include <rekindle/base/philox.h>
#include <rekindle/foundation/error.h>
#include <rekindle/market/calendar.h>
#include <rekindle/market/clock.h>

#include <gtest/gtest.h>

#include <set>

namespace rekindle::market {
namespace {

/// The n-th weekday (0 is Monday) of a month; n = -1 is the last one.
std::int32_t nth_weekday(int year, int month, int weekday, int n) {
    if (n > 0) {
        const std::int32_t first = make_date(year, month, 1);
        return first + (weekday - weekday_of(first) + 7) % 7 + 7 * (n - 1);
    }
    const std::int32_t last = make_date(year, month + 1, 1) - 1;
    return last - (weekday_of(last) - weekday + 7) % 7;
}

std::int32_t good_friday(int year) { // Meeus, Astronomical Algorithms, chapter 8
    const int a = year % 19, b = year / 100, c = year % 100, d = b / 4, e = b % 4, f = (b + 8) / 25;
    const int g = (b - f + 1) / 3, h = (19 * a + b - d - g + 15) % 30, i = c / 4, k = c % 4;
    const int l = (32 + 2 * e + 2 * i - h - k) % 7, m = (a + 11 * h + 22 * l) / 451;
    return make_date(year, (h + l - 7 * m + 114) / 31, (h + l - 7 * m + 114) % 31 + 1) - 2;
}

/// Rule 7.2 of the New York Stock Exchange: a Sunday holiday moves to Monday, a Saturday holiday to Friday,
/// except New Year's Day, because that would end the accounting year a day early.
std::set<std::int32_t> holidays_by_rule(int year) {
    std::set<std::int32_t> days{nth_weekday(year, 2, 0, 3), good_friday(year), nth_weekday(year, 5, 0, -1),
                                nth_weekday(year, 9, 0, 1), nth_weekday(year, 11, 3, 4)};
    if (year >= 1998)
        days.insert(nth_weekday(year, 1, 0, 3));
    const auto observed = [&](int month, int day, bool saturday_moves) {
        const std::int32_t date = make_date(year, month, day);
        if (weekday_of(date) == 6)
            days.insert(date + 1);
        else if (weekday_of(date) < 5)
            days.insert(date);
        else if (saturday_moves)
            days.insert(date - 1);
    };
    observed(1, 1, false);
    observed(7, 4, true);
    observed(12, 25, true);
    if (year >= 2022)
        observed(6, 19, true);
    return days;
}

// Eurex is closed on these days when they are weekdays, and never early.
TEST(HolidayCalendar, EurexFollowsItsRule) {
    const HolidayCalendar calendar = HolidayCalendar::named("eurex").value();
    EXPECT_EQ(calendar.zone(), "Europe/Berlin");
    for (int year = 1995; year <= 2028; ++year) {
        const std::set<std::int32_t> closed{make_date(year, 1, 1),   good_friday(year),
                                            good_friday(year) + 3,   make_date(year, 5, 1),
                                            make_date(year, 12, 24), make_date(year, 12, 25),
                                            make_date(year, 12, 26), make_date(year, 12, 31)};
        for (std::int32_t date = make_date(year, 1, 1); date <= make_date(year, 12, 31); ++date) {
            EXPECT_EQ(calendar.is_holiday(date), !is_weekend(date) && closed.contains(date))
                << format_date(date);
            EXPECT_FALSE(calendar.half_day_close(date)) << format_date(date);
        }
    }
}

TEST(HolidayCalendar, EmbeddedCalendarFollowsTheRuleOfTheExchange) {
    const HolidayCalendar& calendar = HolidayCalendar::embedded();
    std::set<std::string> extraordinary;
    for (std::int32_t date = calendar.valid_from(); date <= calendar.valid_to(); ++date) {
        const int year = std::stoi(format_date(date).substr(0, 4));
        const bool by_rule = holidays_by_rule(year).contains(date);
        if (by_rule)
            EXPECT_TRUE(calendar.is_holiday(date)) << format_date(date);
        else if (calendar.is_holiday(date))
            extraordinary.insert(format_date(date));
    }
    // Closings outside the rule: the attacks of 2001, funerals of presidents, a hurricane.
    EXPECT_EQ(extraordinary,
              (std::set<std::string>{"2001-09-11", "2001-09-12", "2001-09-13", "2001-09-14", "2004-06-11",
                                     "2007-01-02", "2012-10-29", "2012-10-30", "2018-12-05", "2025-01-09"}));
}

TEST(HolidayCalendar, EmbeddedHalfDays) {
    const HolidayCalendar& calendar = HolidayCalendar::embedded();
    for (int year = 1995; year <= 2028; ++year)
        EXPECT_EQ(calendar.half_day_close(nth_weekday(year, 11, 3, 4) + 1), 13 * 60)
            << year; // after Thanksgiving
    EXPECT_EQ(calendar.half_day_close(make_date(2024, 7, 3)), 13 * 60);
    EXPECT_EQ(calendar.half_day_close(make_date(2024, 7, 2)), std::nullopt);
    EXPECT_TRUE(calendar.covers(make_date(2025, 1, 1)));
    EXPECT_FALSE(calendar.covers(make_date(1994, 12, 31)));
    EXPECT_FALSE(calendar.covers(make_date(2029, 1, 1)));
    EXPECT_GE(calendar.checked(), make_date(2025, 1, 1));
    EXPECT_FALSE(calendar.source().empty());
}

constexpr const char* valid_calendar =
    "format: rekindle-calendar/1\nname: Test\nsource: by hand\nvalid_from: 2025-01-01\n"
    "valid_to: 2025-12-31\nchecked: 2025-02-01\nholidays: [2025-12-25]\n"
    "half_days:\n  \"13:00\": [2025-12-24]\n  \"12:30\": [2025-12-31]\n";

TEST(HolidayCalendar, ReadsItsFormat) {
    const HolidayCalendar calendar = HolidayCalendar::parse(valid_calendar, "test.yaml");
    EXPECT_EQ(calendar.name(), "Test");
    EXPECT_TRUE(calendar.is_holiday(make_date(2025, 12, 25)));
    EXPECT_EQ(calendar.half_day_close(make_date(2025, 12, 31)), 12 * 60 + 30);
    EXPECT_FALSE(calendar.is_business_day(make_date(2025, 12, 25)));
    EXPECT_FALSE(calendar.is_business_day(make_date(2025, 12, 27)));
    EXPECT_TRUE(calendar.is_business_day(make_date(2025, 12, 24)));
}

TEST(HolidayCalendar, NamesThePositionOfAnError) {
    const auto error_of = [](std::string from, const std::string& to) {
        std::string text = valid_calendar;
        text.replace(text.find(from), from.size(), to);
        try {
            HolidayCalendar::parse(text, "test.yaml");
        } catch (const Error& error) {
            EXPECT_EQ(error.status(), ExitStatus::usage);
            return error.render();
        }
        return std::string("accepted");
    };
    EXPECT_NE(error_of("[2025-12-25]", "[2025-12-32]").find("test.yaml:7:12: holiday \"2025-12-32\""),
              std::string::npos);
    EXPECT_NE(error_of("[2025-12-25]", "[2026-12-25]").find("outside valid_from"), std::string::npos);
    EXPECT_NE(error_of("[2025-12-25]", "[2025-12-24]").find("both a holiday and a half day"),
              std::string::npos);
    EXPECT_NE(error_of("[2025-12-25]", "Christmas").find("not a list"), std::string::npos);
    EXPECT_NE(error_of("\"13:00\"", "\"25:00\"").find("not a time of day"), std::string::npos);
    EXPECT_NE(error_of("checked: 2025-02-01\n", "").find("\"checked\" is missing"), std::string::npos);
    EXPECT_NE(error_of("name: Test", "name: Test\nnmae: x").find("unknown key \"nmae\""), std::string::npos);
    EXPECT_NE(error_of("name: Test", "name: Test\nname: x").find("twice"), std::string::npos);
    EXPECT_NE(error_of("calendar/1", "calendar/2").find("is not known"), std::string::npos);
    EXPECT_NE(error_of("[2025-12-25]", "[2025-12-25").find("not YAML"), std::string::npos);
    EXPECT_THROW(HolidayCalendar::parse("", "empty"), Error);
    EXPECT_THROW(HolidayCalendar::load("/nonexistent/calendar.yaml"), Error);
}

// Any text gives either a calendar or an Error.
TEST(HolidayCalendar, SurvivesMutatedText) {
    const std::string original = valid_calendar;
    std::size_t accepted = 0, refused = 0;
    for (std::uint64_t i = 0; i < 2000; ++i) {
        PhiloxStream random(7, RandomPurpose::test, 0, i);
        std::string text = original.substr(
            0, i % 3 ? original.size() : random.next_below(static_cast<std::uint32_t>(original.size()) + 1));
        for (std::uint32_t edits = random.next_below(4); edits > 0 && !text.empty(); --edits)
            text[random.next_below(static_cast<std::uint32_t>(text.size()))] =
                static_cast<char>(random.next_below(256));
        try {
            HolidayCalendar::parse(text, "mutated");
            ++accepted;
        } catch (const Error&) {
            ++refused;
        }
    }
    EXPECT_GT(accepted, 100u);
    EXPECT_GT(refused, 1000u);
}

} // namespace
} // namespace rekindle::market
