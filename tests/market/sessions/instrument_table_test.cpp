#include <rekindle/foundation/error.h>
#include <rekindle/market/calendar.h>
#include <rekindle/market/clock.h>
#include <rekindle/market/instruments.h>
#include <rekindle/market/session_plan.h>

#include <gtest/gtest.h>

#include <set>

namespace rekindle::market {
namespace {

constexpr std::int64_t minute_seconds = 60;

/// One-minute bars that end at [begin, end) local time, as a market trades them, with prices in ticks.
class MinuteBars {
  public:
    MinuteBars& add(const char* zone, std::int32_t date, int begin, int end, Ticks price = 1000) {
        const ZoneClock clock = ZoneClock::load(zone);
        for (int minute = begin + 1; minute <= end; ++minute) {
            buffer_.time.push_back(clock.to_utc(std::int64_t{date} * day_seconds + minute * minute_seconds));
            for (auto* column : {&buffer_.open, &buffer_.high, &buffer_.low, &buffer_.close})
                column->push_back(price);
            buffer_.volume.push_back(10);
            buffer_.contract.push_back(0);
        }
        return *this;
    }
    BarTable table(double tick, const char* contract) {
        BarMetadata metadata;
        metadata.tick = {tick};
        metadata.contracts = {contract};
        return BarBuffer::into_table(std::move(buffer_), metadata);
    }

  private:
    BarBuffer buffer_;
};

SessionPlan plan_with(const BarTable& bars, const char* symbol, SessionHours hours) {
    SessionRules rules = InstrumentTable::embedded().get(symbol).session_rules();
    rules.hours = hours;
    return plan_sessions(bars, rules, HolidayCalendar::embedded(), RollMethod::volume);
}

std::vector<std::size_t> counts_of(const SessionPlan& plan) {
    std::vector<std::size_t> counts;
    for (const Session& session : plan.complete_sessions())
        counts.push_back(session.count);
    return counts;
}

std::vector<std::string> dates_of_plan(const SessionPlan& plan) {
    std::vector<std::string> dates;
    for (const Session& session : plan.complete_sessions())
        dates.push_back(format_date(session.date));
    return dates;
}

TEST(InstrumentTable, HoldsEveryInstrumentWithItsSource) {
    std::set<std::string> symbols;
    for (const Instrument& instrument : InstrumentTable::embedded().all()) {
        symbols.insert(instrument.symbol);
        EXPECT_FALSE(instrument.source.empty()) << instrument.symbol;
        if (instrument.halt && instrument.zone == "America/Chicago") {
            EXPECT_EQ(instrument.halt->end, instrument.day_start) << instrument.symbol;
        }
    }
    for (const char* needed : {"ES", "NQ", "RTY", "YM", "CL", "GC", "ZN", "ZB", "6E", "VX", "FDAX", "FESX",
                               "FGBL", "US-STOCK", "FX", "CRYPTO"})
        EXPECT_TRUE(symbols.contains(needed)) << needed;
    EXPECT_EQ(InstrumentTable::embedded().get("es").point_value, 50);
    EXPECT_THROW(InstrumentTable::embedded().get("XYZ"), Error);
}

TEST(InstrumentTable, FindsTheInstrumentOfContracts) {
    const InstrumentTable& table = InstrumentTable::embedded();
    const auto symbol = [&](const std::vector<std::string>& contracts) {
        const Instrument* found = table.of_contracts(contracts);
        return found ? found->symbol : "";
    };
    EXPECT_EQ(symbol({"CLK20", "CLM20"}), "CL");
    EXPECT_EQ(symbol({"ES 03-25"}), "ES");
    EXPECT_EQ(symbol({"ES1!"}), "ES");
    EXPECT_EQ(symbol({"GC=F"}), "GC");
    EXPECT_EQ(symbol({"ES"}), ""); // also the ticker of a stock
    EXPECT_EQ(symbol({"CLK20", "ESM20"}), "");
    EXPECT_EQ(symbol({""}), "");
}

// Oil closed at -37.63 on 2020-04-20. The floor's hours were 09:00 to 14:30 in New York, 330 minutes.
TEST(InstrumentTable, CrudeOilInApril2020) {
    MinuteBars bars;
    for (const int day : {16, 17, 20, 21, 22}) {
        const Ticks price = day == 20 ? -3763 : 1500;
        const std::int32_t date = make_date(2020, 4, day);
        bars.add("America/New_York", date - 1, 18 * 60, 24 * 60, price);
        bars.add("America/New_York", date, 0, 17 * 60, price);
    }
    const BarTable table = bars.table(0.01, "CLK20");
    const SessionPlan regular = plan_with(table, "CL", SessionHours::rth);
    EXPECT_EQ(dates_of_plan(regular), (std::vector<std::string>{"2020-04-16", "2020-04-17", "2020-04-20",
                                                                "2020-04-21", "2020-04-22"}));
    EXPECT_EQ(counts_of(regular), std::vector<std::size_t>(5, 330));
    EXPECT_EQ(table.columns().close[regular.sessions[2].first], -3763);
    // Trading days from 18:00 to 17:00.
    EXPECT_EQ(counts_of(plan_with(table, "CL", SessionHours::all)), std::vector<std::size_t>(5, 23 * 60));
}

TEST(InstrumentTable, ESInChicagoTimeWithTheHaltAndDaylightSaving) {
    MinuteBars bars;
    for (const int day : {7, 8, 11, 12, 13}) { // clocks change on Sunday, 2024-03-10
        const std::int32_t date = make_date(2024, 3, day);
        bars.add("America/Chicago", date - 1, 17 * 60, 24 * 60).add("America/Chicago", date, 0, 16 * 60);
    }
    const BarTable table = bars.table(0.25, "ES 06-24");
    EXPECT_EQ(counts_of(plan_with(table, "ES", SessionHours::rth)), std::vector<std::size_t>(5, 390));
    EXPECT_EQ(counts_of(plan_with(table, "ES", SessionHours::all)), std::vector<std::size_t>(5, 23 * 60));
}

TEST(InstrumentTable, BundFromTheAsianMorningToTheEvening) {
    MinuteBars bars;
    for (const int day : {4, 5, 6, 7, 8})
        bars.add("Europe/Berlin", make_date(2024, 3, day), 70, 22 * 60); // 01:10 to 22:00
    const BarTable table = bars.table(0.01, "FGBLM24");
    EXPECT_EQ(counts_of(plan_with(table, "FGBL", SessionHours::rth)), std::vector<std::size_t>(5, 14 * 60));
    EXPECT_EQ(
        dates_of_plan(plan_with(table, "FGBL", SessionHours::all)),
        (std::vector<std::string>{"2024-03-04", "2024-03-05", "2024-03-06", "2024-03-07", "2024-03-08"}));
}

TEST(InstrumentTable, AWeekOfCoinsHasSevenUtcDays) {
    MinuteBars bars;
    for (int day = 4; day <= 11; ++day) // Monday to the next Monday
        bars.add("UTC", make_date(2024, 3, day), 0, 24 * 60);
    const SessionPlan plan = plan_with(bars.table(0.01, "BTCUSDT"), "CRYPTO", SessionHours::all);
    const auto counts = counts_of(plan);
    ASSERT_GE(counts.size(), 7U);
    for (std::size_t i = 0; i < 7; ++i)
        EXPECT_EQ(counts[i], 24U * 60) << i;
}

TEST(InstrumentTable, DamagedListsNameTheirLine) {
    const auto message = [](const std::string& body) {
        try {
            InstrumentTable::parse(
                "format: rekindle-instruments/1\nchecked: 2026-11-25\ninstruments:\n" + body, "own.yaml");
        } catch (const Error& error) {
            return error.render();
        }
        return std::string();
    };
    const std::string good = "zone: UTC, day_start: \"00:00\", name: x, source: y";
    EXPECT_EQ(message("  A: {" + good + "}\n"), "");
    for (const std::string bad :
         {"zone: Mars, day_start: \"00:00\", name: x, source: y", "zone: UTC, name: x, source: y",
          "zone: UTC, day_start: \"25:00\", name: x, source: y", "zone: UTC, day_start: \"00:00\", name: x"})
        EXPECT_EQ(message("  A: {" + bad + "}\n").substr(0, 10), "own.yaml:4") << bad;
    EXPECT_NE(message("  A: {" + good + ", color: red}\n").find("color"), std::string::npos);
    EXPECT_NE(message("  A: {" + good + ", tick: -1}\n").find("tick"), std::string::npos);
}

} // namespace
} // namespace rekindle::market
