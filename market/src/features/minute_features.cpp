#include "features/bar_sequence.h"
#include "features/finish_matrix.h"

#include <rekindle/base/error.h>
#include <rekindle/base/text.h>
#include <rekindle/market/minute_features.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

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
                fmt::format("the feature {} is left out: the bars have no VIX", feature.info.name));
    }
    return kept;
}

/// Bars before the first one at which every feature has a value.
std::size_t warm_up(std::span<const MinuteFeature> features) {
    int bars = 0;
    for (const MinuteFeature& feature : features)
        bars = std::max(bars, feature.info.first_valid_session);
    return static_cast<std::size_t>(bars);
}

FeatureMatrix make_rows(const BarTable& bars, const BarSequence& sequence,
                        std::span<const MinuteFeature> features, std::size_t first) {
    FeatureMatrix matrix;
    for (const MinuteFeature& feature : features)
        matrix.names.push_back(feature.info.name);
    const std::size_t rows = sequence.size() - first;
    matrix.dropped_first = first;
    matrix.values.resize(rows * features.size());
    matrix.known_at.resize(rows);
    matrix.dates.resize(rows);
    matrix.source.resize(rows);
    for (std::size_t row = 0; row < rows; ++row) {
        const std::size_t i = first + row;
        matrix.source[row] = sequence.bar(i);
        matrix.known_at[row] = bars.columns().time[sequence.bar(i)];
        matrix.dates[row] = sequence.session(i).date;
    }
    return matrix;
}

} // namespace

FeatureMatrix compute_minute_features(std::span<const MinuteFeature> features, const BarTable& bars,
                                      std::span<const Session> sessions, ThreadPool& pool) {
    constexpr std::size_t rows_per_job = 16384;
    std::vector<std::string> notes;
    const std::vector<MinuteFeature> kept = computable(features, has_vix(bars), notes);
    const BarSequence sequence(bars, sessions);
    const std::size_t first = warm_up(kept);
    if (sequence.size() <= first)
        throw usage_error(fmt::format("{} bars are too few for the feature group minute",
                                      with_thousands(static_cast<std::int64_t>(sequence.size()))))
            .expected(fmt::format("at least {}", with_thousands(static_cast<std::int64_t>(first) + 1)));
    FeatureMatrix matrix = make_rows(bars, sequence, kept, first);
    matrix.notes = std::move(notes);
    const std::vector<std::uint8_t> macd = macd_above_signal(bars, sequence);
    pool.for_each((matrix.rows() + rows_per_job - 1) / rows_per_job, [&](std::size_t job) {
        const std::size_t begin = first + job * rows_per_job;
        const std::size_t end = std::min(sequence.size(), begin + rows_per_job);
        // One bar more than the look-backs: the change into the first bar of a window.
        const std::size_t history = std::min(begin, first + 1);
        const BarWindow window(bars, sequence, macd, begin - history, end);
        double* value = matrix.values.data() + (begin - first) * kept.size();
        for (std::size_t i = begin; i < end; ++i)
            for (const MinuteFeature& feature : kept)
                *value++ = feature.value(window, i);
    });
    drop_incomplete_rows(matrix, "bar");
    return matrix;
}

FeatureMatrix minute_features(const BarTable& bars, std::span<const Session> sessions, ThreadPool& pool) {
    return compute_minute_features(minute_feature_table(), bars, sessions, pool);
}

} // namespace rekindle::market
