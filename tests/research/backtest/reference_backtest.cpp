#include "reference_backtest.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>

namespace rekindle::research {

namespace {

/// One open contract.
struct Unit {
    int side = 0;
    std::size_t entry_bar = 0;
    double entry_price = 0;
    std::size_t fill = 0; ///< which fill opened it
};

struct ClosedUnit {
    Unit unit;
    std::size_t exit_bar = 0;
    double exit_price = 0;
    ExitReason reason = ExitReason::decision;
    std::size_t fill = 0;
};

/// All fills so far, from which money is recomputed each time.
struct Books {
    const BacktestOptions& options;
    std::vector<Unit> open;
    std::vector<ClosedUnit> closed;
    std::size_t fills = 0, refused = 0;

    int position() const {
        int sum = 0;
        for (const Unit& unit : open)
            sum += unit.side;
        return sum;
    }
    double commission(double price) const {
        const Costs& costs = options.costs;
        return costs.commission + costs.commission_share * std::abs(price) * costs.point_value;
    }
    double equity(double price) const {
        double money = options.capital;
        for (const ClosedUnit& one : closed)
            money += one.unit.side * (one.exit_price - one.unit.entry_price) * options.costs.point_value -
                     commission(one.unit.entry_price) - commission(one.exit_price);
        for (const Unit& unit : open)
            money += unit.side * (price - unit.entry_price) * options.costs.point_value -
                     commission(unit.entry_price);
        return money;
    }
    /// Trades one contract at a time until the position is the target position.
    void go_to(int target_position, std::size_t bar, double price, bool slips, ExitReason reason) {
        const int change = target_position - position();
        if (change == 0)
            return;
        ++fills;
        const int side = change > 0 ? 1 : -1;
        if (slips)
            price += side * (options.costs.slippage + options.costs.slippage_share * std::abs(price));
        while (position() != target_position && !open.empty() && open.front().side == -side) {
            closed.push_back({open.front(), bar, price, reason, fills});
            open.erase(open.begin());
        }
        const int missing = std::abs(target_position - position());
        if (missing == 0)
            return;
        const double needed = std::abs(target_position) * std::abs(price) * options.costs.point_value *
                              options.costs.margin_share;
        if (needed + missing * commission(price) > equity(price) || equity(price) <= 0) {
            ++refused;
            return;
        }
        for (int i = 0; i < missing; ++i)
            open.push_back({side, bar, price, fills});
    }
};

bool same(const Decision& a, const Decision& b) {
    return a.target_position == b.target_position && a.order == b.order;
}

/// The state of the latest decision's order.
enum class Progress { waiting, holding, ended };

} // namespace

BacktestResult reference_backtest(const TradedSeries& series, std::span<const Decision> decisions,
                                  const BacktestOptions& options) {
    Books books{options, {}, {}};
    BacktestResult result;
    Progress progress = Progress::ended;
    Decision current;                          // the latest decision, with its latest prices
    double stop = no_price, profit = no_price; // protective prices of the held position
    std::size_t seen = 0;
    bool margin_call = false;

    for (std::size_t bar = 0; bar < series.bars.size(); ++bar) {
        const TradedBar& b = series.bars[bar];
        if (bar > 0) {
            // 1. Decisions that are known when the bar begins.
            for (; seen < decisions.size() && decisions[seen].known_at <= b.begin; ++seen) {
                const bool repeated = seen > 0 && same(decisions[seen], decisions[seen - 1]);
                current = decisions[seen];
                if (!repeated)
                    progress = Progress::waiting;
                else if (progress != Progress::waiting) {
                    stop = current.stop_loss;
                    profit = current.take_profit;
                }
            }
            // 2. Rolls.
            if (b.contract != series.bars[bar - 1].contract) {
                const double old =
                    std::isnan(b.previous_contract) ? series.bars[bar - 1].close : b.previous_contract;
                const int held = books.position();
                books.go_to(0, bar, old, true, ExitReason::roll);
                books.go_to(held, bar, b.open, true, ExitReason::roll);
                for (double* price :
                     {&current.price, &current.stop_loss, &current.take_profit, &stop, &profit})
                    *price += b.open - old;
            }
            if (margin_call)
                books.go_to(0, bar, b.open, true, ExitReason::margin_call);
            margin_call = false;

            const int target_position = static_cast<int>(current.target_position);
            const bool market = current.order == OrderKind::market || target_position == 0;
            // 3. The open.
            if (progress == Progress::waiting && market) {
                books.go_to(target_position, bar, b.open, true, ExitReason::decision);
                stop = current.stop_loss;
                profit = current.take_profit;
                progress = Progress::holding;
            }
            // 4. The protective orders of the position, then the waiting order, then its protective orders.
            const auto protective = [&](bool whole_bar, bool profit_counts) {
                const int held = books.position();
                if (held == 0)
                    return false;
                // Mirrors prices for short positions, so that lower is always worse.
                const int side = held > 0 ? 1 : -1;
                const double open = side * b.open;
                const double lowest = side > 0 ? b.low : -b.high, highest = side > 0 ? b.high : -b.low;
                std::optional<std::pair<double, ExitReason>> exit;
                if (whole_bar && open <= side * stop)
                    exit = {open, ExitReason::stop_loss};
                else if (whole_bar && open >= side * profit)
                    exit = {open, ExitReason::take_profit};
                else if (lowest <= side * stop)
                    exit = {side * stop, ExitReason::stop_loss};
                else if (profit_counts && highest >= side * profit)
                    exit = {side * profit, ExitReason::take_profit};
                if (!exit)
                    return false;
                books.go_to(0, bar, side * exit->first, exit->second == ExitReason::stop_loss, exit->second);
                if (progress == Progress::holding)
                    progress = Progress::ended;
                return true;
            };
            const bool left = protective(true, true);
            if (!left && progress == Progress::waiting && !market) {
                const int change = target_position - books.position();
                const bool limit = current.order == OrderKind::limit;
                const int falls = (change > 0) == limit ? 1 : -1; // 1: waits for a fall of the price
                const bool reached = falls > 0 ? b.low <= current.price : b.high >= current.price;
                const bool at_open = falls > 0 ? b.open <= current.price : b.open >= current.price;
                if (change == 0 || reached) {
                    books.go_to(target_position, bar, at_open ? b.open : current.price, !limit,
                                ExitReason::decision);
                    stop = current.stop_loss;
                    profit = current.take_profit;
                    progress = Progress::holding;
                    if (change != 0)
                        protective(at_open, at_open || !limit);
                }
            }
        }
        // 5. The close.
        if (bar + 1 == series.bars.size())
            books.go_to(0, bar, b.close, true, ExitReason::end_of_data);
        const double equity = books.equity(b.close);
        result.equity.push_back(equity);
        result.position.push_back(books.position());
        const double margin = std::abs(books.position()) * std::abs(b.close) * options.costs.point_value *
                              options.costs.margin_share;
        if (books.position() != 0 && (equity < 0.5 * margin || equity <= 0)) {
            margin_call = true;
            progress = Progress::ended;
        }
    }

    // Contracts that were opened by the same fill and closed by the same fill form a trade.
    std::vector<std::pair<std::pair<std::size_t, std::size_t>, Trade>> trades;
    for (const ClosedUnit& one : books.closed) {
        const std::pair key{one.unit.fill, one.fill};
        if (trades.empty() || trades.back().first != key)
            trades.push_back({key, Trade{.entry_bar = one.unit.entry_bar,
                                         .exit_bar = one.exit_bar,
                                         .entry_price = one.unit.entry_price,
                                         .exit_price = one.exit_price,
                                         .exit = one.reason}});
        Trade& trade = trades.back().second;
        const double commission = books.commission(one.unit.entry_price) + books.commission(one.exit_price);
        trade.quantity += one.unit.side;
        trade.commission += commission;
        trade.profit +=
            one.unit.side * (one.exit_price - one.unit.entry_price) * options.costs.point_value - commission;
        result.commission += commission;
    }
    for (const auto& [key, trade] : trades)
        result.trades.push_back(trade);
    result.refused = books.refused;
    return result;
}

} // namespace rekindle::research
