#pragma once
/// The broker of a backtest: fills orders and keeps the open contracts, the cash, and the costs.

#include <rekindle/research/backtest.h>

#include <cstddef>
#include <deque>

namespace rekindle::research {

/// Whether slippage worsens the price of a fill. It does not for limit orders.
enum class Slippage { none, applied };

class Broker {
  public:
    Broker(double capital, const Costs& costs, BacktestResult& result)
        : costs_(costs), cash_(capital), result_(result) {}

    double position() const noexcept { return position_; }
    double equity(double price) const noexcept;
    /// Money that the position ties up at this price.
    double margin(double price) const noexcept {
        return std::abs(position_) * price_value(price) * costs_.margin_share;
    }
    /// Buys (or sells, if negative) contracts in a bar. First closes opposite contracts, oldest first.
    /// Refuses the rest if the equity does not cover the margin.
    void fill(std::size_t bar, double quantity, double price, Slippage slippage, ExitReason reason);

  private:
    struct Lot {
        std::size_t bar = 0;
        double quantity = 0, price = 0, commission = 0;
    };

    double price_value(double price) const noexcept { return std::abs(price) * costs_.point_value; }
    double commission(double quantity, double price) const noexcept {
        return std::abs(quantity) * (costs_.commission + costs_.commission_share * price_value(price));
    }
    void close(std::size_t bar, double quantity, double price, ExitReason reason);
    void open(std::size_t bar, double quantity, double price);

    const Costs costs_;
    double cash_ = 0;
    double position_ = 0;
    std::deque<Lot> lots_;
    BacktestResult& result_;
};

} // namespace rekindle::research
