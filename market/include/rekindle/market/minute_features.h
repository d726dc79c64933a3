#pragma once
/// Features per bar: one row per bar, without look-ahead.

#include <rekindle/base/scratch_array.h>
#include <rekindle/base/thread_pool.h>
#include <rekindle/market/bar_window.h>
#include <rekindle/market/features.h>
#include <rekindle/market/session.h>

#include <span>

namespace rekindle::market {

/// A feature per bar and its computation.
struct MinuteFeature {
    FeatureInfo info;
    /// The value at bar i, from bars <= i only. NaN or infinite if there is none. Not called for i <
    /// info.first_valid_session. Pure.
    double (*value)(const BarWindow& window, std::size_t i) = nullptr;
    bool needs_vix = false;
};

/// The 19 columns of the original system's per-minute set, in its order. In their names "d" means bars.
std::span<const MinuteFeature> minute_feature_table();

/// One row per bar of a session (only bars of the session's contract), starting at the first bar where all
/// features have a value; FeatureMatrix::source is the index of the bar in the table. Windows extend across
/// sessions, with prices shifted across rolls. Without a VIX, the feature that needs it is omitted and a note
/// says so. The result is bit-identical for any number of threads and any workspace, and a prefix of the bars
/// gives a prefix of the rows. Throws Error (usage) if no row remains, and an Error naming the workspace's
/// folder if it lacks space.
FeatureMatrix minute_features(const BarTable& bars, std::span<const Session> sessions, ThreadPool& pool,
                              const Workspace& workspace = {});
/// The same for features given by name, in that order: the ones that a model was trained with. Also throws
/// Error (usage) for a name that is not in the table.
FeatureMatrix named_minute_features(const BarTable& bars, std::span<const Session> sessions,
                                    std::span<const std::string> names, ThreadPool& pool,
                                    const Workspace& workspace = {}, NoRows no_rows = NoRows::refuse);

/// The same for arbitrary features.
FeatureMatrix compute_minute_features(std::span<const MinuteFeature> features, const BarTable& bars,
                                      std::span<const Session> sessions, ThreadPool& pool,
                                      const Workspace& workspace = {}, NoRows no_rows = NoRows::refuse);

} // namespace rekindle::market
