#pragma once
/// Features per session: a table with one row per feature.

#include <rekindle/base/thread_pool.h>
#include <rekindle/market/feature_matrix.h>
#include <rekindle/market/session_history.h>

#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace rekindle::market {

/// The description of a feature.
struct FeatureInfo {
    std::string name;
    std::string group;   ///< one of feature_groups()
    std::string formula; ///< in words, with the unit
    /// Number of sessions (group minute: bars) before the row's own that are read; all_earlier if unbounded.
    int look_back = 0;
    /// Index, from 0, of the first session (group minute: bar) that has a value.
    int first_valid_session = 0;
    bool needs_volume = false; ///< meaningless for bars without volume

    static constexpr int all_earlier = -1;
};

/// A feature and its computation.
struct SessionFeature {
    FeatureInfo info;
    /// The p of a feature that looks back p sessions: the column is omitted unless there are more than p
    /// sessions.
    std::size_t period = 0;
    /// The value at session t, computed from sessions <= t only (the prefix test checks every row of the
    /// table). NaN or infinite if there is none. Not called for t < info.first_valid_session. Pure.
    double (*value)(const SessionHistory& history, std::size_t t, std::size_t period) = nullptr;
};

/// All session features: the 54 of group "session" first, in the order in which a network receives them.
std::span<const SessionFeature> session_feature_table();
/// All features, including those of the minute group, for help and documentation.
std::span<const FeatureInfo> feature_table();
/// Names of the groups in table order; "session" is the default, "minute" gives one row per bar.
std::vector<std::string> feature_groups();
/// The table as Markdown, one section per group.
std::string feature_table_markdown();

/// Limits which of the requested features are computed.
struct LookBackLimit {
    /// Features over more sessions than this are omitted.
    std::size_t sessions = std::numeric_limits<std::size_t>::max();
    NoRows no_rows = NoRows::refuse;
};
/// The distinct values of SessionFeature::period in these groups, longest first, for LookBackLimit. Throws
/// Error (usage) for groups that session_features() rejects.
std::vector<std::size_t> look_backs_of(const std::vector<std::string>& groups);

/// One row per session, with columns in table order regardless of the order of `groups`. Sessions must be
/// complete and in chronological order; roll_offset 0 everywhere mixes contracts as the original system did.
/// If no session has volume, features that need it are omitted, and a note says so. Rows with a non-finite
/// value are skipped, counted and noted. The result is bit-identical for any number of threads, and a prefix
/// of the sessions gives a prefix of the rows. Throws Error (usage) for an unknown group (suggesting the
/// nearest known one), for "minute" (see minute_features()), for group "vix" without a VIX, for group "delta"
/// without volumes at the bid and at the ask, if every requested group needs volume and there is none, and if
/// no row is complete.
FeatureMatrix session_features(std::span<const SessionSummary> sessions, TickSize tick,
                               const std::vector<std::string>& groups, ThreadPool& pool,
                               LookBackLimit limit = {});
/// The same for features given by name, in that order: the ones that a model was trained with. Also throws
/// Error (usage) for a name that is not in the table.
FeatureMatrix named_session_features(std::span<const SessionSummary> sessions, TickSize tick,
                                     std::span<const std::string> names, ThreadPool& pool);

/// The same for arbitrary features.
FeatureMatrix compute_session_features(std::span<const SessionFeature> features,
                                       std::span<const SessionSummary> sessions, TickSize tick,
                                       ThreadPool& pool, LookBackLimit limit = {});

/// The note on features that were omitted because no bar has volume.
std::string omitted_without_volume(const std::vector<std::string>& features);

} // namespace rekindle::market
