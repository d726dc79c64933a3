#pragma once
/// What a table of bars holds: the facts behind `rekindle inspect`.

#include <rekindle/market/bars.h>
#include <rekindle/market/calendar.h>
#include <rekindle/market/clock_suggestion.h>
#include <rekindle/market/read_bars.h>
#include <rekindle/market/session.h>
#include <rekindle/market/session_plan.h>

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace rekindle::market {

/// How many sessions one kind of rules gives.
struct SessionCount {
    SessionHours hours = SessionHours::all;
    SessionLength length = SessionLength::day;
    std::size_t sessions = 0;         ///< complete ones
    std::size_t median_bars = 0;      ///< of the held contract
    std::int32_t first = 0, last = 0; ///< dates of the first and the last complete session
    std::string refused;              ///< why there are none of this kind; empty when there may be
};

/// A stretch without bars of the held contract inside a trading day.
struct Hole {
    std::int64_t after = 0;  ///< stamp of the last bar before it
    std::int64_t before = 0; ///< stamp of the first bar behind it
    friend bool operator==(const Hole&, const Hole&) = default;
};

/// A pause at the same local time on at least a quarter of the days.
struct RegularPause {
    int begin_minute = 0; ///< of the zone's local time, end of the last bar before it
    int end_minute = 0;   ///< end of the first bar behind it
    std::size_t days = 0;
};

struct InspectReport {
    ReadReport reading;
    BarMetadata metadata;
    SessionRules rules;                 ///< clock and zone that the times below are read with
    std::vector<SessionCount> sessions; ///< rth, eth and all by day, all by week
    SessionPlan plan;                   ///< by trading day, all hours: its rolls and notes
    std::string roll_error;             ///< why there is no plan; empty when there is one
    std::vector<Hole> largest_holes;    ///< at most ten, longest first
    std::size_t holes = 0;              ///< pauses of at least hole_seconds that are not regular
    std::int64_t hole_seconds = 0;
    std::vector<RegularPause> regular_pauses;
    std::vector<std::int32_t> missing_days; ///< business days without a session, at most ten
    std::size_t missing_day_count = 0;
    ClockSuggestion clock;
    int sessions_needed = 0; ///< for the first row of the default features
};

/// Looks at bars that were read. `rules` gives clock, zone and hours of the exchange; rules.hours and
/// rules.length are not looked at. Never throws for what the bars hold: what cannot be told is said in the
/// report.
InspectReport inspect(const BarTable& bars, const ReadReport& reading, const SessionRules& rules,
                      const HolidayCalendar& calendar, RollMethod method);

/// How many complete sessions the default features still need for their first row.
int lacking_sessions(const InspectReport& report, const SessionCount& count);

/// Plain text, ASCII, at most `width` columns where words allow; ends with a newline.
std::string render(const InspectReport& report, std::size_t width = 100);
/// The same facts; times are seconds since 1970-01-01T00:00:00Z beside text with its zone.
nlohmann::ordered_json to_json(const InspectReport& report);

} // namespace rekindle::market
