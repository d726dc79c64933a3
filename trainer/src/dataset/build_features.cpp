#include "build_features.h"

#include <rekindle/base/text.h>
#include <rekindle/foundation/error.h>
#include <rekindle/market/clock.h>
#include <rekindle/market/features.h>
#include <rekindle/market/minute_features.h>
#include <rekindle/trainer/dataset.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace rekindle::trainer {

namespace {

/// Which of the requested features are computed.
struct FeatureSet {
    std::size_t longest_look_back = 0; ///< for features of sessions
    bool vix = true;                   ///< for features of bars
};

bool any_vix(const MarketData& data) {
    const auto vix = data.read.bars.columns().vix;
    return std::any_of(vix.begin(), vix.end(), [](float value) { return !std::isnan(value); });
}

bool any_session_vix(const MarketData& data) {
    return std::any_of(data.summaries.begin(), data.summaries.end(),
                       [](const market::SessionSummary& session) { return !std::isnan(session.vix); });
}

/// The feature sets to try. The first has all features; each later one also omits the features that cost the
/// most rows.
std::vector<FeatureSet> feature_sets(const TrainConfig& config, std::span<const MarketData> markets) {
    std::vector<FeatureSet> sets;
    if (per_bar(config)) {
        if (std::ranges::all_of(markets, any_vix))
            sets.push_back({0, true});
        sets.push_back({0, false});
    } else {
        for (const std::size_t look_back : market::look_backs_of(config.features))
            sets.push_back({look_back, true});
    }
    return sets;
}

/// Why these bars, or their sessions, have no VIX.
std::string without_vix(const TrainConfig& config, const MarketData& data) {
    const bool joined = data.read.report.vix_source != "none";
    const std::string file = config.vix.empty() ? "the VIX column of the bars" : config.vix;
    if (joined && any_vix(data))
        return fmt::format("the first value of {} was published after the last complete session, {}", file,
                           market::format_date(data.summaries.back().date));
    if (joined)
        return fmt::format("the first value of {} was published after the last bar, {}", file,
                           timestamp_text(data.read.report.last_time, data));
    const auto& columns = data.read.report.columns;
    const bool column =
        std::any_of(columns.begin(), columns.end(), [](const auto& c) { return c.name == "vix"; });
    return config.vix.empty() && !column ? "the bars have no VIX column and no --vix was given"
                                         : fmt::format("{} has no values", file);
}

void require_vix(const TrainConfig& config, const MarketData& data) {
    const bool needed =
        std::find(config.features.begin(), config.features.end(), "vix") != config.features.end();
    if (needed && !any_session_vix(data))
        throw usage_error(fmt::format("the feature group vix has no data: {}", without_vix(config, data)))
            .at("--features")
            .hint("Use --vix to give a file of daily VIX closes that begins before the bars end, or omit the "
                  "group.");
}

bool any_volume(const MarketData& data) {
    return std::any_of(data.summaries.begin(), data.summaries.end(),
                       [](const market::SessionSummary& session) { return session.total_volume > 0; });
}

/// Without this check, a model's volume features would be computed from prices.
void require_volume_for(std::span<const std::string> names, const MarketData& data) {
    if (any_volume(data))
        return;
    const auto needing = std::ranges::find_if(names, [](const std::string& name) {
        return std::ranges::any_of(market::feature_table(), [&](const market::FeatureInfo& one) {
            return one.needs_volume && one.name == name;
        });
    });
    if (needing != names.end())
        throw usage_error(fmt::format("the feature {} has no data: no bar has volume", *needing))
            .hint("Use bars with volume, or train a model on bars without it.");
}

bool needs_vix(const std::string& feature, bool by_bar) {
    if (by_bar)
        return std::ranges::any_of(market::minute_feature_table(), [&](const market::MinuteFeature& one) {
            return one.needs_vix && one.info.name == feature;
        });
    return std::ranges::any_of(market::feature_table(), [&](const market::FeatureInfo& one) {
        return one.group == "vix" && one.name == feature;
    });
}

/// Like require_vix, for the features of a model.
void require_vix_for(std::span<const std::string> names, bool by_bar, const TrainConfig& config,
                     const MarketData& data) {
    const auto needing =
        std::ranges::find_if(names, [&](const std::string& name) { return needs_vix(name, by_bar); });
    if (needing != names.end() && !(by_bar ? any_vix(data) : any_session_vix(data)))
        throw usage_error(fmt::format("the feature {} has no data: {}", *needing, without_vix(config, data)))
            .hint("Use --vix to give a file of daily VIX closes that begins before the bars end.");
}

/// Adds a note for each feature that `set` omits and the first of `sets` has.
void note_omitted_features(const FeatureSet& set, const std::vector<FeatureSet>& sets,
                           const TrainConfig& config, const MarketData& data,
                           std::vector<std::string>& notes) {
    if (per_bar(config)) {
        if (set.vix != sets.front().vix)
            notes.emplace_back("the feature vix_lagged is omitted: too few bars have a VIX value");
        else if (!set.vix)
            notes.push_back(fmt::format("the feature vix_lagged is omitted: {}", without_vix(config, data)));
        return;
    }
    const auto sessions = static_cast<std::int64_t>(data.summaries.size());
    for (const FeatureSet& longer : sets)
        if (longer.longest_look_back > set.longest_look_back)
            notes.push_back(fmt::format(
                "the features over {} are omitted: with {}, they would leave too few rows to train on",
                counted(static_cast<std::int64_t>(longer.longest_look_back), "session"),
                counted(sessions, "session")));
}

market::FeatureMatrix compute_features(const TrainConfig& config, const MarketData& data,
                                       const FeatureSet& set, ThreadPool& pool, const Workspace& workspace,
                                       market::NoRows no_rows) {
    if (!per_bar(config))
        return market::session_features(data.summaries, data.read.bars.metadata().tick, config.features, pool,
                                        {set.longest_look_back, no_rows});
    const bool volume = any_volume(data);
    std::vector<std::string> names, omitted;
    for (const market::MinuteFeature& feature : market::minute_feature_table())
        if (feature.info.needs_volume && !volume)
            omitted.push_back(feature.info.name);
        else if (set.vix || !feature.needs_vix)
            names.push_back(feature.info.name);
    market::FeatureMatrix matrix =
        market::named_minute_features(data.read.bars, data.plan.sessions, names, pool, workspace, no_rows);
    if (!omitted.empty())
        matrix.notes.push_back(market::omitted_without_volume(omitted));
    return matrix;
}

void check_groups(const TrainConfig& config, const MarketData& data) {
    if (per_bar(config) && config.features.size() > 1)
        throw usage_error(
            "the group minute makes one row per bar and cannot be combined with groups of sessions")
            .at("--features")
            .expected("minute alone, or groups without it");
    require_vix(config, data);
}

/// Calls `call`. If an error does not say where it occurred, adds the name of the instrument.
template <class Call>
auto naming_instrument(const MarketData& data, Call call) {
    try {
        return call();
    } catch (Error& error) {
        if (error.where().empty() && !data.instrument.empty())
            error.at(data.instrument);
        throw;
    }
}

bool has_column(const market::FeatureMatrix& matrix, const std::string& name) {
    return std::ranges::find(matrix.names, name) != matrix.names.end();
}

void keep_columns(market::FeatureMatrix& matrix, const std::vector<std::string>& names) {
    std::vector<std::size_t> kept;
    for (std::size_t column = 0; column < matrix.columns(); ++column)
        if (std::ranges::find(names, matrix.names[column]) != names.end())
            kept.push_back(column);
    std::size_t to = 0;
    for (std::size_t row = 0; row < matrix.rows(); ++row)
        for (const std::size_t column : kept)
            matrix.values[to++] = matrix.at(row, column);
    matrix.values.truncate(to);
    matrix.names = names;
}

/// Removes from all instruments the columns that any of them lacks, with a note. Throws Error (usage) if no
/// column is left.
void keep_common_columns(std::vector<market::FeatureMatrix>& matrices, std::span<const MarketData> markets) {
    std::vector<std::string> common, omitted;
    for (const market::FeatureMatrix& matrix : matrices)
        for (const std::string& name : matrix.names) {
            const auto lacking = std::ranges::find_if(
                matrices, [&](const market::FeatureMatrix& other) { return !has_column(other, name); });
            auto& list = lacking == matrices.end() ? common : omitted;
            if (std::ranges::find(list, name) != list.end())
                continue;
            list.push_back(name);
            if (lacking != matrices.end())
                for (market::FeatureMatrix& one : matrices)
                    one.notes.push_back(fmt::format(
                        "the feature {} is omitted: {} does not have it", name,
                        markets[static_cast<std::size_t>(lacking - matrices.begin())].instrument));
        }
    if (omitted.empty())
        return;
    if (common.empty())
        throw usage_error("the instruments have no feature in common")
            .at("--features")
            .hint("Use groups that every instrument can fill, or leave out the instruments that cannot.");
    for (market::FeatureMatrix& matrix : matrices)
        keep_columns(matrix, common);
}

std::vector<market::FeatureMatrix> compute_all(const TrainConfig& config, std::span<const MarketData> markets,
                                               const FeatureSet& set, ThreadPool& pool,
                                               const Workspace& workspace, market::NoRows no_rows) {
    std::vector<market::FeatureMatrix> matrices;
    matrices.reserve(markets.size());
    for (const MarketData& data : markets)
        matrices.push_back(naming_instrument(
            data, [&] { return compute_features(config, data, set, pool, workspace, no_rows); }));
    return matrices;
}

} // namespace

bool per_bar(const TrainConfig& config) {
    return std::find(config.features.begin(), config.features.end(), "minute") != config.features.end();
}

std::vector<market::FeatureMatrix>
features_with_enough_rows(const TrainConfig& config, std::span<const MarketData> markets, ThreadPool& pool,
                          const Workspace& workspace,
                          const std::function<bool(std::size_t, const market::FeatureMatrix&)>& enough) {
    for (const MarketData& data : markets)
        check_groups(config, data);
    const std::vector<FeatureSet> sets = feature_sets(config, markets);
    for (const FeatureSet& set : sets) {
        const bool last = &set == &sets.back();
        auto matrices = compute_all(config, markets, set, pool, workspace,
                                    last ? market::NoRows::refuse : market::NoRows::keep_none);
        bool all = true;
        for (std::size_t i = 0; i < matrices.size(); ++i)
            all &= enough(i, matrices[i]);
        if (!all && !last)
            continue;
        for (std::size_t i = 0; i < matrices.size(); ++i)
            note_omitted_features(set, sets, config, markets[i], matrices[i].notes);
        keep_common_columns(matrices, markets);
        return matrices;
    }
    throw internal_error("there is no way to make features");
}

std::vector<market::FeatureMatrix> build_features(const TrainConfig& config,
                                                  std::span<const MarketData> markets, ThreadPool& pool,
                                                  const Workspace& workspace) {
    return features_with_enough_rows(config, markets, pool, workspace,
                                     [](std::size_t, const market::FeatureMatrix& matrix) {
                                         // the last row has no outcome yet
                                         return matrix.rows() > min_training_rows;
                                     });
}

market::FeatureMatrix build_features(const TrainConfig& config, const MarketData& data, ThreadPool& pool,
                                     const Workspace& workspace) {
    return std::move(build_features(config, std::span(&data, 1), pool, workspace).front());
}

market::FeatureMatrix build_named_features(std::span<const std::string> names, bool by_bar,
                                           const TrainConfig& config, const MarketData& data,
                                           ThreadPool& pool, const Workspace& workspace) {
    require_vix_for(names, by_bar, config, data);
    require_volume_for(names, data);
    auto matrix =
        by_bar ? market::named_minute_features(data.read.bars, data.plan.sessions, names, pool, workspace)
               : market::named_session_features(data.summaries, data.read.bars.metadata().tick, names, pool);
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (i < matrix.names.size() && matrix.names[i] == names[i])
            continue;
        throw usage_error(fmt::format("the feature {} cannot be computed from this data", names[i]))
            .hint(fmt::format("{}", fmt::join(matrix.notes, " "))); // such as a look-back that is too long
    }
    return matrix;
}

} // namespace rekindle::trainer
