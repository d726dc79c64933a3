#pragma once
/// Prices in points from prices in ticks.

#include <rekindle/market/bars.h>

#include <cmath>

namespace rekindle::python {

/// Converts to the double that is nearest to the decimal number: 248574 ticks of 0.01 are 2485.74 points, not
/// 2485.7400000000002.
class PointScale {
  public:
    explicit PointScale(market::TickSize tick) noexcept : tick_(tick.points) {
        constexpr int most_decimals = 9;
        for (int decimals = 0; decimals < most_decimals && !whole(tick_ * denominator_); ++decimals)
            denominator_ *= 10;
        numerator_ = std::round(tick_ * denominator_);
        exact_ = whole(tick_ * denominator_);
    }
    double operator()(double ticks) const noexcept {
        return exact_ ? ticks * numerator_ / denominator_ : ticks * tick_;
    }

  private:
    static bool whole(double value) noexcept { return std::abs(value - std::round(value)) < 1e-6; }
    double tick_;
    double denominator_ = 1;
    double numerator_ = 1;
    bool exact_ = false;
};

} // namespace rekindle::python
