#pragma once
/// The usual hours of the US market in the local time of any zone.

#include <rekindle/market/session.h>

#include <string>

namespace rekindle::market {

/// The trading day (18:00 in New York) and the regular hours (09:30-16:00 in New York) in local time of
/// `zone`. Session times follow the market: in America/Chicago they are 17:00 and 08:30-15:00.
///   zones at a constant distance from New York (the US, Canada): converted, in that zone
///   US zones without daylight saving time (America/Phoenix, Pacific/Honolulu): their local time of the
///     market's hours changes twice a year, so the rules are those of New York, with its zone
///   any other zone: the hours of its exchanges are not known. The trading day is assumed to begin at 18:00
///     local time (SessionRules::day_start_assumed), and rth_known is false.
/// The other rules have their defaults. Throws Error (usage) for an unknown zone.
SessionRules usual_session_rules(const std::string& zone);

/// Whether two rules have the same trading days and regular hours, even if they are written in the local
/// times of two zones whose difference never changes. Ignores their other members.
bool same_hours(const SessionRules& a, const SessionRules& b);

/// The zone whose midnight separates the dates of daily bars: New York for zones that share its market,
/// otherwise `zone` itself.
std::string zone_of_dates(const std::string& zone);

} // namespace rekindle::market
