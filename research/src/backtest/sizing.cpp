#include "sizing.h"

#include <cmath>

namespace rekindle::research {

namespace {

constexpr double seconds_per_year = 365.25 * 86'400;

/// The annual std of the price in points, estimated from the last `lookback` changes before `bar`. Changes
/// across rolls do not count.
std::optional<double> annual_std(const TradedSeries& series, std::size_t bar, std::size_t lookback) {
    double sum = 0, squares = 0;
    std::size_t count = 0;
    for (std::size_t i = bar; i-- > 1 && count < lookback;) {
        if (series.bars[i].contract != series.bars[i - 1].contract)
            continue;
        const double change = series.bars[i].close - series.bars[i - 1].close;
        sum += change;
        squares += change * change;
        ++count;
    }
    if (count < lookback)
        return std::nullopt;
    const auto n = static_cast<double>(count);
    const double variance = (squares - sum * sum / n) / (n - 1);
    const auto seconds = static_cast<double>(series.bars[bar - 1].end - series.bars.front().begin);
    const double bars_per_year = static_cast<double>(bar) / seconds * seconds_per_year;
    if (!(variance > 0))
        return std::nullopt;
    return std::sqrt(variance * bars_per_year);
}

} // namespace

std::optional<double> position_for(const Decision& decision, const TradedSeries& series, std::size_t bar,
                                   double equity, const BacktestOptions& options) {
    if (decision.target_position == 0)
        return 0;
    const SizingRule& rule = options.sizing;
    const double price = decision.order == OrderKind::market ? series.bars[bar - 1].close : decision.price;
    double money_per_contract = 0; // the equity is divided by this
    switch (rule.kind) {
    case SizingRule::Kind::fixed:
        break;
    case SizingRule::Kind::fraction:
        money_per_contract = std::abs(price) * options.costs.point_value;
        break;
    case SizingRule::Kind::risk:
        money_per_contract = std::abs(price - decision.stop_loss) * options.costs.point_value;
        break;
    case SizingRule::Kind::volatility:
        if (const auto std = annual_std(series, bar, rule.lookback))
            money_per_contract = *std * options.costs.point_value;
        break;
    }
    double size = decision.target_position * rule.amount;
    if (rule.kind != SizingRule::Kind::fixed) {
        if (!(money_per_contract > 0) || !(equity > 0))
            return std::nullopt;
        size *= equity / money_per_contract;
    }
    constexpr double rounding = 1e-9; // 0.3 / 0.1 is slightly less than 3
    return std::copysign(std::floor(std::abs(size) / rule.step + rounding) * rule.step, size);
}

} // namespace rekindle::research
