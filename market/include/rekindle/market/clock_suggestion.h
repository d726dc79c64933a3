#pragma once
/// Guesses which clock the timestamps of a file follow, from the times at which the market trades.

#include <rekindle/market/bars.h>
#include <rekindle/market/session.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rekindle::market {

/// One candidate for the zone of the timestamps, with the evidence in the exchange's local time.
struct ClockCandidate {
    std::string zone;
    /// Volume of the first regular half hour divided by that of the half hour before; empty if bars are
    /// longer than 15 minutes, there is no volume, or the regular hours are not known.
    std::optional<double> open_jump;
    /// Volume of the last regular quarter hour divided by that of the second quarter hour after the close.
    std::optional<double> close_drop;
    /// Bars in the hour before the trading day begins (the daily halt), divided by the mean of all hours.
    double halt_share = 0;
    /// Median distance, in minutes, of the last bar before a weekend from the hour before the trading day
    /// begins.
    std::optional<double> weekend_distance;
    /// Higher is more likely: log2 of the two ratios (each clamped to ±2), plus 2 (1 - halt_share), minus 1
    /// for each hour of weekend_distance (at most 4); the last two only if the trading day's start is known.
    double score = 0;
};

/// Bars and volume by the timestamps' clock, for the part of the year in which the exchange has one UTC
/// offset.
struct SeasonProfile {
    std::string season; ///< "UTC-05:00": the exchange's offset
    std::array<std::int64_t, 24>
        bars{}; ///< [h]: bars that end after h:00 up to h + 1:00 on the timestamps' clock
    std::array<std::int64_t, 24> volume{};
    std::vector<int> peak_minutes; ///< on the timestamps' clock: the two minutes with the largest volume, at
                                   ///< least an hour apart
    std::optional<int> quiet_hour; ///< an hour with less than 1/20 of the mean number of bars
};

struct ClockSuggestion {
    enum class Verdict {
        agrees,      ///< the clock in use is the most likely one, or equally likely
        contradicts, ///< another clock is clearly more likely
        unclear,     ///< the data do not decide
    };
    Verdict verdict = Verdict::unclear;
    std::string read_as;                    ///< "UTC" or the zone of StampRules
    std::vector<ClockCandidate> candidates; ///< most likely first; empty if nothing could be judged
    std::vector<SeasonProfile> seasons;
    /// What was found and what to do, in one or two sentences.
    std::string message;
    /// Not empty if the timestamps look like the START of bars although they are read as ends: most weeks
    /// then begin with a bar that ends exactly when the market opens, before anyone could trade.
    std::string stamp_message;
    /// Not empty if volume does not rise at the regular open but does at another time of day.
    std::string hours_message;
    /// Not empty if the daily halt is not just before the start of the trading day: sessions of all hours are
    /// then cut while the market trades.
    std::string day_message;
};

/// Judges the timestamps as written in the file. `rules` says when the exchange trades (zone, regular hours,
/// day start), `stamps` how the timestamps were read. Pure; takes a few milliseconds per million bars.
ClockSuggestion suggest_clock(const BarTable& bars, const SessionRules& rules, const StampRules& stamps = {});

} // namespace rekindle::market
