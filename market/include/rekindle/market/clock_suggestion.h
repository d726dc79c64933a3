#pragma once
/// Which clock the stamps of a file seem to follow, judged by when people trade.

#include <rekindle/market/bars.h>
#include <rekindle/market/session.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rekindle::market {

/// One guess at the zone of the stamps, with what would follow from it for the exchange's local time.
struct ClockCandidate {
    std::string zone;
    /// Volume of the first regular half hour over that of the half hour before; nothing when bars are longer
    /// than 15 minutes, there is no volume, or the regular hours are not known.
    std::optional<double> open_jump;
    /// Volume of the last regular quarter hour over that of the second quarter hour after the close.
    std::optional<double> close_drop;
    /// Bars in the hour before the trading day begins (the daily halt), over the mean of all hours.
    double halt_share = 0;
    /// Median distance of the last bar before a weekend from the hour before the trading day begins, in
    /// minutes.
    std::optional<double> weekend_distance;
    /// Higher is likelier: log2 of the two ratios (each cut to ±2), plus 2 (1 - halt_share), less one for
    /// each hour of weekend_distance (at most 4).
    double score = 0;
};

/// Bars and volume by the clock of the stamps, for the part of the year with one offset of the exchange.
struct SeasonProfile {
    std::string season; ///< "UTC-05:00": the exchange's offset
    std::array<std::int64_t, 24>
        bars{}; ///< [h]: bars that end after h:00 up to h + 1:00 of the stamps' clock
    std::array<std::int64_t, 24> volume{};
    std::vector<int>
        peak_minutes; ///< of the stamps' clock, the two minutes of largest volume at least an hour apart
    std::optional<int> quiet_hour; ///< an hour with less than a twentieth of the mean number of bars
};

struct ClockSuggestion {
    enum class Verdict {
        agrees,      ///< the clock in use is the likeliest, or as likely
        contradicts, ///< another clock is clearly likelier
        unclear,     ///< the data do not tell
    };
    Verdict verdict = Verdict::unclear;
    std::string read_as;                    ///< "UTC" or the exchange's zone
    std::vector<ClockCandidate> candidates; ///< likeliest first; empty when nothing could be judged
    std::vector<SeasonProfile> seasons;
    /// What was found and what to do, in one or two sentences.
    std::string message;
    /// Not empty when the stamps look like the START of bars although they are read as ends: most weeks then
    /// begin with a bar that ends at the very moment the market opens, before anyone could trade.
    std::string stamp_message;
    /// Not empty when volume does not rise at the regular opening but does at another time of the day.
    std::string hours_message;
};

/// Judges the stamps as they stand in the file. `rules` says how they were read (clock and zone) and when the
/// exchange trades (zone, regular hours, day start). Pure; some milliseconds for a million bars.
ClockSuggestion suggest_clock(const BarTable& bars, const SessionRules& rules);

} // namespace rekindle::market
