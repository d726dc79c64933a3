#include "reading/tick.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>

namespace rekindle::market::reading {

namespace {
double nearest_double(const std::string& text) {
    double value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}
} // namespace

const std::vector<TickSize>& tick_candidates() {
    static const std::vector<TickSize> candidates = [] {
        std::vector<TickSize> ticks{{0.125}, {0.0625}, {0.03125}, {0.015625}, {0.0078125}, {0.00390625}};
        for (int exponent = -10; exponent <= 1; ++exponent)
            for (const int digits : {10, 20, 25, 50})
                ticks.push_back({nearest_double(fmt::format("{}e{}", digits, exponent))});
        std::erase_if(
            ticks, [](TickSize tick) { return tick.points > 100 || !TickConverter::is_usable_tick(tick); });
        std::sort(ticks.begin(), ticks.end(), [](TickSize a, TickSize b) { return a.points > b.points; });
        return ticks;
    }();
    return candidates;
}

std::uint64_t tolerated_misfits(std::uint64_t prices) noexcept {
    return std::max<std::uint64_t>(prices / 1000, prices >= 100 ? 1 : 0);
}

namespace {

double size_of(const Decimal& price) {
    return std::abs(price.value());
}

/// The quantile of the prices' absolute values. Precondition: there is a price.
double size_at(std::span<const Decimal> prices, double share) {
    std::vector<double> sizes;
    for (const Decimal& price : prices)
        sizes.push_back(size_of(price));
    const auto position = static_cast<std::ptrdiff_t>(share * static_cast<double>(sizes.size() - 1));
    std::nth_element(sizes.begin(), sizes.begin() + position, sizes.end());
    return sizes[static_cast<std::size_t>(position)];
}

double float_spacing(double price) {
    const auto image = static_cast<float>(price);
    return static_cast<double>(std::nextafter(image, std::numeric_limits<float>::infinity())) -
           static_cast<double>(image);
}

/// Whether a price is a 32-bit float, written with enough digits to tell.
bool is_float(const Decimal& price) {
    const double value = size_of(price);
    const double difference = std::abs(value - static_cast<double>(static_cast<float>(value)));
    const double last_digit = std::pow(10, -price.scale);
    return difference == 0 || (last_digit * 8 <= float_spacing(value) && difference <= last_digit * 0.51);
}

bool are_floats(std::span<const Decimal> prices) {
    const auto others = std::ranges::count_if(prices, [](const Decimal& price) { return !is_float(price); });
    return static_cast<std::uint64_t>(others) <= tolerated_misfits(prices.size());
}

/// Finer than the tick of any market: such decimals come from a conversion.
bool is_too_fine(TickSize tick, double price) {
    return tick.points < 1e-4 && tick.points < 2e-7 * price;
}

bool fits(TickSize tick, std::span<const Decimal> prices) {
    const std::uint64_t tolerated = tolerated_misfits(prices.size());
    const TickConverter converter(tick);
    std::uint64_t misfits = 0;
    for (auto price = prices.begin(); price != prices.end() && misfits <= tolerated; ++price) {
        Ticks ticks = 0;
        const PriceStatus status = converter.convert(*price, ticks);
        misfits += status != PriceStatus::exact &&
                   (status != PriceStatus::rounded || !converter.is_evidence(*price, ticks));
    }
    return misfits <= tolerated;
}

} // namespace

std::optional<TickSize> infer_tick(std::span<const Decimal> prices) {
    if (prices.empty())
        return std::nullopt;
    const double median = size_at(prices, 0.5);
    // Every such float is a multiple of the float spacing, whatever the original price was.
    const double coarsest_step = are_floats(prices) ? float_spacing(median) : 0;
    for (const TickSize tick : tick_candidates()) {
        if (is_too_fine(tick, median))
            return std::nullopt;
        if ((tick.points >= 1 || tick.points > coarsest_step) && fits(tick, prices))
            return tick;
    }
    return std::nullopt;
}

double hiding_float_spacing(std::span<const Decimal> prices) {
    constexpr double finest = 0.01;
    if (prices.empty() || !are_floats(prices))
        return 0;
    const double spacing = float_spacing(size_at(prices, 0.5));
    return spacing > finest ? spacing : 0;
}

TickSize step_without_tick(std::span<const Decimal> prices) {
    constexpr double most_steps = 0x1p29;
    const double large = prices.empty() ? 1 : size_at(prices, 0.99);
    for (int exponent = -9; exponent < 0; ++exponent)
        if (const TickSize step{nearest_double(fmt::format("1e{}", exponent))};
            large <= most_steps * step.points)
            return step;
    return {1};
}

Ticks profile_bin(std::vector<Ticks> closes) {
    constexpr double levels_of_a_price = 2000;
    if (closes.empty())
        return 1;
    for (Ticks& close : closes)
        close = std::abs(close);
    const auto middle = closes.begin() + static_cast<std::ptrdiff_t>(closes.size() / 2);
    std::nth_element(closes.begin(), middle, closes.end());
    const double widest = *middle / levels_of_a_price;
    Ticks bin = 1;
    for (Ticks power = 1; power <= 100'000'000; power *= 10)
        for (const Ticks digit : {1, 2, 5})
            if (digit * power <= widest)
                bin = digit * power;
    return bin;
}

} // namespace rekindle::market::reading
