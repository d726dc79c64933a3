#pragma once
/// Bars, sessions, profiles, features and targets as tables.

#include "settings.h"
#include "table.h"

#include <rekindle/base/thread_pool.h>
#include <rekindle/market/feature_matrix.h>
#include <rekindle/trainer/market_data.h>

#include <cstddef>
#include <memory>
#include <vector>

namespace rekindle::python {

/// time, open, high, low, close (points), volume (traded units), contract, and vix if there is one.
Table bar_table(const market::BarTable& bars, ColumnType time);
/// A row for each complete session.
Table session_table(const trainer::MarketData& data);
/// The profile of one session: price, volume.
Table profile_table(const trainer::MarketData& data, std::size_t session);
/// The profiles of all sessions: session, date, price, volume.
Table all_profiles_table(const trainer::MarketData& data);
/// High-volume nodes and low-volume nodes of a session, in points.
struct NodePrices {
    std::vector<double> high, low;
};
NodePrices node_prices(const trainer::MarketData& data, std::size_t session);

/// date, known_at, and the features.
struct Features {
    std::shared_ptr<const market::FeatureMatrix> matrix;
    Table table;
};
Features feature_table(const trainer::TrainConfig& config, const trainer::MarketData& data, ThreadPool& pool);
/// date, known_at, target: one row for each row of the features; NaN where there is no target.
Table target_table(const trainer::TrainConfig& config, const trainer::MarketData& data, ThreadPool& pool);

/// The type of columns that hold ends of bars.
ColumnType time_type(const trainer::MarketData& data);

} // namespace rekindle::python
