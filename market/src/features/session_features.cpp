#include "features/features_named.h"
#include "features/finish_matrix.h"

#include <rekindle/base/text.h>
#include <rekindle/foundation/error.h>
#include <rekindle/market/features.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace rekindle::market {
namespace {

void check_group(const std::string& group) {
    const std::vector<std::string> known = feature_groups();
    if (group == "minute")
        throw usage_error("the feature group minute gives one row per bar")
            .expected("minute alone, without groups that give one row per session");
    if (std::find(known.begin(), known.end(), group) != known.end())
        return;
    const std::vector<std::string_view> candidates(known.begin(), known.end());
    const std::string_view nearest = nearest_word(group, candidates);
    Error error = usage_error(fmt::format("there is no feature group \"{}\"", group));
    error.expected(fmt::format("one of {}", fmt::join(known, ", ")));
    if (!nearest.empty())
        error.hint(fmt::format("Did you mean {}?", nearest));
    throw error;
}

/// Omits the features whose look-back is not shorter than the history, with one note per look-back, and those
/// over the limit, which the caller reports.
std::vector<const SessionFeature*> features_with_enough_history(std::span<const SessionFeature> features,
                                                                std::size_t sessions, LookBackLimit limit,
                                                                std::vector<std::string>& notes) {
    std::vector<const SessionFeature*> usable;
    std::vector<std::size_t> too_long;
    for (const SessionFeature& feature : features) {
        if (feature.period > limit.sessions)
            continue;
        if (feature.period == 0 || sessions > feature.period)
            usable.push_back(&feature);
        else if (std::find(too_long.begin(), too_long.end(), feature.period) == too_long.end())
            too_long.push_back(feature.period);
    }
    for (const std::size_t period : too_long)
        notes.push_back(fmt::format("the features over {} are omitted: there {} only {}",
                                    counted(static_cast<std::int64_t>(period), "session"),
                                    sessions == 1 ? "is" : "are",
                                    counted(static_cast<std::int64_t>(sessions), "session")));
    return usable;
}

/// The rows of the table that belong to the groups.
std::vector<SessionFeature> features_of(const std::vector<std::string>& groups) {
    if (groups.empty())
        throw usage_error("no feature group is chosen").expected("at least one, such as session");
    for (const std::string& group : groups)
        check_group(group);
    std::vector<SessionFeature> features;
    for (const SessionFeature& feature : session_feature_table())
        if (std::find(groups.begin(), groups.end(), feature.info.group) != groups.end())
            features.push_back(feature);
    return features;
}

void require_vix(std::span<const SessionFeature> features, std::span<const SessionSummary> sessions) {
    const bool needs_vix = std::any_of(features.begin(), features.end(), [](const SessionFeature& feature) {
        return feature.info.group == "vix";
    });
    if (needs_vix && std::all_of(sessions.begin(), sessions.end(),
                                 [](const SessionSummary& session) { return std::isnan(session.vix); }))
        throw usage_error("the feature group vix needs the VIX, but no session has a VIX value")
            .hint("Provide a VIX file with --vix, or omit the group.");
}

void require_sides(std::span<const SessionFeature> features, std::span<const SessionSummary> sessions) {
    const bool needs_sides =
        std::ranges::any_of(features, [](const SessionFeature& one) { return one.info.group == "delta"; });
    if (needs_sides && std::ranges::all_of(sessions, [](const SessionSummary& session) {
            return session.bid_volume < 0 || session.bid_volume + session.ask_volume == 0;
        }))
        throw usage_error(
            "the feature group delta needs volumes at the bid and at the ask, which the bars do not have")
            .at("--features")
            .expected("columns such as bid_volume and ask_volume (Sierra Chart, Binance)")
            .hint("--columns ...,bid_volume=NAME,ask_volume=NAME names such columns; or omit the group.");
}

/// Without volume, these features would be constant, equal to prices, or not finite.
void omit_features_of_volume(std::vector<SessionFeature>& features, std::span<const SessionSummary> sessions,
                             std::vector<std::string>& notes) {
    if (std::any_of(sessions.begin(), sessions.end(),
                    [](const SessionSummary& session) { return session.total_volume > 0; }))
        return;
    std::vector<std::string> omitted;
    std::erase_if(features, [&](const SessionFeature& feature) {
        if (feature.info.needs_volume)
            omitted.push_back(feature.info.name);
        return feature.info.needs_volume;
    });
    if (features.empty())
        throw usage_error("every chosen feature needs volume, and no bar has any")
            .at("--features")
            .hint("Use bars with volume, or the groups session, returns, gap or calendar.");
    if (!omitted.empty())
        notes.push_back(omitted_without_volume(omitted));
}

void compute_row(std::span<const SessionFeature* const> features, const SessionHistory& history,
                 std::size_t t, std::span<double> row) {
    for (std::size_t column = 0; column < features.size(); ++column) {
        const SessionFeature& feature = *features[column];
        const bool has_history = t >= static_cast<std::size_t>(feature.info.first_valid_session);
        row[column] = has_history ? feature.value(history, t, feature.period)
                                  : std::numeric_limits<double>::quiet_NaN();
    }
}

/// Sessions [begin, end) whose prices are comparable, with the history that their rows may read.
struct Stretch {
    std::size_t begin = 0;
    std::size_t end = 0;
    SessionHistory history;
};

std::vector<Stretch> stretches_of(std::span<const SessionSummary> sessions, TickSize tick) {
    std::vector<Stretch> stretches;
    for (std::size_t begin = 0, end = 0; begin < sessions.size(); begin = end) {
        while (end < sessions.size() && sessions[end].stretch == sessions[begin].stretch)
            ++end;
        stretches.push_back({begin, end, SessionHistory(sessions.subspan(begin, end - begin), tick)});
    }
    return stretches;
}

std::size_t longest(const std::vector<Stretch>& stretches) {
    std::size_t sessions = 0;
    for (const Stretch& stretch : stretches)
        sessions = std::max(sessions, stretch.end - stretch.begin);
    return sessions;
}

} // namespace

FeatureMatrix compute_session_features(std::span<const SessionFeature> features,
                                       std::span<const SessionSummary> sessions, TickSize tick,
                                       ThreadPool& pool, LookBackLimit limit) {
    constexpr std::size_t rows_per_job = 128;
    FeatureMatrix matrix;
    const std::vector<Stretch> stretches = stretches_of(sessions, tick);
    const auto usable = features_with_enough_history(features, longest(stretches), limit, matrix.notes);
    for (const SessionFeature* feature : usable)
        matrix.names.push_back(feature->info.name);
    const std::filesystem::path in_memory;
    matrix.values = {sessions.size() * usable.size(), in_memory};
    matrix.known_at = {sessions.size(), in_memory};
    matrix.dates = {sessions.size(), in_memory};
    matrix.source = {sessions.size(), in_memory};
    for (std::size_t t = 0; t < sessions.size(); ++t) {
        matrix.known_at[t] = sessions[t].end_time;
        matrix.dates[t] = sessions[t].date;
        matrix.source[t] = t;
    }
    pool.for_each((sessions.size() + rows_per_job - 1) / rows_per_job, [&](std::size_t job) {
        const std::size_t end = std::min(sessions.size(), (job + 1) * rows_per_job);
        const auto after = [](std::size_t t, const Stretch& stretch) { return t < stretch.end; };
        for (std::size_t t = job * rows_per_job; t < end; ++t) {
            const Stretch& stretch = *std::upper_bound(stretches.begin(), stretches.end(), t, after);
            compute_row(usable, stretch.history, t - stretch.begin,
                        std::span(matrix.values).subspan(t * usable.size(), usable.size()));
        }
    });
    drop_incomplete_rows(matrix, "session", {}, limit.no_rows);
    return matrix;
}

std::vector<std::size_t> look_backs_of(const std::vector<std::string>& groups) {
    std::vector<std::size_t> periods;
    for (const SessionFeature& feature : features_of(groups))
        periods.push_back(feature.period);
    std::sort(periods.begin(), periods.end(), std::greater());
    periods.erase(std::unique(periods.begin(), periods.end()), periods.end());
    return periods;
}

std::string omitted_without_volume(const std::vector<std::string>& features) {
    return fmt::format("{} omitted because no bar has volume: {}",
                       counted(static_cast<std::int64_t>(features.size()), "feature is", "features are"),
                       fmt::join(features, ", "));
}

FeatureMatrix session_features(std::span<const SessionSummary> sessions, TickSize tick,
                               const std::vector<std::string>& groups, ThreadPool& pool,
                               LookBackLimit limit) {
    std::vector<SessionFeature> features = features_of(groups);
    require_vix(features, sessions);
    require_sides(features, sessions);
    std::vector<std::string> notes;
    omit_features_of_volume(features, sessions, notes);
    FeatureMatrix matrix = compute_session_features(features, sessions, tick, pool, limit);
    matrix.notes.insert(matrix.notes.begin(), notes.begin(), notes.end());
    return matrix;
}

FeatureMatrix named_session_features(std::span<const SessionSummary> sessions, TickSize tick,
                                     std::span<const std::string> names, ThreadPool& pool) {
    const auto features = features_named(session_feature_table(), names, "session");
    require_vix(features, sessions);
    require_sides(features, sessions);
    return compute_session_features(features, sessions, tick, pool);
}

} // namespace rekindle::market
