#pragma once
/// Where the decisions of a backtest come from: a file of predictions and a rule, or a file of positions.

#include <rekindle/research/backtest.h>

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle::research {

/// A row of a file of predictions (docs/formats/predictions.md). A missing number is NaN.
struct PredictionRow {
    std::int64_t known_at = 0; ///< seconds since 1970-01-01T00:00:00Z
    std::string instrument = {}, fold = {}, seed = {};
    double prediction = 0;
    double outcome = 0;
};

/// Reads a CSV file with at least the columns known_at and prediction; the others may be missing. Rows
/// without a prediction are left out. Throws Error (usage) with file and line.
std::vector<PredictionRow> read_predictions(const std::filesystem::path& path);
/// The same from text; `where` names the file in errors.
std::vector<PredictionRow> parse_predictions(std::string_view csv, const std::string& where);

/// Which rows of a file to trade; "" takes the only value there is. If the column `seed` has several values
/// and one of them is "mean", that one is taken.
struct PredictionFilter {
    std::string instrument = {}, fold = {}, seed = {};
};

/// The rows that the filter takes, in chronological order, one for each instant. Throws Error (usage) listing
/// the values to choose from if several rows are left for an instant.
std::vector<PredictionRow> select_predictions(std::vector<PredictionRow> rows,
                                              const PredictionFilter& filter);

enum class Direction { both, long_only, short_only };

/// From a prediction to a position: 1 above center + threshold, -1 below center - threshold, else 0.
struct PredictionRule {
    double center = 0;    ///< in the unit of the prediction: 0 for returns, 0.5 for probabilities of a rise
    double threshold = 0; ///< in the same unit, at least 0
    Direction direction = Direction::both;
    double stop_loss =
        0; ///< share of the last close below (above) which a long (short) position ends; 0: none
    double take_profit = 0; ///< likewise
    std::size_t hold = 0;   ///< bars after which the position ends unless a new prediction has come; 0: never
};

/// Whether the rows predict probabilities of a rise: every outcome is 0 or 1 and every prediction between
/// them.
bool are_probabilities(std::span<const PredictionRow> rows);

/// One decision for each prediction; for `hold`, also those that end positions. Prices and holding times come
/// only from bars that are over (have begun) by then. Predictions before the first bar are left out.
std::vector<Decision> decisions_from(std::span<const PredictionRow> rows, const PredictionRule& rule,
                                     const TradedSeries& series);

/// Reads a CSV file of positions (docs/formats/positions.md): known_at, position, and optionally limit, stop,
/// stop_loss and take_profit. Throws Error (usage) with file and line.
std::vector<Decision> read_positions(const std::filesystem::path& path);
std::vector<Decision> parse_positions(std::string_view csv, const std::string& where);

} // namespace rekindle::research
