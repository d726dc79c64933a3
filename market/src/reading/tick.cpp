#include "reading/tick.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
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

std::optional<TickSize> infer_tick(std::span<const Decimal> prices) {
    if (prices.empty())
        return std::nullopt;
    const std::uint64_t tolerated = tolerated_misfits(prices.size());
    for (const TickSize tick : tick_candidates()) {
        const TickConverter converter(tick);
        std::uint64_t misfits = 0;
        for (auto price = prices.begin(); price != prices.end() && misfits <= tolerated; ++price) {
            Ticks ticks = 0;
            const PriceStatus status = converter.convert(*price, ticks);
            misfits += status != PriceStatus::exact && status != PriceStatus::rounded;
        }
        if (misfits <= tolerated)
            return tick;
    }
    return std::nullopt;
}

} // namespace rekindle::market::reading
