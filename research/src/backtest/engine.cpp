#include "broker.h"
#include "sizing.h"

#include <rekindle/foundation/error.h>
#include <rekindle/research/backtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace rekindle::research {

namespace {

/// The position is closed when the equity falls below this share of the margin.
constexpr double maintenance = 0.5;

struct Protection {
    double stop_loss = no_price, take_profit = no_price;
};

/// An order that brings the position to `position` contracts.
struct EntryOrder {
    OrderKind kind = OrderKind::market;
    double price = no_price;
    double position = 0;
    Protection protection;
};

/// Which protective orders a bar may fill.
struct ProtectionScope {
    bool from_open = true;   ///< the position was held when the bar opened
    bool take_profit = true; ///< a take profit in this bar certainly came after the entry
};

class Engine {
  public:
    Engine(const TradedSeries& series, std::span<const Decision> decisions, const BacktestOptions& options)
        : series_(series), decisions_(decisions), options_(options),
          broker_(options.capital, options.costs, result_) {
        result_.equity.reserve(series.bars.size());
        result_.position.reserve(series.bars.size());
    }

    BacktestResult run() {
        for (std::size_t bar = 0; bar < series_.bars.size(); ++bar) {
            if (bar > 0)
                trade(bar);
            close_bar(bar);
        }
        return std::move(result_);
    }

  private:
    void trade(std::size_t bar) {
        const TradedBar& now = series_.bars[bar];
        while (next_ < decisions_.size() && decisions_[next_].known_at <= now.begin)
            decide(bar, decisions_[next_++]);
        if (now.contract != series_.bars[bar - 1].contract)
            roll(bar);
        if (margin_call_) {
            broker_.fill(bar, -broker_.position(), now.open, Slippage::applied, ExitReason::margin_call);
            margin_call_ = false;
        }
        if (order_ && order_->kind == OrderKind::market)
            enter(bar, now.open, Slippage::applied);
        if (!protect(bar, {}) && order_)
            try_entry(bar);
    }

    void decide(std::size_t bar, const Decision& decision) {
        const Protection protection{decision.stop_loss, decision.take_profit};
        const bool repeated =
            last_ && last_->target_position == decision.target_position && last_->order == decision.order;
        last_ = decision;
        if (repeated) {
            if (order_) {
                order_->price = decision.price;
                order_->protection = protection;
            } else {
                protection_ = protection;
            }
            if (order_ || !options_.rebalance || left_)
                return;
        } else {
            order_.reset();
            left_ = false;
        }
        const auto position =
            position_for(decision, series_, bar, broker_.equity(series_.bars[bar - 1].close), options_);
        if (!position) {
            ++result_.unsized;
            last_.reset(); // the next decision must not count as a repetition
        }
        // A decision that cannot be sized still ends the previous position.
        order_ = EntryOrder{.kind = decision.target_position == 0 || !position || repeated ? OrderKind::market
                                                                                           : decision.order,
                            .price = decision.price,
                            .position = position.value_or(0),
                            .protection = protection};
    }

    void enter(std::size_t bar, double price, Slippage slippage) {
        const EntryOrder order = *order_;
        order_.reset();
        broker_.fill(bar, order.position - broker_.position(), price, slippage, ExitReason::decision);
        protection_ = order.protection;
    }

    /// Fills the waiting limit or stop order if the bar reaches its price.
    void try_entry(std::size_t bar) {
        const TradedBar& now = series_.bars[bar];
        const double change = order_->position - broker_.position();
        if (change == 0) {
            enter(bar, now.open, Slippage::none);
            return;
        }
        const bool limit = order_->kind == OrderKind::limit, buys = change > 0;
        const double price = order_->price;
        // A buy limit and a sell stop wait for lower prices.
        const bool waits_below = limit == buys;
        if (waits_below ? now.low > price : now.high < price)
            return;
        const bool at_open = waits_below ? now.open <= price : now.open >= price;
        enter(bar, at_open ? now.open : price, limit ? Slippage::none : Slippage::applied);
        protect(bar, {.from_open = at_open, .take_profit = at_open || !limit});
    }

    /// Fills a protective order if the bar reaches its price; returns whether it did.
    bool protect(std::size_t bar, ProtectionScope scope) {
        const double held = broker_.position();
        if (held == 0)
            return false;
        const TradedBar& now = series_.bars[bar];
        const double stop = protection_.stop_loss, profit = protection_.take_profit;
        const bool is_long = held > 0;
        const auto lost = [&](double price) { return is_long ? price <= stop : price >= stop; };
        const auto won = [&](double price) { return is_long ? price >= profit : price <= profit; };
        const double worst = is_long ? now.low : now.high, best = is_long ? now.high : now.low;
        if (scope.from_open && lost(now.open))
            return leave(bar, now.open, ExitReason::stop_loss);
        if (scope.from_open && won(now.open))
            return leave(bar, now.open, ExitReason::take_profit);
        if (lost(worst))
            return leave(bar, stop, ExitReason::stop_loss);
        if (scope.take_profit && won(best))
            return leave(bar, profit, ExitReason::take_profit);
        return false;
    }

    bool leave(std::size_t bar, double price, ExitReason reason) {
        broker_.fill(bar, -broker_.position(), price,
                     reason == ExitReason::take_profit ? Slippage::none : Slippage::applied, reason);
        left_ = true;
        return true;
    }

    void roll(std::size_t bar) {
        const TradedBar& now = series_.bars[bar];
        const double old_price =
            std::isnan(now.previous_contract) ? series_.bars[bar - 1].close : now.previous_contract;
        const double held = broker_.position();
        broker_.fill(bar, -held, old_price, Slippage::applied, ExitReason::roll);
        broker_.fill(bar, held, now.open, Slippage::applied, ExitReason::roll);
        const double shift = now.open - old_price;
        for (Protection* protection : {&protection_, order_ ? &order_->protection : nullptr})
            if (protection) {
                protection->stop_loss += shift;
                protection->take_profit += shift;
            }
        if (order_)
            order_->price += shift;
    }

    void close_bar(std::size_t bar) {
        const double close = series_.bars[bar].close;
        if (bar + 1 == series_.bars.size())
            broker_.fill(bar, -broker_.position(), close, Slippage::applied, ExitReason::end_of_data);
        const double equity = broker_.equity(close);
        result_.equity.push_back(equity);
        result_.position.push_back(broker_.position());
        if (broker_.position() != 0 && (equity < maintenance * broker_.margin(close) || equity <= 0)) {
            margin_call_ = true;
            left_ = true;
            order_.reset();
        }
    }

    const TradedSeries& series_;
    const std::span<const Decision> decisions_;
    const BacktestOptions& options_;
    BacktestResult result_;
    Broker broker_;
    std::size_t next_ = 0;            ///< index of the next decision
    std::optional<Decision> last_;    ///< the latest decision that could be sized
    std::optional<EntryOrder> order_; ///< the waiting order
    Protection protection_;           ///< of the current position
    bool left_ = false;               ///< a protective order or margin call ended the position of last_
    bool margin_call_ = false;
};

void require(bool condition, const char* option, const char* expected) {
    if (!condition)
        throw usage_error(fmt::format("{} is out of range", option)).expected(expected);
}

void check(const BacktestOptions& options) {
    const Costs& costs = options.costs;
    const auto not_negative = [](double value) { return std::isfinite(value) && value >= 0; };
    const auto positive = [](double value) { return std::isfinite(value) && value > 0; };
    require(positive(options.capital), "the capital", "money above 0");
    require(positive(options.sizing.amount), "the size", "a number above 0");
    require(positive(options.sizing.step), "the step of the size", "a number above 0");
    require(options.sizing.lookback >= 2, "the look-back of the volatility", "at least two bars");
    require(positive(costs.point_value), "the value of a point", "money above 0");
    require(not_negative(costs.commission) && not_negative(costs.commission_share), "the commission",
            "at least 0");
    require(not_negative(costs.slippage) && not_negative(costs.slippage_share), "the slippage", "at least 0");
    require(not_negative(costs.margin_share), "the margin", "at least 0");
}

void check(const Decision& decision) {
    if (!std::isfinite(decision.target_position))
        throw usage_error("a decision has no target position").expected("a finite number");
    if (decision.target_position == 0)
        return;
    const double sign = decision.target_position > 0 ? 1 : -1;
    const bool waits = decision.order != OrderKind::market;
    if (waits && !std::isfinite(decision.price))
        throw usage_error("a limit or stop order has no price");
    const auto below = [&](double low, double high) {
        return std::isnan(low) || std::isnan(high) || sign * low < sign * high;
    };
    const bool ordered =
        waits ? below(decision.stop_loss, decision.price) && below(decision.price, decision.take_profit)
              : below(decision.stop_loss, decision.take_profit);
    if (!ordered)
        throw usage_error("protective prices are on the wrong side")
            .expected(sign > 0 ? "stop loss < order < take profit for a long position"
                               : "take profit < order < stop loss for a short position");
}

} // namespace

std::string_view name_of(ExitReason reason) noexcept {
    switch (reason) {
    case ExitReason::decision:
        return "decision";
    case ExitReason::stop_loss:
        return "stop loss";
    case ExitReason::take_profit:
        return "take profit";
    case ExitReason::roll:
        return "roll";
    case ExitReason::margin_call:
        return "margin call";
    case ExitReason::end_of_data:
        return "end of data";
    }
    return "";
}

BacktestResult run_backtest(const TradedSeries& series, std::span<const Decision> decisions,
                            const BacktestOptions& options) {
    check(options);
    std::ranges::for_each(decisions, [](const Decision& decision) { check(decision); });
    if (!std::ranges::is_sorted(decisions, {}, &Decision::known_at))
        throw usage_error("the decisions are not in chronological order");
    return Engine(series, decisions, options).run();
}

} // namespace rekindle::research
