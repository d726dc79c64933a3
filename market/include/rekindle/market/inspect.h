#pragma once
/// Facts about a table of bars, as shown by `rekindle inspect`.

#include <rekindle/market/bar_ends.h>
#include <rekindle/market/bars.h>
#include <rekindle/market/calendar.h>
#include <rekindle/market/clock_suggestion.h>
#include <rekindle/market/instruments.h>
#include <rekindle/market/read_bars.h>
#include <rekindle/market/session.h>
#include <rekindle/market/session_plan.h>
#include <rekindle/market/splits.h>

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rekindle::market {

/// How many sessions there are for one combination of hours and length.
struct SessionCount {
    SessionHours hours = SessionHours::all;
    SessionLength length = SessionLength::day;
    std::size_t sessions = 0;         ///< complete sessions
    std::size_t median_bars = 0;      ///< of the held contract
    std::int32_t first = 0, last = 0; ///< dates of the first and the last complete session
    std::string refused;              ///< why this combination is not possible; empty if it is
};

/// A stretch without bars of the held contract inside a trading day.
struct Hole {
    std::int64_t after = 0;  ///< timestamp of the last bar before it
    std::int64_t before = 0; ///< timestamp of the first bar after it
    friend bool operator==(const Hole&, const Hole&) = default;
};

/// A pause at the same local time on at least a quarter of the days.
struct RegularPause {
    int begin_minute = 0; ///< in the zone's local time: end of the last bar before it
    int end_minute = 0;   ///< end of the first bar after it
    std::size_t days = 0;
};

struct InspectReport {
    ReadReport reading;
    BarMetadata metadata;
    BarEnds ends;                         ///< of the bars
    SessionRules rules;                   ///< zone of the times below
    std::optional<Instrument> instrument; ///< set by the caller, if it is known
    /// Totals over all bars, in stored units; empty if a file lacks these volumes.
    std::optional<std::pair<double, double>> sides; ///< volume at the bid, at the ask
    std::vector<SessionCount> sessions;             ///< rth, eth and all by day; all by week
    SessionPlan plan;                               ///< by trading day, all hours
    std::string roll_error;                         ///< why there is no plan; empty if there is one
    std::vector<Hole> largest_holes;                ///< at most ten, longest first
    std::size_t holes = 0;                          ///< pauses of at least hole_seconds that are not regular
    std::int64_t hole_seconds = 0;
    std::vector<RegularPause> regular_pauses;
    std::vector<std::int32_t> missing_days; ///< business days without a session, at most ten
    /// Empty if a bar is longer than a day, so that days without one mean nothing.
    std::optional<std::size_t> missing_day_count;
    std::vector<SuspectedSplit> suspected_splits;
    std::vector<std::string> warnings; ///< what makes results meaningless or wrong
    ClockSuggestion clock;
    int sessions_needed = 0; ///< for the first row of the default features
};

/// Inspects bars that were read. `rules` gives the zone and hours of the exchange; rules.hours and
/// rules.length are ignored. Never throws because of the content of the bars: the report says what cannot be
/// determined.
InspectReport inspect(const BarTable& bars, const ReadReport& reading, const SessionRules& rules,
                      const HolidayCalendar& calendar, RollMethod method);

/// How many more complete sessions the default features need for their first row.
int lacking_sessions(const InspectReport& report, const SessionCount& count);

/// Plain ASCII text, wrapped at `width` columns between words; ends with a newline.
std::string render(const InspectReport& report, std::size_t width = 100);
/// The same facts; times are given as seconds since 1970-01-01T00:00:00Z and as text with the zone.
nlohmann::ordered_json to_json(const InspectReport& report);

} // namespace rekindle::market
