#pragma once
/// Makes the decisions of a backtest from a file of predictions and a rule, or from a file of positions.

#include <rekindle/research/backtest.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle::research {

/// One row of a predictions file (docs/formats/predictions.md). A missing number is NaN.
struct PredictionRow {
    std::int64_t known_at = 0; ///< seconds since 1970-01-01T00:00:00Z
    std::string instrument = {}, fold = {}, seed = {};
    double prediction = 0;
    double outcome = 0;
};

/// Reads a table with at least the columns known_at and prediction, in any format of market::table_text().
/// Skips rows without a prediction. Throws Error (usage) with file and line.
std::vector<PredictionRow> read_predictions(const std::filesystem::path& path);
/// Does the same for text; `where` names the file in errors.
std::vector<PredictionRow> parse_predictions(std::string_view csv, const std::string& where);

/// Which rows of a file to trade. "" means the only value in the column. For `seed`, if the column has
/// several values and "mean" is one of them, "" means "mean".
struct PredictionFilter {
    std::string instrument = {}, fold = {}, seed = {};
};

/// The rows that pass the filter, in chronological order. Throws Error (usage) if two of these rows have the
/// same instant; the error lists the values to choose from.
std::vector<PredictionRow> select_predictions(std::vector<PredictionRow> rows,
                                              const PredictionFilter& filter);

enum class Direction { both, long_only, short_only };

/// Turns a prediction into a target position: 1 above center + threshold, -1 below center - threshold,
/// otherwise 0.
struct PredictionRule {
    double center = 0;    ///< in the unit of the prediction: 0 for returns, 0.5 for probabilities of a rise
    double threshold = 0; ///< in the same unit, at least 0
    Direction direction = Direction::both;
    /// Distance of the stop loss from the last close before the decision, as a share of that close; 0: none.
    double stop_loss = 0;
    double take_profit = 0; ///< the same for the take profit
    std::size_t hold = 0;   ///< bars after which a position is closed unless a new prediction comes; 0: never
};

/// Whether the rows predict probabilities of a rise: every outcome is 0 or 1, and every prediction is between
/// 0 and 1.
bool are_probabilities(std::span<const PredictionRow> rows);

/// Makes one decision per prediction and, with PredictionRule::hold, one for each position that ends before
/// the next prediction. A decision takes prices only from bars that have ended, and counts holding time only
/// over bars that have begun. Skips predictions made before the first bar ends.
std::vector<Decision> decisions_from(std::span<const PredictionRow> rows, const PredictionRule& rule,
                                     const TradedSeries& series);

/// Decisions by instrument. Positions that name no instrument are under "".
using Positions = std::map<std::string, std::vector<Decision>>;

/// Reads a table of positions (docs/formats/positions.md) in any format of market::table_text(): known_at,
/// position, and optionally instrument, limit, stop, stop_loss and take_profit. Throws Error (usage) with
/// file and line.
Positions read_positions(const std::filesystem::path& path);
Positions parse_positions(std::string_view csv, const std::string& where);

} // namespace rekindle::research
