#pragma once
/// Features of sessions: a table in which one feature is one row.

#include <rekindle/base/thread_pool.h>
#include <rekindle/market/feature_matrix.h>
#include <rekindle/market/session_history.h>

#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace rekindle::market {

/// What a person reads of a feature.
struct FeatureInfo {
    std::string name;
    std::string group;   ///< one of feature_groups()
    std::string formula; ///< in words, with the unit
    /// Sessions (group minute: bars) before the row's own that are read; all_earlier when there is no bound.
    int look_back = 0;
    /// Index from 0 of the first session (group minute: bar) that has a value.
    int first_valid_session = 0;

    static constexpr int all_earlier = -1;
};

/// A feature with its computation.
struct SessionFeature {
    FeatureInfo info;
    /// The p of a feature that looks p sessions back: the column is left out when there are no more than p
    /// sessions.
    std::size_t period = 0;
    /// The value at session t, from sessions <= t only (the prefix test runs over every row of the table).
    /// NaN or infinite where there is none. Not called for t < info.first_valid_session. Pure.
    double (*value)(const SessionHistory& history, std::size_t t, std::size_t period) = nullptr;
};

/// Every feature of sessions: the 54 of group "session" first, in the order in which a network gets them.
std::span<const SessionFeature> session_feature_table();
/// Every feature, those of the minute group too, for help and documentation.
std::span<const FeatureInfo> feature_table();
/// Names of the groups in the order of the table; "session" is the default, "minute" makes one row per bar.
std::vector<std::string> feature_groups();
/// The table as Markdown, one section per group.
std::string feature_table_markdown();

/// Which of the features asked for are computed.
struct LookBackLimit {
    /// Features over more sessions than this are left out.
    std::size_t sessions = std::numeric_limits<std::size_t>::max();
    NoRows no_rows = NoRows::refuse;
};
/// The distinct SessionFeature::period of these groups' features, longest first, for LookBackLimit. Throws
/// Error (usage) for groups that session_features() refuses.
std::vector<std::size_t> look_backs_of(const std::vector<std::string>& groups);

/// One row per session, columns in the order of the table whatever the order of `groups`. Sessions are
/// complete and in order of time; roll_offset 0 everywhere mixes contracts as the original system did. Rows
/// with a value that is not finite are left out, counted and noted. The same bits for any number of threads,
/// and a prefix of the sessions gives a prefix of the rows. Throws Error (usage): an unknown group (with the
/// nearest known one), "minute" (see minute_features()), group "vix" without VIX, no complete row.
FeatureMatrix session_features(std::span<const SessionSummary> sessions, TickSize tick,
                               const std::vector<std::string>& groups, ThreadPool& pool,
                               LookBackLimit limit = {});
/// The same for features by their names, in that order: those that a model was trained with. Throws Error
/// (usage) also for a name that is not in the table.
FeatureMatrix named_session_features(std::span<const SessionSummary> sessions, TickSize tick,
                                     std::span<const std::string> names, ThreadPool& pool);

/// The same for any features.
FeatureMatrix compute_session_features(std::span<const SessionFeature> features,
                                       std::span<const SessionSummary> sessions, TickSize tick,
                                       ThreadPool& pool, LookBackLimit limit = {});

} // namespace rekindle::market
