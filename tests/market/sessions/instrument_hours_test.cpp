/// Every instrument of the built-in list: its figures, and a week of minutes cut by its hours.

#include <rekindle/market/calendar.h>
#include <rekindle/market/clock.h>
#include <rekindle/market/instruments.h>
#include <rekindle/market/session_plan.h>
#include <rekindle/market/trading_halt.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace rekindle::market {
namespace {

/// Figures from the exchanges' pages, written down a second time.
struct Expected {
    const char* symbol;
    double tick;
    double point_value;
    const char* currency;
    const char* zone;
    int open, close;     ///< of trading, in local time; if open > close, trading opens on the evening before
    int regular_minutes; ///< 0: there are no regular hours
    const char* a_holiday; ///< a weekday on which the exchange is closed; "" if there is none
};

constexpr int at(int hour, int minute = 0) {
    return hour * 60 + minute;
}

const std::vector<Expected>& expectations() {
    const char* chicago = "America/Chicago";
    const char* new_york = "America/New_York";
    const char* berlin = "Europe/Berlin";
    static const std::vector<Expected> rows{
        {"ES", 0.25, 50, "USD", chicago, at(17), at(16), 390, "2024-07-04"},
        {"MES", 0.25, 5, "USD", chicago, at(17), at(16), 390, "2024-07-04"},
        {"NQ", 0.25, 20, "USD", chicago, at(17), at(16), 390, "2024-07-04"},
        {"MNQ", 0.25, 2, "USD", chicago, at(17), at(16), 390, "2024-07-04"},
        {"RTY", 0.1, 50, "USD", chicago, at(17), at(16), 390, "2024-07-04"},
        {"YM", 1, 5, "USD", chicago, at(17), at(16), 390, "2024-07-04"},
        {"CL", 0.01, 1000, "USD", new_york, at(18), at(17), 330, "2024-07-04"},
        {"GC", 0.1, 100, "USD", new_york, at(18), at(17), 310, "2024-07-04"},
        {"ZN", 1.0 / 64, 1000, "USD", chicago, at(17), at(16), 400, "2024-07-04"},
        {"ZB", 1.0 / 32, 1000, "USD", chicago, at(17), at(16), 400, "2024-07-04"},
        {"6E", 0.00005, 125'000, "USD", chicago, at(17), at(16), 400, "2024-07-04"},
        {"VX", 0.05, 1000, "USD", chicago, at(17), at(16), 390, "2024-07-04"},
        {"FDAX", 1, 25, "EUR", berlin, at(1, 10), at(22), 510, "2024-05-01"},
        {"FESX", 1, 10, "EUR", berlin, at(1, 10), at(22), 510, "2024-05-01"},
        {"FGBL", 0.01, 1000, "EUR", berlin, at(1, 10), at(22), 840, "2024-05-01"},
        {"US-STOCK", 0.01, 1, "USD", new_york, at(4), at(20), 390, "2024-07-04"},
        {"FX", 0, 1, "", new_york, at(17), at(17), 0, ""},
        {"CRYPTO", 0, 1, "", "UTC", at(0), at(24), 0, ""},
    };
    return rows;
}

/// A minute of trading for every minute of the week from Monday, 2024-03-11 (the week after the US clocks
/// changed), in the zone and hours of the row.
BarTable week_of_minutes(const Expected& row) {
    const ZoneClock zone = ZoneClock::load(row.zone);
    const bool all_week = std::string(row.symbol) == "CRYPTO";
    BarBuffer buffer;
    for (int day = 0; day < (all_week ? 7 : 5); ++day) {
        const std::int64_t midnight = std::int64_t{make_date(2024, 3, 11) + day} * day_seconds;
        for (int minute = row.open < row.close ? row.open : row.open - at(24); minute < row.close; ++minute) {
            buffer.time.push_back(zone.to_utc(midnight + std::int64_t{minute + 1} * 60));
            for (auto* prices : {&buffer.open, &buffer.high, &buffer.low, &buffer.close})
                prices->push_back(1000);
            buffer.volume.push_back(1);
            buffer.contract.push_back(0);
        }
    }
    BarMetadata metadata;
    metadata.contracts = {""};
    return BarBuffer::into_table(std::move(buffer), metadata);
}

std::vector<std::size_t> sessions_of(const BarTable& bars, const Instrument& instrument, SessionHours hours) {
    SessionRules rules = instrument.session_rules();
    rules.hours = hours;
    std::vector<std::size_t> counts;
    for (const Session& session :
         plan_sessions(bars, rules, instrument.calendar(), RollMethod::volume).sessions)
        counts.push_back(session.count);
    return counts;
}

TEST(InstrumentHours, EveryInstrumentOfTheListHasAnExpectation) {
    std::vector<std::string> listed, expected;
    for (const Instrument& instrument : InstrumentTable::embedded().all())
        listed.push_back(instrument.symbol);
    for (const Expected& row : expectations())
        expected.emplace_back(row.symbol);
    EXPECT_EQ(listed, expected);
}

TEST(InstrumentHours, FiguresAndAWeekOfEachInstrument) {
    for (const Expected& row : expectations()) {
        SCOPED_TRACE(row.symbol);
        const Instrument& instrument = InstrumentTable::embedded().get(row.symbol);
        EXPECT_EQ(instrument.tick, row.tick);
        EXPECT_EQ(instrument.point_value, row.point_value);
        EXPECT_EQ(instrument.currency, row.currency);
        EXPECT_EQ(instrument.zone, row.zone);
        EXPECT_EQ(instrument.negative_prices, instrument.symbol == "CL");
        const BarTable bars = week_of_minutes(row);
        const std::size_t days = instrument.weekends ? 7 : 5;
        const int minutes = row.close - row.open + (row.open < row.close ? 0 : at(24));
        EXPECT_EQ(sessions_of(bars, instrument, SessionHours::all),
                  std::vector<std::size_t>(days, static_cast<std::size_t>(minutes)));
        ASSERT_EQ(instrument.regular.has_value(), row.regular_minutes > 0);
        if (instrument.regular) {
            EXPECT_EQ(sessions_of(bars, instrument, SessionHours::rth),
                      std::vector<std::size_t>(days, static_cast<std::size_t>(row.regular_minutes)));
        }
        EXPECT_EQ(bars_in_halt(bars, instrument.session_rules()), 0U);
    }
}

TEST(InstrumentHours, HolidaysAreThoseOfTheExchange) {
    for (const Expected& row : expectations()) {
        SCOPED_TRACE(row.symbol);
        const HolidayCalendar calendar = InstrumentTable::embedded().get(row.symbol).calendar();
        std::int32_t christmas = make_date(2024, 12, 25), holiday = 0;
        EXPECT_EQ(calendar.is_holiday(christmas), *row.a_holiday != '\0');
        if (*row.a_holiday != '\0') {
            ASSERT_TRUE(parse_date(row.a_holiday, holiday));
            EXPECT_TRUE(calendar.is_holiday(holiday)) << row.a_holiday;
        }
    }
    const HolidayCalendar eurex = HolidayCalendar::named("eurex").value();
    EXPECT_TRUE(eurex.is_business_day(make_date(2024, 7, 4)));
    EXPECT_FALSE(eurex.is_business_day(make_date(2024, 4, 1))); // Easter Monday
    EXPECT_FALSE(HolidayCalendar::named("nyse"));
}

TEST(InstrumentHours, NamesOfContractsAndFiles) {
    const InstrumentTable& table = InstrumentTable::embedded();
    const auto of_contract = [&](const std::string& name) {
        const Instrument* found = table.of_contracts({name});
        return found ? found->symbol : "";
    };
    const auto of_file = [&](const std::string& name) {
        const Instrument* found = table.of_files({name});
        return found ? found->symbol : "";
    };
    for (const char* name : {"EURUSD", "eur/usd", "EUR_USD", "EURUSD=X", "GBP.JPY"})
        EXPECT_EQ(of_contract(name), "FX") << name;
    for (const char* name : {"BTCUSDT", "BTC-USD", "eth_usdt", "BTCUSD_PERP", "SOLUSDC", "XBTUSD"})
        EXPECT_EQ(of_contract(name), "CRYPTO") << name;
    for (const char* name : {"FGBLM24", "FGBL 06-24", "FGBL1!"})
        EXPECT_EQ(of_contract(name), "FGBL") << name;
    for (const char* name : {"USDT", "AAPL", "SPY", "ES", "USD", "X", "BTCH25"})
        EXPECT_EQ(of_contract(name), "") << name;
    EXPECT_EQ(of_file("BTCUSDT-1m-2024-01.csv"), "CRYPTO");
    EXPECT_EQ(of_file("Binance_ETHUSDT_d.csv"), "CRYPTO");
    EXPECT_EQ(of_file("EUR_USD Historical Data.csv"), "FX");
    EXPECT_EQ(of_file("DAT_ASCII_EURUSD_M1_2024.csv"), "FX");
    EXPECT_EQ(of_file("CL=F.csv"), "CL");
    EXPECT_EQ(of_file("ZB=F.csv.gz"), "ZB");
    EXPECT_EQ(of_file("6E1!.csv"), "6E");
    EXPECT_EQ(of_file("CME_MINI_ES1!, 60.csv"), "ES");
    EXPECT_EQ(of_file("@VX#.txt"), "VX");
    EXPECT_EQ(of_file("CL.csv"), "");
    EXPECT_EQ(of_file("wow!.csv"), "");
    EXPECT_EQ(of_file("bars.csv"), "");
    EXPECT_EQ(of_file("gold.csv"), "");
    EXPECT_EQ(table.of_files({"EURUSD_2023.csv", "EURUSD_2024.csv"})->symbol, "FX");
    EXPECT_EQ(table.of_files({"EURUSD_2023.csv", "BTCUSDT_2024.csv"}), nullptr);
}

SessionPlan plan_with_days(const BarTable& bars, TradingDays days, SessionHours hours = SessionHours::all) {
    SessionRules rules = InstrumentTable::embedded().get("CRYPTO").session_rules();
    rules.days = days;
    rules.hours = hours;
    rules.rth_known = true;
    return plan_sessions(bars, rules, HolidayCalendar::none(), RollMethod::volume);
}

/// Every `step` minutes of ten days from a Thursday, but on weekends only one bar in twenty.
BarTable with_thin_weekends() {
    BarBuffer buffer;
    for (int i = 1; i <= 10 * 288; ++i) {
        const std::int64_t time = std::int64_t{make_date(2024, 3, 7)} * day_seconds + i * 300;
        if (is_weekend(date_of(time - 1)) && i % 20 != 0)
            continue;
        buffer.time.push_back(time);
        for (auto* prices : {&buffer.open, &buffer.high, &buffer.low, &buffer.close})
            prices->push_back(1000);
        buffer.volume.push_back(1);
        buffer.contract.push_back(0);
    }
    BarMetadata metadata;
    metadata.contracts = {""};
    metadata.bar_seconds = 300;
    return BarBuffer::into_table(std::move(buffer), metadata);
}

TEST(TradingDaysOfTheWeek, AutomaticSkipsThinWeekendsAndAllKeepsThem) {
    const BarTable bars = with_thin_weekends();
    for (const SessionHours hours : {SessionHours::all, SessionHours::rth}) {
        EXPECT_EQ(plan_with_days(bars, TradingDays::automatic, hours).sessions.size(), 7U);
        EXPECT_EQ(plan_with_days(bars, TradingDays::weekdays, hours).sessions.size(), 7U);
        EXPECT_EQ(plan_with_days(bars, TradingDays::all, hours).sessions.size(), 10U);
    }
    const SessionPlan all = plan_with_days(bars, TradingDays::all);
    EXPECT_TRUE(std::ranges::any_of(all.sessions, [](const Session& s) { return is_weekend(s.date); }));
    EXPECT_TRUE(all.notes.empty()) << all.notes.front();
}

TEST(TradingDaysOfTheWeek, WeekdaysSkipsFullWeekends) {
    const BarTable bars = week_of_minutes(expectations().back());
    EXPECT_EQ(plan_with_days(bars, TradingDays::automatic).sessions.size(), 7U);
    const SessionPlan weekdays = plan_with_days(bars, TradingDays::weekdays);
    EXPECT_EQ(weekdays.sessions.size(), 5U);
    ASSERT_FALSE(weekdays.notes.empty());
    EXPECT_EQ(weekdays.notes.front(), "2,880 bars outside Monday to Friday trading days skipped.");
}

TEST(TradingDaysOfTheWeek, DailyBarsToo) {
    BarBuffer buffer;
    for (int day = 0; day < 14; ++day) {
        buffer.time.push_back(std::int64_t{make_date(2024, 3, 4) + day} * day_seconds);
        for (auto* prices : {&buffer.open, &buffer.high, &buffer.low, &buffer.close})
            prices->push_back(1000);
        buffer.volume.push_back(1);
        buffer.contract.push_back(0);
    }
    BarMetadata metadata;
    metadata.contracts = {""};
    metadata.dates_only = true;
    metadata.bar_seconds = day_seconds;
    const BarTable bars = BarBuffer::into_table(std::move(buffer), metadata);
    EXPECT_EQ(plan_with_days(bars, TradingDays::automatic).sessions.size(), 14U);
    EXPECT_EQ(plan_with_days(bars, TradingDays::all).sessions.size(), 14U);
    EXPECT_EQ(plan_with_days(bars, TradingDays::weekdays).sessions.size(), 10U);
}

TEST(TradingHalt, BarsInsideItBetrayAWrongZone) {
    const Expected& es = expectations().front();
    SessionRules rules = InstrumentTable::embedded().get("ES").session_rules();
    EXPECT_EQ(halt_warning(week_of_minutes(es), rules), "");
    Expected shifted = es; // New York's times read as Chicago's
    shifted.open = at(18);
    shifted.close = at(17);
    const BarTable bars = week_of_minutes(shifted);
    EXPECT_EQ(bars_in_halt(bars, rules), 5U * 60);
    const std::string warning = halt_warning(bars, rules);
    EXPECT_TRUE(
        warning.starts_with("300 bars lie within the daily halt, from 16:00 to 17:00 America/Chicago"))
        << warning;
    rules.halt.reset();
    EXPECT_EQ(bars_in_halt(bars, rules), 0U);
    rules.halt = DailyHalt{at(16), at(17)};
    rules.raw_labels = true;
    EXPECT_EQ(bars_in_halt(bars, rules), 0U);
}

TEST(TradingHalt, OverMidnightAndAsAPause) {
    const Instrument& bund = InstrumentTable::embedded().get("FGBL");
    const BarTable bars = week_of_minutes(expectations()[14]);
    const ZoneClock zone = ZoneClock::load("Europe/Berlin");
    const std::int64_t monday = std::int64_t{make_date(2024, 3, 11)} * day_seconds;
    const auto local = [&](int minute) { return zone.to_utc(monday + std::int64_t{minute} * 60); };
    const SessionRules rules = bund.session_rules();
    EXPECT_TRUE(is_halt(local(at(22)), local(at(25, 1)), bars, rules));
    EXPECT_TRUE(is_halt(local(at(21, 50)), local(at(25, 11)), bars, rules));
    EXPECT_FALSE(is_halt(local(at(20)), local(at(25, 1)), bars, rules));
    EXPECT_FALSE(is_halt(local(at(22)), local(at(27)), bars, rules));
    EXPECT_FALSE(is_halt(local(at(12)), local(at(15)), bars, rules));
}

} // namespace
} // namespace rekindle::market
