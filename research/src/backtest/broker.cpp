#include "broker.h"

#include <algorithm>
#include <cmath>

namespace rekindle::research {

double Broker::equity(double price) const noexcept {
    double unrealized = 0;
    for (const Lot& lot : lots_)
        unrealized += lot.quantity * (price - lot.price) * costs_.point_value;
    return cash_ + unrealized;
}

void Broker::fill(std::size_t bar, double quantity, double price, Slippage slippage, ExitReason reason) {
    if (quantity == 0)
        return;
    const double lost =
        slippage == Slippage::none ? 0 : costs_.slippage + costs_.slippage_share * std::abs(price);
    const double paid = price + std::copysign(lost, quantity);
    double closed = 0;
    if (position_ * quantity < 0) {
        closed = std::copysign(std::min(std::abs(quantity), std::abs(position_)), quantity);
        close(bar, closed, paid, reason);
    }
    double filled = closed;
    if (const double rest = quantity - closed; rest != 0) {
        const double after = std::abs(position_ + rest) * price_value(paid) * costs_.margin_share;
        if (after + commission(rest, paid) > equity(paid) || equity(paid) <= 0) {
            ++result_.refused;
        } else {
            open(bar, rest, paid);
            filled = quantity;
        }
    }
    result_.slippage += std::abs(filled) * lost * costs_.point_value;
    result_.traded_value += std::abs(filled) * price_value(paid);
}

void Broker::close(std::size_t bar, double quantity, double price, ExitReason reason) {
    position_ += quantity;
    while (quantity != 0 && !lots_.empty()) {
        Lot& lot = lots_.front();
        const bool whole = std::abs(lot.quantity) <= std::abs(quantity);
        const double part = whole ? lot.quantity : -quantity;
        const double entry_commission = whole ? lot.commission : lot.commission * (part / lot.quantity);
        const double exit_commission = commission(part, price);
        const double profit = part * (price - lot.price) * costs_.point_value;
        cash_ += profit - exit_commission;
        result_.commission += exit_commission;
        result_.trades.push_back({.entry_bar = lot.bar,
                                  .exit_bar = bar,
                                  .quantity = part,
                                  .entry_price = lot.price,
                                  .exit_price = price,
                                  .commission = entry_commission + exit_commission,
                                  .profit = profit - entry_commission - exit_commission,
                                  .exit = reason});
        quantity += part;
        lot.quantity -= part;
        lot.commission -= entry_commission;
        if (whole)
            lots_.pop_front();
    }
    if (lots_.empty())
        position_ = 0; // removes the rounding error
}

void Broker::open(std::size_t bar, double quantity, double price) {
    const double paid = commission(quantity, price);
    cash_ -= paid;
    result_.commission += paid;
    position_ += quantity;
    lots_.push_back({bar, quantity, price, paid});
}

} // namespace rekindle::research
