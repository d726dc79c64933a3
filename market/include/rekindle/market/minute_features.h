#pragma once
/// Features of bars: one row per bar, without look-ahead.

#include <rekindle/base/scratch_array.h>
#include <rekindle/base/thread_pool.h>
#include <rekindle/market/bar_window.h>
#include <rekindle/market/features.h>
#include <rekindle/market/session.h>

#include <span>

namespace rekindle::market {

/// A feature of bars with its computation.
struct MinuteFeature {
    FeatureInfo info;
    /// The value at bar i, from bars <= i only. NaN or infinite where there is none. Not called for
    /// i < info.first_valid_session. Pure.
    double (*value)(const BarWindow& window, std::size_t i) = nullptr;
    bool needs_vix = false;
};

/// The 19 columns of the original system's per-minute set in its order. In their names "d" means bars.
std::span<const MinuteFeature> minute_feature_table();

/// One row per bar of a session (of the session's contract only), from the first bar on at which all features
/// have a value; FeatureMatrix::source is the index of the bar in the table. Windows run on across sessions,
/// with prices shifted across rolls. Without VIX the feature that needs it is left out and noted. The same
/// bits for any number of threads and any workspace, and a prefix of the bars gives a prefix of the rows.
/// Throws Error (usage) when no row remains, Error naming the workspace's folder when it has no space for
/// them.
FeatureMatrix minute_features(const BarTable& bars, std::span<const Session> sessions, ThreadPool& pool,
                              const Workspace& workspace = {});
/// The same for features by their names, in that order: those that a model was trained with. Throws Error
/// (usage) also for a name that is not in the table.
FeatureMatrix named_minute_features(const BarTable& bars, std::span<const Session> sessions,
                                    std::span<const std::string> names, ThreadPool& pool,
                                    const Workspace& workspace = {}, NoRows no_rows = NoRows::refuse);

/// The same for any features.
FeatureMatrix compute_minute_features(std::span<const MinuteFeature> features, const BarTable& bars,
                                      std::span<const Session> sessions, ThreadPool& pool,
                                      const Workspace& workspace = {}, NoRows no_rows = NoRows::refuse);

} // namespace rekindle::market
