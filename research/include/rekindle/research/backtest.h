#pragma once
/// The backtest engine: sends the orders of each decision and fills them with later bars. docs/backtest.md
/// describes the rules in words.

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

/// Decides to hold a target position from known_at until the next decision, and says which orders reach it.
/// Prices are in points of the contract that trades at known_at.
struct Decision {
    /// Seconds since 1970-01-01T00:00:00Z. Only bars that begin at this instant or later can fill its orders.
    std::int64_t known_at = 0;
    double target_position = 0;          ///< in units of the size from SizingRule; negative: short; 0: flat
    OrderKind order = OrderKind::market; ///< how to enter; a target position of 0 always uses a market order
    double price = no_price;             ///< of a limit or stop order
    double stop_loss = no_price;         ///< prices of the protective orders, which close the position
    double take_profit = no_price;
};

/// How many contracts (shares, coins) a target position of 1 means.
struct SizingRule {
    enum class Kind {
        fixed,      ///< `amount` contracts
        fraction,   ///< contracts worth `amount` times the equity
        risk,       ///< a fill at the stop loss costs `amount` times the equity; needs a stop loss
        volatility, ///< the std of the position's value over a year is `amount` times the equity
    };
    Kind kind = Kind::fixed;
    double amount = 1;
    double step = 1;           ///< contracts are multiples of this, rounded toward 0
    std::size_t lookback = 20; ///< volatility: changes of the close to estimate it from, at least 2
};

/// What trading costs. Money is in the currency of the point value.
struct Costs {
    double point_value = 1;      ///< money per point and contract
    double commission = 0;       ///< money per contract, for each fill
    double commission_share = 0; ///< of the traded value, for each fill
    double slippage = 0;         ///< points, for each fill of a market or stop order
    double slippage_share = 0;   ///< of the price, added to `slippage`
    double margin_share = 1;     ///< share of the position's value that the equity must cover; 0: no limit
};

struct BacktestOptions {
    double capital = 100'000; ///< money at the start
    SizingRule sizing = {};
    Costs costs = {};
    bool rebalance = false; ///< resize the position even if a decision repeats the target position
};

enum class ExitReason { decision, stop_loss, take_profit, roll, margin_call, end_of_data };
/// "decision", "stop loss", "take profit", "roll", "margin call", "end of data".
std::string_view name_of(ExitReason reason) noexcept;

/// A closed trade. The oldest contracts are closed first, so one position can end up as several trades.
struct Trade {
    std::size_t entry_bar = 0, exit_bar = 0; ///< indices into TradedSeries::bars
    double quantity = 0;                     ///< contracts; negative: short
    double entry_price = 0, exit_price = 0;  ///< points, with slippage
    double commission = 0;                   ///< of both fills
    double profit = 0;                       ///< after commission
    ExitReason exit = ExitReason::decision;
};

/// What happened in a backtest. The vectors of equity and position have one value per bar, at its close.
struct BacktestResult {
    std::vector<Trade> trades;    ///< in the order of their exits
    std::vector<double> equity;   ///< money
    std::vector<double> position; ///< contracts
    double commission = 0;        ///< sums over all fills
    double slippage = 0;
    double traded_value = 0;
    std::size_t refused = 0; ///< orders refused because the equity did not cover their margin
    /// Decisions that the sizing rule could not size: `risk` without a stop loss, or `volatility` with too
    /// few bars.
    std::size_t unsized = 0;
};

/// Trades the decisions on the bars, in one pass over both. The rules:
///
///   * A bar fills only orders that were sent by the time it begins. Their sizes depend on the last
///     close and the equity before the bar. The first bar is never traded.
///   * A decision that repeats the previous target position and kind of order only moves the orders' prices:
///     it does not enter again after a stop loss, and it does not resize the position (but see
///     BacktestOptions::rebalance).
///   * Within a bar, a market order is filled first, at the open; then the protective orders of the position;
///     then, unless one of these was filled, a limit or stop order. If a bar reaches both protective
///     prices, it fills the stop loss, unless it opens beyond the take profit. After an entry within a bar,
///     the same bar can fill the stop loss. It can fill the take profit only if the entry was a stop order or
///     was filled at the open.
///   * If a bar opens beyond the price of a stop order, it fills the order at the open.
///   * If the equity falls below half of the margin, the position is closed at the next open.
///   * At a roll, the position is closed in the old contract and opened in the new one, which costs two
///     fills. The prices of waiting orders move by the difference between the contracts.
///   * The last bar closes the position at its close.
///
/// Pure. Throws Error (usage) if decisions are not in chronological order or lack a finite target position,
/// if a limit or stop order has no price, if protective prices are on the wrong side of the order's price, or
/// if an option is out of range.
BacktestResult run_backtest(const TradedSeries& series, std::span<const Decision> decisions,
                            const BacktestOptions& options);

} // namespace rekindle::research
