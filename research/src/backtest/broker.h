#pragma once
/// Fills: the open contracts, cash, and what filling costs.

#include <rekindle/research/backtest.h>

#include <cstddef>
#include <deque>

namespace rekindle::research {

/// Whether the fill's price is worsened by slippage: not for limit orders.
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
    /// Buys (or sells, if negative) contracts in a bar. Opposite contracts are closed first, the oldest ones
    /// before others. The rest is refused if the equity does not cover its margin.
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
