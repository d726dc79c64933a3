#include "reading/price_fields.h"

#include <rekindle/base/text.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace rekindle::market::reading {

namespace {

constexpr std::array<int ColumnMap::*, 4> price_columns{&ColumnMap::open, &ColumnMap::high, &ColumnMap::low,
                                                        &ColumnMap::close};
constexpr std::array<std::string_view, 4> price_names{"open", "high", "low", "close"};
enum Price : std::size_t { open, high, low, close };

} // namespace

std::optional<Decimal> PriceFields::price_of(std::string_view text) const {
    return settings_.layout.decimal_comma ? parse_price(without_decimal_comma(text)) : parse_price(text);
}

void PriceFields::collect(Fields fields, std::vector<Decimal>& prices) const {
    std::array<Decimal, 4> row;
    for (std::size_t i = 0; i < row.size(); ++i) {
        const auto value = price_of(fields[static_cast<std::size_t>(columns_.*price_columns[i])]);
        if (!value || value->mantissa == 0)
            return;
        row[i] = *value;
    }
    prices.insert(prices.end(), row.begin(), row.end());
}

bool PriceFields::parse(Fields fields, BarPrices& prices, Problem& problem) {
    Decimals values;
    for (std::size_t i = 0; i < values.size(); ++i) {
        const auto position = static_cast<std::size_t>(columns_.*price_columns[i]);
        const auto value = price_of(fields[position]);
        if (!value) {
            problem = missing_or_malformed(position, price_names[i], fields[position]);
            return false;
        }
        values[i] = *value;
    }
    if (!check_signs(fields, values, problem) || !convert_prices(fields, values, prices, problem))
        return false;
    if (!settings_.tick.has_tick())
        widen_range(prices);
    return check_range(fields, prices, problem);
}

/// Vendors mark missing prices with four equal prices at or below 0, such as 0, -1 or -99. If the market
/// trades below zero, only four zeros are missing prices.
bool PriceFields::check_signs(Fields fields, const Decimals& values, Problem& problem) {
    const auto* low = std::ranges::find_if(values, [](const Decimal& value) { return value.mantissa <= 0; });
    if (low == values.end())
        return true;
    const bool equal = std::ranges::all_of(values, [&](const Decimal& value) {
        return value.mantissa == low->mantissa && value.scale == low->scale;
    });
    const bool tradable = settings_.below_zero == BelowZero::traded && low->mantissa < 0;
    const bool missing_prices = equal && !tradable;
    block_.negative_closes += !missing_prices && values[close].mantissa < 0;
    if (settings_.below_zero != BelowZero::refused && !missing_prices)
        return true;
    const auto i = static_cast<std::size_t>(low - values.begin());
    const auto position = static_cast<std::size_t>(columns_.*price_columns[i]);
    problem = {position, fmt::format("the {} {} is not positive", price_names[i], shown(fields[position])),
               "a price above zero"};
    return false;
}

/// Widens the range to include the open and the close. A vendor that multiplied all four prices by an
/// adjustment factor may have rounded the open or the close to just outside the range.
void PriceFields::widen_range(BarPrices& prices) {
    constexpr double precision = 0x1p-20;
    const Ticks noise = 1 + static_cast<Ticks>(precision * std::abs(static_cast<double>(prices[high])));
    for (const std::size_t i : {open, close}) {
        if (prices[i] > prices[high] && prices[i] - prices[high] <= noise)
            prices[high] = prices[i];
        if (prices[i] < prices[low] && prices[low] - prices[i] <= noise)
            prices[low] = prices[i];
    }
}

/// Converts all four prices, even after an error, so that the counts do not depend on which price is wrong
/// first.
bool PriceFields::convert_prices(Fields fields, const Decimals& values, BarPrices& prices, Problem& problem) {
    bool good = true;
    block_.prices += values.size();
    for (std::size_t i = 0; i < values.size(); ++i) {
        const PriceStatus status = settings_.tick.convert(values[i], prices[i]);
        if (status == PriceStatus::exact) [[likely]]
            continue;
        block_.prices_rounded += status == PriceStatus::rounded || status == PriceStatus::noisy;
        if (status == PriceStatus::rounded || status == PriceStatus::noisy)
            block_.largest_rounding =
                std::max(block_.largest_rounding, settings_.tick.distance(values[i], prices[i]));
        if (status == PriceStatus::rounded)
            continue;
        ++block_.prices_misfit;
        if (block_.misfits.size() < misfit_limit)
            block_.misfits.push_back(values[i]);
        if (status == PriceStatus::noisy)
            continue;
        if (good) {
            const auto position = static_cast<std::size_t>(columns_.*price_columns[i]);
            problem = {position,
                       fmt::format("the {} {} is {}", price_names[i], shown(fields[position]),
                                   status == PriceStatus::off_tick ? "between two ticks"
                                   : settings_.tick.has_tick()     ? "too large for the tick"
                                                               : "too large compared with the other prices"),
                       expected_price()};
        }
        good = false;
    }
    return good;
}

std::string PriceFields::expected_price() const {
    const TickSize step = settings_.tick.tick();
    if (settings_.tick.has_tick())
        return fmt::format("a multiple of the tick {}", shortest(step.points));
    return fmt::format("less than {:.6g}", step.to_points(std::numeric_limits<Ticks>::max()));
}

bool PriceFields::check_range(Fields fields, const BarPrices& prices, Problem& problem) const {
    const auto position = [&](std::size_t i) { return static_cast<std::size_t>(columns_.*price_columns[i]); };
    const auto text = [&](std::size_t i) { return shown(fields[position(i)]); };
    if (prices[high] < prices[low]) {
        problem = {position(high), fmt::format("the high {} is below the low {}", text(high), text(low)),
                   "high >= low"};
        return false;
    }
    for (const std::size_t i : {open, close})
        if (prices[i] < prices[low] || prices[i] > prices[high]) {
            problem = {position(i),
                       fmt::format("the {} {} is outside the range {} to {}", price_names[i], text(i),
                                   text(low), text(high)),
                       "low <= open, close <= high"};
            return false;
        }
    return true;
}

} // namespace rekindle::market::reading
