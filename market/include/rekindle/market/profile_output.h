#pragma once
/// The output of `rekindle volume-profile`.

#include <rekindle/base/thread_pool.h>
#include <rekindle/market/bar_ends.h>
#include <rekindle/market/migration.h>
#include <rekindle/market/session.h>
#include <rekindle/market/volume_profile.h>

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace rekindle::market {

/// Everything that is reported about the profiles of consecutive sessions. The vectors with an entry per
/// session have the same length.
struct ProfileReport {
    std::string instrument; ///< the name of one of several instruments; otherwise empty
    BarMetadata metadata;
    BarEnds ends;             ///< of the bars of the sessions
    Clock clock = Clock::utc; ///< how end times are printed: with Z, or (raw) as labels without a zone
    ProfileRules rules;
    std::vector<SessionSummary> sessions;
    std::vector<VolumeNodes> nodes;
    std::vector<std::optional<std::size_t>> first_touches;
    std::vector<MigrationTrend> trends;
};

/// Summaries, nodes, touches and trends of the sessions. Does not depend on the number of threads. Throws
/// Error like summarize_sessions().
ProfileReport make_profile_report(const BarTable& bars, std::span<const Session> sessions,
                                  const BarEnds& ends, Clock clock, const ProfileRules& rules,
                                  ThreadPool& pool, const NodeRules& node_rules = {});

/// A price in points, with as many decimals as the tick needs, without trailing zeros but with at least one
/// decimal ("4557.5", "4578.0"), so that no binary rounding noise shows.
std::string price_text(double ticks, TickSize tick);

/// The published layout, with LF line endings:
///   date,vpoc,value_area_low,value_area_high,value_area_width,total_volume
///   2021-12-06,4557.5,4530.5,4578.0,47.5,16072
/// Reports of several instruments follow one another, with the instrument's name in a first column.
std::string render_profile_csv(std::span<const ProfileReport> reports);
/// The trends, with the columns
/// start_date,end_date,direction,consecutive_count,vpoc_start,vpoc_end,vpoc_change. Those of several
/// instruments have the name in a first column, too.
std::string render_trends_csv(std::span<const ProfileReport> reports);
/// One JSON object, see docs/formats/volume-profile-json.md. Ends with a newline.
std::string render_profile_json(std::span<const ProfileReport> reports);

/// How a profile is drawn.
struct DrawOptions {
    std::size_t columns = 80; ///< maximum line width; values below 24 are treated as 24
    std::size_t rows = 24;    ///< maximum number of price rows; levels are merged to fit
    bool utf8 = true;         ///< false: plain ASCII
    bool color = false;       ///< ANSI colors in addition to letters and shades, never instead of them
    bool bins = false;        ///< levels are bins, not ticks
};

/// Draws the profile, with its figures in levels of the profile, as horizontal bars, highest price first. The
/// row of the point of control is marked P, and the ends of the value area are marked H and L. Bars inside
/// the value area are solid, those outside are light. A legend follows. Every line ends with a newline.
std::string draw_profile(const VolumeProfile& profile, const ProfileFigures& figures,
                         const DrawOptions& options = {});

} // namespace rekindle::market
