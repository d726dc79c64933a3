/// Bars of a day or more, in the forms that vendors write: each belongs to its date with every setting of
/// --stamp, and nothing is known before the bar has ended.

#include "reading/reading_support.h"

#include <rekindle/market/bar_ends.h>
#include <rekindle/market/clock.h>
#include <rekindle/market/clock_suggestion.h>
#include <rekindle/market/feature_export.h>
#include <rekindle/market/features.h>
#include <rekindle/market/session_plan.h>
#include <rekindle/market/usual_hours.h>
#include <rekindle/market/volume_profile.h>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace rekindle::market {
namespace {

constexpr const char* new_york_zone = "America/New_York";

/// The instant of a local time; minutes may be negative or exceed a day.
std::int64_t instant(const char* zone, std::int32_t date, int minute) {
    static std::map<std::string, ZoneClock> zones;
    auto found = zones.find(zone);
    if (found == zones.end())
        found = zones.emplace(zone, ZoneClock::load(zone)).first;
    return found->second.to_utc(std::int64_t{date} * day_seconds + std::int64_t{minute} * 60);
}

int stock_close(std::int32_t date) {
    return HolidayCalendar::embedded().half_day_close(date).value_or(16 * 60);
}

std::string iso(std::int64_t seconds, const char* between = "T") {
    std::string text = format_civil(seconds);
    return text.replace(text.find(' '), 1, between);
}

enum class Week { monday_to_friday, us_business_days, sunday_to_thursday, every_day };

/// One vendor's daily bars.
struct Daily {
    std::string vendor;
    Week week = Week::us_business_days;
    std::vector<const char*> zones; ///< values of --zone with which the file is read
    std::vector<Clock> clocks;      ///< values of --clock
    std::function<std::string(std::int32_t)> stamp;
    std::function<std::int64_t(std::int32_t)> end; ///< when the bar of a date really ends
    const char* contract = "";
    const char* stamp_zone = new_york_zone; ///< of local timestamps
};

const std::vector<const char*> us_zones{new_york_zone,     "America/Chicago",     "America/Denver",
                                        "America/Phoenix", "America/Los_Angeles", "Pacific/Honolulu",
                                        "America/Toronto", "US/Central"};
const std::vector<Clock> any_clock{Clock::utc, Clock::exchange};

std::int64_t stock_end(std::int32_t date) {
    return instant(new_york_zone, date, stock_close(date));
}
std::int64_t futures_end(std::int32_t date) {
    return instant(new_york_zone, date, 17 * 60);
}
std::int64_t utc_end(std::int32_t date) {
    return std::int64_t{date + 1} * day_seconds;
}

std::vector<Daily> us_stocks() {
    const Week week = Week::us_business_days;
    const auto midnight = [](std::int32_t d) { return instant(new_york_zone, d, 0); };
    std::vector<Daily> all;
    all.push_back({"Yahoo, dates", week, us_zones, any_clock, format_date, stock_end});
    all.push_back({"Stooq and IB, compact dates", week, us_zones, any_clock,
                   [](std::int32_t d) {
                       std::string text = format_date(d);
                       std::erase(text, '-');
                       return text;
                   },
                   stock_end});
    all.push_back({"yfinance, midnight with its offset", week, us_zones, any_clock,
                   [=](std::int32_t d) {
                       const std::int64_t offset = std::int64_t{d} * day_seconds - midnight(d);
                       return format_date(d) + (offset == -4 * 3600 ? " 00:00:00-04:00" : " 00:00:00-05:00");
                   },
                   stock_end});
    all.push_back({"Tiingo, midnight Z", week, us_zones, any_clock,
                   [](std::int32_t d) { return format_date(d) + "T00:00:00.000Z"; }, stock_end});
    all.push_back({"pandas, midnight", week, us_zones, any_clock,
                   [](std::int32_t d) { return format_date(d) + " 00:00:00"; }, stock_end});
    all.push_back({"pandas, label on the right", week, us_zones, any_clock,
                   [](std::int32_t d) { return format_date(d + 1) + " 00:00:00"; }, stock_end});
    all.push_back({"Polygon, New York's midnight in milliseconds", week, us_zones, any_clock,
                   [=](std::int32_t d) { return std::to_string(midnight(d) * 1000); }, stock_end});
    all.push_back({"Alpaca, New York's midnight in UTC", week, us_zones, any_clock,
                   [=](std::int32_t d) { return iso(midnight(d)) + "Z"; }, stock_end});
    all.push_back({"New York's midnight in UTC without a mark",
                   week,
                   us_zones,
                   {Clock::utc},
                   [=](std::int32_t d) { return iso(midnight(d), " "); },
                   stock_end});
    all.push_back({"TradingView, the open", week, us_zones, any_clock,
                   [](std::int32_t d) { return std::to_string(instant(new_york_zone, d, 9 * 60 + 30)); },
                   stock_end});
    all.push_back({"the close in UTC", week, us_zones, any_clock,
                   [](std::int32_t d) { return iso(stock_end(d)) + "Z"; }, stock_end});
    all.push_back(
        {"TradeStation, the close in local time",
         week,
         us_zones,
         {Clock::exchange},
         [](std::int32_t d) { return format_date(d) + fmt::format(" {}", format_minute(stock_close(d))); },
         stock_end});
    all.push_back({"the end of extended hours in UTC", week, us_zones, any_clock,
                   [](std::int32_t d) { return iso(instant(new_york_zone, d, 20 * 60)) + "Z"; },
                   [](std::int32_t d) { return instant(new_york_zone, d, 20 * 60); }});
    return all;
}

std::vector<Daily> other_markets() {
    std::vector<Daily> all;
    all.push_back({"TradingView, ES at the start of the session", Week::us_business_days, us_zones, any_clock,
                   [](std::int32_t d) { return std::to_string(instant(new_york_zone, d - 1, 18 * 60)); },
                   futures_end});
    all.push_back({"ES at the close in UTC", Week::us_business_days, us_zones, any_clock,
                   [](std::int32_t d) { return iso(futures_end(d)) + "Z"; }, futures_end});
    all.push_back({"ES at the close in Chicago",
                   Week::us_business_days,
                   us_zones,
                   {Clock::exchange},
                   [](std::int32_t d) { return format_date(d) + " 16:00:00"; },
                   futures_end,
                   "",
                   "America/Chicago"});
    all.push_back({"ES by date, with contracts", Week::us_business_days, us_zones, any_clock, format_date,
                   futures_end, "ES 12-24"});
    all.push_back({"Oanda, 17:00 New York on the evening before", Week::monday_to_friday, us_zones, any_clock,
                   [](std::int32_t d) { return iso(futures_end(d - 1)) + ".000000000Z"; }, futures_end});
    const std::vector<const char*> anywhere{new_york_zone, "America/Los_Angeles", "UTC", "Europe/Berlin",
                                            "Asia/Tokyo"};
    all.push_back({"Binance, milliseconds", Week::every_day, anywhere, any_clock,
                   [](std::int32_t d) { return std::to_string(std::int64_t{d} * day_seconds * 1000); },
                   utc_end});
    all.push_back({"coins, midnight Z", Week::every_day, anywhere, any_clock,
                   [](std::int32_t d) { return format_date(d) + "T00:00:00Z"; }, utc_end});
    all.push_back({"coins, the last second",
                   Week::every_day,
                   {new_york_zone, "UTC"},
                   any_clock,
                   [](std::int32_t d) { return format_date(d) + "T23:59:59Z"; },
                   utc_end});
    const auto tokyo_end = [](std::int32_t d) { return instant("Asia/Tokyo", d, 15 * 60); };
    for (const char* zone : {"Asia/Tokyo", new_york_zone}) // the second is the default, and wrong
        all.push_back({"Tokyo, midnight in UTC",
                       Week::monday_to_friday,
                       {zone},
                       any_clock,
                       [](std::int32_t d) { return iso(instant("Asia/Tokyo", d, 0)) + "Z"; },
                       tokyo_end});
    all.push_back({"Tokyo, midnight with its offset",
                   Week::monday_to_friday,
                   {"Asia/Tokyo", new_york_zone},
                   any_clock,
                   [](std::int32_t d) { return format_date(d) + "T00:00:00+09:00"; },
                   tokyo_end});
    all.push_back({"Tokyo, the close",
                   Week::monday_to_friday,
                   {"Asia/Tokyo"},
                   {Clock::exchange},
                   [](std::int32_t d) { return format_date(d) + " 15:00"; },
                   tokyo_end,
                   "",
                   "Asia/Tokyo"});
    all.push_back({"Frankfurt, midnight in UTC",
                   Week::monday_to_friday,
                   {"Europe/Berlin", new_york_zone},
                   any_clock,
                   [](std::int32_t d) { return std::to_string(instant("Europe/Berlin", d, 0)); },
                   [](std::int32_t d) { return instant("Europe/Berlin", d, 17 * 60 + 30); }});
    all.push_back({"Frankfurt, the close",
                   Week::monday_to_friday,
                   {"Europe/Berlin"},
                   {Clock::exchange},
                   [](std::int32_t d) { return format_date(d) + " 17:30"; },
                   [](std::int32_t d) { return instant("Europe/Berlin", d, 17 * 60 + 30); },
                   "",
                   "Europe/Berlin"});
    all.push_back({"Riyadh, Sunday to Thursday, the close",
                   Week::sunday_to_thursday,
                   {"Asia/Riyadh"},
                   {Clock::exchange},
                   [](std::int32_t d) { return format_date(d) + " 15:00"; },
                   [](std::int32_t d) { return instant("Asia/Riyadh", d, 15 * 60); },
                   "",
                   "Asia/Riyadh"});
    return all;
}

bool trades(Week week, std::int32_t date) {
    switch (week) {
    case Week::every_day:
        return true;
    case Week::sunday_to_thursday:
        return weekday_of(date) == 6 || weekday_of(date) <= 3;
    case Week::monday_to_friday:
        return !is_weekend(date);
    case Week::us_business_days:
        break;
    }
    return HolidayCalendar::embedded().is_business_day(date);
}

/// The dates of a year with both changes of the clocks and three half days.
std::vector<std::int32_t> dates_of(Week week) {
    std::vector<std::int32_t> dates;
    for (std::int32_t date = make_date(2024, 1, 2); date <= make_date(2024, 12, 31); ++date)
        if (trades(week, date))
            dates.push_back(date);
    return dates;
}

std::string file_of(const Daily& form, const std::vector<std::int32_t>& dates) {
    const bool contract = *form.contract != '\0';
    std::string text =
        contract ? "Date,Open,High,Low,Close,Volume,Contract\n" : "Date,Open,High,Low,Close,Volume\n";
    int i = 0;
    for (const std::int32_t date : dates) {
        const int close = 100 + (++i * 7919) % 41;
        text +=
            fmt::format("{},{},{},{},{},{}", form.stamp(date), close, close + 3, close - 2, close, 1000 + i);
        text += contract ? fmt::format(",{}\n", form.contract) : "\n";
    }
    return text;
}

ReadOptions options_of(const Daily& form, const char* zone, Clock clock, StampAt at) {
    ReadOptions options;
    options.clock = clock;
    options.stamp = at;
    options.zone = form.stamp_zone;
    options.exchange_zone = zone;
    return options;
}

std::vector<std::int32_t> dates_in(const BarTable& bars) {
    std::vector<std::int32_t> dates;
    for (const std::int64_t time : bars.columns().time)
        dates.push_back(date_of(time));
    return dates;
}

std::vector<Daily> all_markets() {
    std::vector<Daily> all = us_stocks();
    for (Daily& form : other_markets())
        all.push_back(std::move(form));
    return all;
}

/// Calls check(form, zone, bars) with what the reader makes of a year of each vendor's bars, for every zone,
/// clock, and stamp.
template <class Check>
void for_every_setting(const std::vector<Daily>& forms, const Check& check) {
    for (const Daily& form : forms)
        for (const char* zone : form.zones)
            for (const Clock clock : form.clocks)
                for (const StampAt at : {StampAt::bar_end, StampAt::bar_start}) {
                    SCOPED_TRACE(testing::Message()
                                 << form.vendor << ", " << zone << ", clock " << static_cast<int>(clock)
                                 << ", stamp " << static_cast<int>(at));
                    check(form, zone,
                          read_text(file_of(form, dates_of(form.week)), options_of(form, zone, clock, at)));
                }
}

TEST(DayBars, BelongToTheirDateWithEverySetting) {
    for_every_setting(all_markets(), [](const Daily& form, const char* zone, const ReadResult& read) {
        ASSERT_TRUE(read.bars.metadata().dates_only);
        EXPECT_EQ(dates_in(read.bars), dates_of(form.week));
        EXPECT_EQ(read.bars.metadata().bar_seconds, day_seconds);
        const ClockSuggestion suggestion =
            suggest_clock(read.bars, usual_session_rules(zone), read.report.stamps);
        EXPECT_EQ(suggestion.verdict, ClockSuggestion::Verdict::unclear);
        EXPECT_EQ(suggestion.stamp_message + suggestion.hours_message + suggestion.day_message, "");
    });
}

TEST(DayBars, AreKnownWhenTheyHaveEndedAndNotADayLater) {
    for_every_setting(all_markets(), [](const Daily& form, const char* zone, const ReadResult& read) {
        const BarEnds ends(read.bars, usual_session_rules(zone), HolidayCalendar::embedded());
        for (const std::int64_t time : read.bars.columns().time) {
            const std::int64_t end = form.end(date_of(time));
            ASSERT_GE(ends.of(time), end) << format_date(date_of(time));
            ASSERT_LE(ends.of(time), end + day_seconds) << format_date(date_of(time));
        }
    });
}

// Stocks in New York are known at the close: 16:00, or 13:00 on half days.
TEST(DayBars, OfUsStocksAreKnownAtTheClose) {
    std::size_t half_days = 0;
    for (const Daily& form : us_stocks())
        if (form.vendor.find("extended") == std::string::npos &&
            form.vendor.find("right") == std::string::npos)
            for (const char* zone : us_zones) {
                SCOPED_TRACE(form.vendor + ", " + zone);
                const bool told = form.vendor.find("close") != std::string::npos;
                const ReadResult read =
                    read_text(file_of(form, dates_of(form.week)),
                              options_of(form, zone, form.clocks.back(), StampAt::bar_end));
                const BarEnds ends(read.bars, usual_session_rules(zone), HolidayCalendar::embedded());
                for (const std::int64_t time : read.bars.columns().time) {
                    const std::int32_t date = date_of(time);
                    half_days += stock_close(date) != 16 * 60;
                    // From timestamps at the close, the latest close is assumed for every day, so half days
                    // are known late.
                    ASSERT_EQ(ends.of(time), told ? instant(new_york_zone, date, 16 * 60) : stock_end(date));
                }
            }
    EXPECT_GT(half_days, 3u);
}

/// Bars longer than a day.
struct Longer {
    std::string vendor;
    std::vector<std::pair<std::string, std::pair<std::int32_t, std::int64_t>>> rows; ///< stamp, date, end
};

std::vector<Longer> longer_bars() {
    std::vector<Longer> all(7);
    const auto add = [](Longer& form, const char* vendor, std::string stamp, std::int32_t date,
                        std::int64_t end) {
        form.vendor = vendor;
        form.rows.push_back({std::move(stamp), {date, end}});
    };
    for (std::int32_t monday = make_date(2023, 1, 2); monday < make_date(2024, 12, 20); monday += 7) {
        const std::int64_t friday = instant(new_york_zone, monday + 4, stock_close(monday + 4));
        add(all[0], "yfinance, weeks by their Monday", format_date(monday), monday, friday);
        add(all[1], "Polygon, weeks by Sunday's midnight",
            std::to_string(instant(new_york_zone, monday - 1, 0) * 1000), monday - 1, friday);
        add(all[2], "Stooq, weeks by their Friday", format_date(monday + 4), monday + 4, friday);
        add(all[3], "TradingView, weeks of ES from Sunday evening",
            std::to_string(instant(new_york_zone, monday - 1, 18 * 60)), monday,
            instant(new_york_zone, monday + 4, 17 * 60));
        add(all[4], "Kraken, weeks of coins from Thursday",
            std::to_string(std::int64_t{monday + 3} * day_seconds), monday + 3,
            std::int64_t{monday + 10} * day_seconds);
    }
    for (int month = 1; month <= 48; ++month) {
        const auto first = [](int m) { return make_date(2020 + (m - 1) / 12, (m - 1) % 12 + 1, 1); };
        std::int32_t last = first(month + 1) - 1;
        add(all[5], "yfinance, months by their first day", format_date(first(month)), first(month),
            std::int64_t{last + 1} * day_seconds);
        while (is_weekend(last))
            --last;
        add(all[6], "Stooq, months by their last day", format_date(last), last,
            instant(new_york_zone, last, 16 * 60));
    }
    return all;
}

TEST(DayBars, OfWeeksAndMonthsAreKnownWhenTheyHaveEnded) {
    for (const Longer& form : longer_bars())
        for (const char* zone : {new_york_zone, "America/Chicago"})
            for (const StampAt at : {StampAt::bar_end, StampAt::bar_start}) {
                SCOPED_TRACE(form.vendor + ", " + zone);
                std::string text = "Date,Open,High,Low,Close,Volume\n";
                for (const auto& [stamp, bar] : form.rows)
                    text += stamp + ",5,6,4,5,1000\n";
                ReadOptions options;
                options.exchange_zone = zone;
                options.stamp = at;
                const ReadResult read = read_text(text, options);
                const BarEnds ends(read.bars, usual_session_rules(zone), HolidayCalendar::embedded());
                ASSERT_EQ(read.bars.size(), form.rows.size());
                for (std::size_t i = 0; i < form.rows.size(); ++i) {
                    const auto& [date, end] = form.rows[i].second;
                    const std::int64_t time = read.bars.columns().time[i];
                    ASSERT_EQ(format_date(date_of(time)), format_date(date));
                    ASSERT_GE(ends.of(time), end) << format_date(date);
                    ASSERT_LT(ends.of(time), end + 4 * day_seconds) << format_date(date);
                }
            }
}

// The day of futures, currencies and Databento's days of UTC is longer than that of stocks.
TEST(DayBars, OfOtherMarketsAreNotKnownAtTheCloseOfStocks) {
    struct Case {
        const char* file;
        const char* column;
        const char* stamp_end;
        std::int64_t (*end)(std::int32_t);
    };
    for (const Case& one : {Case{"ES_daily.csv", "", "", futures_end},
                            {"EURUSD.csv", "", "", futures_end},
                            {"bars.csv", "CL", "", futures_end},
                            {"bars.csv", "EUR/USD", "", futures_end},
                            {"bars.csv", "ESH4", "T00:00:00Z", utc_end},
                            {"GBPJPY-2023.csv", "", "T00:00:00Z", utc_end}}) {
        SCOPED_TRACE(testing::Message() << one.file << one.column);
        std::string text =
            std::string("Date,Open,High,Low,Close,Volume") + (*one.column ? ",symbol\n" : "\n");
        for (std::int32_t date = make_date(2023, 6, 1); date < make_date(2023, 9, 1); ++date)
            if (!is_weekend(date))
                text += format_date(date) + one.stamp_end + ",5,6,4,5,1000" +
                        (*one.column ? std::string(",") + one.column : "") + "\n";
        const ReadResult read = read_text(text, {}, one.file);
        for (const char* zone : {new_york_zone, "America/Chicago"}) {
            const BarEnds ends(read.bars, usual_session_rules(zone), HolidayCalendar::embedded());
            for (const std::int64_t time : read.bars.columns().time)
                ASSERT_GE(ends.of(time), one.end(date_of(time)));
        }
    }
}

// End to end, as an as-of join sees it: no row of the CSV is dated before the close that it contains.
TEST(DayBars, RowsOfFeaturesAreKnownAfterTheirClose) {
    ThreadPool pool(1);
    const std::vector<Daily> forms = us_stocks();
    for (const Daily& form : {forms[0], forms[6], forms[9], forms[10]}) {
        SCOPED_TRACE(form.vendor);
        const ReadResult read = read_text(file_of(form, dates_of(form.week)),
                                          options_of(form, new_york_zone, Clock::utc, StampAt::bar_start));
        const SessionRules rules = usual_session_rules(new_york_zone);
        const SessionPlan plan =
            plan_sessions(read.bars, rules, HolidayCalendar::embedded(), RollMethod::volume);
        const auto summaries = summarize_sessions(read.bars, plan.sessions, {}, pool);
        const FeatureMatrix matrix =
            session_features(summaries, read.bars.metadata().tick, {"session"}, pool);
        const TestFolder folder;
        const auto file = folder.path() / "features.csv";
        write_features_csv(file, matrix, BarEnds(read.bars, rules, HolidayCalendar::embedded()));
        std::ifstream lines(file);
        std::string line;
        std::getline(lines, line);
        std::size_t rows = 0;
        for (; std::getline(lines, line); ++rows) {
            std::int32_t date = 0;
            ASSERT_TRUE(parse_date(line.substr(0, 10), date));
            EXPECT_GE(line.substr(11, 20), iso(stock_end(date)) + "Z");
            EXPECT_LT(line.substr(11, 20), iso(stock_end(date) + 4 * 3600) + "Z");
        }
        EXPECT_GT(rows, 150u);
    }
}

// yfinance adds today's unfinished bar with the time of the last trade.
TEST(DayBars, MayEndWithALiveBar) {
    const Daily yahoo = us_stocks()[2];
    std::vector<std::int32_t> dates = dates_of(yahoo.week);
    std::string text = file_of(yahoo, dates);
    dates.push_back(make_date(2025, 1, 2));
    text += "2025-01-02 13:22:11-05:00,100,101,99,100,500\n";
    EXPECT_EQ(dates_in(read_text(text).bars), dates);
    // A second bar of a date is an error, not an intraday bar.
    EXPECT_THAT(error_of(text + "2025-01-02 16:00:00-05:00,100,101,99,100,500\n"),
                testing::HasSubstr("a second bar of 2025-01-02, expected one bar per date"));
}

// Shorter bars end at their timestamp, or one bar after it, whatever the zone of the timestamps.
TEST(IntradayBars, AreKnownAtTheirEnd) {
    for (const std::int64_t seconds : {60, 300, 3600, 14'400})
        for (const char* stamp_zone : {"UTC", new_york_zone, "America/Chicago", "Asia/Tokyo"})
            for (const char* zone : {new_york_zone, "America/Chicago", "Europe/Berlin"})
                for (const StampAt at : {StampAt::bar_end, StampAt::bar_start}) {
                    SCOPED_TRACE(testing::Message() << seconds << " s, " << stamp_zone << ", " << zone);
                    const ZoneClock clock = ZoneClock::load(stamp_zone);
                    std::string text = bars_header;
                    std::vector<std::int64_t> expected;
                    for (int i = 0; i < 600; ++i) {
                        const std::int64_t end =
                            instant(new_york_zone, make_date(2024, 2, 26), 60) + i * seconds;
                        if ((end - instant(new_york_zone, make_date(2024, 2, 26), 0)) % day_seconds == 0)
                            continue; // a hole does not matter
                        expected.push_back(end);
                        const std::int64_t stamp = end - (at == StampAt::bar_start ? seconds : 0);
                        text += iso(clock.to_local(stamp), " ") + ",5,6,4,5,10\n";
                    }
                    ReadOptions options;
                    options.clock = std::string(stamp_zone) == "UTC" ? Clock::utc : Clock::exchange;
                    options.zone = stamp_zone;
                    options.exchange_zone = zone;
                    options.stamp = at;
                    const ReadResult read = read_text(text, options);
                    const BarEnds ends(read.bars, usual_session_rules(zone), HolidayCalendar::embedded());
                    ASSERT_EQ(read.bars.size(), expected.size());
                    for (std::size_t i = 0; i < expected.size(); ++i)
                        ASSERT_EQ(ends.of(read.bars.columns().time[i]), expected[i]);
                }
}

TEST(DayBars, AreNotConfusedWithIntradayBars) {
    for (const int minutes : {1, 60, 240, 390, 720}) {
        std::string text = bars_header;
        for (int i = 0; i < 60; ++i)
            text +=
                iso(std::int64_t{make_date(2024, 3, 4)} * day_seconds + std::int64_t{i} * minutes * 60, " ") +
                ",5,6,4,5,10\n";
        EXPECT_FALSE(read_text(text).bars.metadata().dates_only) << minutes;
    }
}

TEST(DayBars, KeepTheirMeaningInAColumnFile) {
    const TestFolder folder;
    const Daily coins = other_markets()[5], futures = other_markets()[0];
    for (const Daily& form : {coins, futures}) {
        ReadOptions options = options_of(form, new_york_zone, Clock::utc, StampAt::bar_end);
        options.paths = {folder.write("bars.csv", file_of(form, dates_of(form.week)))};
        const ReadResult in_memory = read_with(options);
        options.chunk_size = 50;
        options.column_file = folder.path() / "bars.columns";
        const ReadResult on_disk = read_with(options);
        expect_same_bars(in_memory.bars, on_disk.bars);
        EXPECT_EQ(in_memory.bars.metadata().utc_days, on_disk.bars.metadata().utc_days);
        EXPECT_EQ(in_memory.bars.metadata().day_end_minute, on_disk.bars.metadata().day_end_minute);
    }
}

} // namespace
} // namespace rekindle::market
