#include "temporary_folder.h"
#include "time/zone_files.h"

#include <rekindle/base/text.h>
#include <rekindle/foundation/error.h>
#include <rekindle/market/clock.h>

#include <gtest/gtest.h>

#include <charconv>
#include <cstdlib>
#include <fstream>
#include <map>

namespace rekindle::market {
namespace {

struct GoldenRow {
    std::string zone;
    std::int64_t utc, local, civil, utc_of_civil;
};

std::vector<GoldenRow> golden_rows() {
    std::ifstream file(std::string(REKINDLE_TEST_DATA) + "/zones.csv");
    std::vector<GoldenRow> rows;
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with('#'))
            continue;
        const auto fields = split(line, ',');
        const auto number = [&](std::size_t i) {
            std::int64_t value = 0;
            std::from_chars(fields[i].data(), fields[i].data() + fields[i].size(), value);
            return value;
        };
        rows.push_back({std::string(fields[0]), number(1), number(2), number(3), number(4)});
    }
    return rows;
}

void expect_golden(const std::string& zone) {
    const ZoneClock clock = ZoneClock::load(zone);
    std::size_t rows = 0;
    for (const GoldenRow& row : golden_rows()) {
        if (row.zone != zone)
            continue;
        ++rows;
        EXPECT_EQ(clock.to_local(row.utc), row.local) << zone << " at " << row.utc;
        EXPECT_EQ(clock.to_utc(row.civil), row.utc_of_civil) << zone << " at civil " << row.civil;
    }
    EXPECT_GE(rows, 30u) << zone;
}

class ZoneGolden : public testing::TestWithParam<const char*> {};
TEST_P(ZoneGolden, AgreesWithPythonZoneinfo) {
    expect_golden(GetParam());
}
INSTANTIATE_TEST_SUITE_P(Zones, ZoneGolden,
                         testing::Values("America/New_York", "America/Chicago", "Europe/London",
                                         "Europe/Berlin", "Asia/Tokyo", "Australia/Sydney",
                                         "America/Sao_Paulo"));

// Abseil caches loaded zones, so no other test may load this zone.
TEST(ZoneClock, UsesTheEmbeddedFileIfTheSystemHasNone) {
    const rekindle::test::TemporaryFolder empty;
    const char* before = std::getenv("TZDIR");
    const std::string saved = before ? before : "";
    setenv("TZDIR", empty.path().c_str(), 1);
    expect_golden("Europe/Zurich");
    EXPECT_THROW(ZoneClock::load("Pacific/Chatham"),
                 Error); // not embedded, so the system folder is really not used
    EXPECT_EQ(ZoneClock::load("US/Pacific").offset_at(1'704'205'800), -8 * 3600); // a former name
    before ? setenv("TZDIR", saved.c_str(), 1) : unsetenv("TZDIR");
}

TEST(ZoneClock, EveryEmbeddedZoneLoads) {
    EXPECT_GE(embedded_zones().size(), 16u);
    for (const std::string& zone : embedded_zones())
        EXPECT_EQ(ZoneClock::load(zone).name(), zone);
}

TEST(ZoneClock, GivesOffsetsFarOutsideItsTable) {
    const ZoneClock clock = ZoneClock::load("America/New_York");
    for (const std::int64_t utc :
         {INT64_MIN / 2, std::int64_t{-4'000'000'000}, std::int64_t{9'000'000'000}, INT64_MAX / 2})
        EXPECT_LE(std::abs(clock.offset_at(utc)), 6 * 3600) << utc;
    const ZoneClock utc = ZoneClock::load("UTC");
    EXPECT_EQ(utc.to_local(1'700'000'000), 1'700'000'000);
    EXPECT_EQ(utc.to_utc(1'700'000'000), 1'700'000'000);
}

TEST(ZoneClock, UnknownNamesGetSuggestions) {
    const auto hint = [](const char* name) {
        try {
            ZoneClock::load(name);
        } catch (const Error& error) {
            EXPECT_EQ(error.status(), ExitStatus::usage);
            return error.advice();
        }
        return std::string("loaded");
    };
    EXPECT_NE(hint("America/NewYork").find("America/New_York"), std::string::npos);
    EXPECT_NE(hint("new york").find("America/New_York"), std::string::npos);
    EXPECT_NE(hint("Tokio").find("Asia/Tokyo"), std::string::npos);
    EXPECT_NE(hint("Nowhere/At_All").find("Names look like"), std::string::npos);
    for (const char* path :
         {"", "/etc/localtime", "../zoneinfo/UTC", "file:/etc/localtime", "America/../UTC"})
        EXPECT_NE(hint(path), "loaded") << path;
}

TEST(Dates, AgreeWithKnownDays) {
    EXPECT_EQ(make_date(1970, 1, 1), 0);
    EXPECT_EQ(make_date(2000, 3, 1), 11017);
    EXPECT_EQ(weekday_of(make_date(2025, 3, 7)), 4); // a Friday
    EXPECT_EQ(weekday_of(make_date(1969, 12, 29)), 0);
    EXPECT_EQ(week_of(make_date(2025, 3, 9)), make_date(2025, 3, 3));
    EXPECT_EQ(date_of(-1), -1);
    EXPECT_EQ(date_of(-86400), -1);
    EXPECT_EQ(date_of(-86401), -2);
    EXPECT_EQ(date_of(86399), 0);
    EXPECT_EQ(format_civil(1'741'363'199), "2025-03-07 15:59:59");
    EXPECT_EQ(format_civil(-1), "1969-12-31 23:59:59");
    std::int32_t date = 7;
    EXPECT_TRUE(parse_date("2024-02-29", date));
    EXPECT_EQ(format_date(date), "2024-02-29");
    for (const char* text :
         {"2023-02-29", "2024-2-29", "2024-00-10", "2024/02/10", "", "20240-2-10", "2024-02-1x"})
        EXPECT_FALSE(parse_date(text, date)) << text;
}

} // namespace
} // namespace rekindle::market
