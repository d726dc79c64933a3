#include "features/bar_sequence.h"
#include "features/features_named.h"
#include "features/finish_matrix.h"

#include <rekindle/base/text.h>
#include <rekindle/foundation/error.h>
#include <rekindle/market/minute_features.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace rekindle::market {
namespace {

bool has_vix(const BarTable& bars) {
    const auto vix = bars.columns().vix;
    return std::any_of(vix.begin(), vix.end(), [](float value) { return !std::isnan(value); });
}

std::vector<MinuteFeature> computable(std::span<const MinuteFeature> features, bool vix,
                                      std::vector<std::string>& notes) {
    std::vector<MinuteFeature> kept;
    for (const MinuteFeature& feature : features) {
        if (vix || !feature.needs_vix)
            kept.push_back(feature);
        else
            notes.push_back(
                fmt::format("the feature {} is omitted: the bars have no VIX", feature.info.name));
    }
    return kept;
}

/// Number of bars before the first one at which every feature has a value.
std::size_t warm_up(std::span<const MinuteFeature> features) {
    int bars = 0;
    for (const MinuteFeature& feature : features)
        bars = std::max(bars, feature.info.first_valid_session);
    return static_cast<std::size_t>(bars);
}

FeatureMatrix make_rows(std::size_t rows, std::span<const MinuteFeature> features,
                        const Workspace& workspace) {
    FeatureMatrix matrix;
    for (const MinuteFeature& feature : features)
        matrix.names.push_back(feature.info.name);
    matrix.values = {rows * features.size(), workspace.folder};
    matrix.known_at = {rows, workspace.folder};
    matrix.dates = {rows, workspace.folder};
    matrix.source = {rows, workspace.folder};
    return matrix;
}

} // namespace

FeatureMatrix compute_minute_features(std::span<const MinuteFeature> features, const BarTable& bars,
                                      std::span<const Session> sessions, ThreadPool& pool,
                                      const Workspace& workspace, NoRows no_rows) {
    const std::size_t rows_per_job = workspace.rows_per_block(16384);
    std::vector<std::string> notes;
    const std::vector<MinuteFeature> kept = computable(features, has_vix(bars), notes);
    const BarSequence sequence(bars, sessions, workspace);
    const std::size_t first = warm_up(kept);
    if (sequence.size() <= first)
        throw usage_error(
            fmt::format("{} too few for the feature group minute",
                        counted(static_cast<std::int64_t>(sequence.size()), "bar is", "bars are")))
            .expected(fmt::format("at least {}", with_thousands(static_cast<std::int64_t>(first) + 1)));
    FeatureMatrix matrix = make_rows(sequence.size() - first, kept, workspace);
    matrix.dropped_first = first;
    matrix.notes = std::move(notes);
    const auto macd = macd_above_signal(bars, sequence, workspace);
    pool.for_each((matrix.rows() + rows_per_job - 1) / rows_per_job, [&](std::size_t job) {
        const std::size_t begin = first + job * rows_per_job;
        const std::size_t end = std::min(sequence.size(), begin + rows_per_job);
        // One bar more than the look-backs, for the change into the first bar of a window.
        const std::size_t history = std::min(begin, first + 1);
        const BarWindow window(bars, sequence, macd, begin - history, end);
        double* value = matrix.values.data() + (begin - first) * kept.size();
        for (std::size_t i = begin; i < end; ++i) {
            const std::size_t bar = sequence.bar(i);
            matrix.source[i - first] = bar;
            matrix.known_at[i - first] = bars.columns().time[bar];
            matrix.dates[i - first] = sequence.session(i).date;
            const bool has_history = sequence.session(i - first).stretch == sequence.session(i).stretch;
            for (const MinuteFeature& feature : kept)
                *value++ = has_history ? feature.value(window, i) : std::numeric_limits<double>::quiet_NaN();
        }
        matrix.release(begin - first, end - begin);
        sequence.release(begin, end - begin);
        macd.release(begin, end - begin);
    });
    drop_incomplete_rows(matrix, "bar", workspace, no_rows);
    return matrix;
}

FeatureMatrix minute_features(const BarTable& bars, std::span<const Session> sessions, ThreadPool& pool,
                              const Workspace& workspace) {
    return compute_minute_features(minute_feature_table(), bars, sessions, pool, workspace);
}

FeatureMatrix named_minute_features(const BarTable& bars, std::span<const Session> sessions,
                                    std::span<const std::string> names, ThreadPool& pool,
                                    const Workspace& workspace, NoRows no_rows) {
    const auto features = features_named(minute_feature_table(), names, "bar");
    return compute_minute_features(features, bars, sessions, pool, workspace, no_rows);
}

} // namespace rekindle::market
