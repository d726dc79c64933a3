#pragma once
/// The backtest engine: orders that follow from decisions, filled by the bars that come after them.
/// docs/backtest.md describes the rules in words.

#include <rekindle/research/traded_series.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

namespace rekindle::research {

/// A price that is not set.
inline constexpr double no_price = std::numeric_limits<double>::quiet_NaN();

enum class OrderKind {
    market, ///< filled at the open of the next bar
    limit,  ///< filled at its price or better
    stop,   ///< filled at its price, or at the open of a bar that opens beyond it
};

/// The position that is wanted from an instant on. It holds until the next decision. Prices are points of the
/// contract that trades at known_at.
struct Decision {
    std::int64_t known_at =
        0; ///< seconds since 1970-01-01T00:00:00Z; bars that begin from then on can fill its order
    double target = 0;                   ///< negative: short; 0: flat; multiplied by the size of SizingRule
    OrderKind order = OrderKind::market; ///< of the entry; a target of 0 always uses a market order
    double price = no_price;             ///< of a limit or stop order
    double stop_loss = no_price;         ///< protective orders that end the position
    double take_profit = no_price;
};

/// How many contracts (shares, coins) a target of 1 means.
struct SizingRule {
    enum class Kind {
        fixed,      ///< `amount` contracts
        fraction,   ///< contracts worth `amount` times the equity
        risk,       ///< lose `amount` times the equity at the stop loss; no stop loss, no position
        volatility, ///< the position's value varies by `amount` times the equity a year (std)
    };
    Kind kind = Kind::fixed;
    double amount = 1;
    double step = 1;           ///< contracts are multiples of this, rounded toward 0
    std::size_t lookback = 20; ///< volatility: changes of the close that it is estimated from, at least 2
};

/// What trading costs. Money is in the currency of the point value.
struct Costs {
    double point_value = 1;      ///< money per point and contract
    double commission = 0;       ///< money per contract, for each fill
    double commission_share = 0; ///< of the traded value, for each fill
    double slippage = 0;         ///< points, for each fill of a market or stop order
    double slippage_share = 0;   ///< of the price, added to `slippage`
    double margin_share = 1;     ///< of the position's value that must be covered by equity; 0: no limit
};

struct BacktestOptions {
    double capital = 100'000; ///< money at the start
    SizingRule sizing = {};
    Costs costs = {};
    bool rebalance = false; ///< size the position again at each decision, also when its target is unchanged
};

enum class ExitReason { decision, stop_loss, take_profit, roll, margin_call, end_of_data };
/// "decision", "stop loss", "take profit", "roll", "margin call", "end of data".
std::string_view name_of(ExitReason reason) noexcept;

/// A closed trade. The oldest contracts of a position are closed first, so a position can be several trades.
struct Trade {
    std::size_t entry_bar = 0, exit_bar = 0; ///< indices into TradedSeries::bars
    double quantity = 0;                     ///< contracts; negative: short
    double entry_price = 0, exit_price = 0;  ///< points, with slippage
    double commission = 0;                   ///< of both fills
    double profit = 0;                       ///< after commission
    ExitReason exit = ExitReason::decision;
};

/// The course of a backtest: one value per bar, at its close.
struct BacktestResult {
    std::vector<Trade> trades;    ///< in the order of their exits
    std::vector<double> equity;   ///< money
    std::vector<double> position; ///< contracts
    double commission = 0;        ///< sums over all fills
    double slippage = 0;
    double traded_value = 0;
    std::size_t refused = 0; ///< orders that the margin did not cover
    std::size_t unsized =
        0; ///< decisions without a size: no stop loss for `risk`, too few bars for `volatility`
};

/// Runs the decisions over the bars. Rules:
///   * A bar fills only orders that were sent by its begin. Sizes follow from the last close and equity
///   before it; the
///     first bar is never traded.
///   * A decision whose target and kind of order equal those of the one before moves prices only: it neither
///   enters
///     again after a stop loss nor changes the size (see BacktestOptions::rebalance).
///   * Within a bar: a market order at the open; then the protective orders of the position; then, unless one
///   of these
///     was filled, a limit or stop order. If both protective orders could be filled, the stop loss is, unless
///     the bar opens beyond the take profit. After an entry within a bar, its stop loss can be filled in the
///     same bar, its take profit only if the entry was a stop order or filled at the open.
///   * Stop orders are filled at the open of a bar that opens beyond their price.
///   * Equity below half of the margin closes the position at the next open.
///   * At a roll, the position is closed in the old contract and opened in the new one, with the costs of
///   both fills;
///     prices of waiting orders move by the difference of the contracts.
///   * After the last bar, the position is closed at its close.
/// Takes one pass over bars and decisions. Pure. Throws Error (usage) for decisions that are not in
/// chronological order or have no finite target, a limit or stop order without a price, protective prices on
/// the wrong side of the order's price, and options out of range.
BacktestResult run_backtest(const TradedSeries& series, std::span<const Decision> decisions,
                            const BacktestOptions& options);

} // namespace rekindle::research
