#include "sessions/contract_choice.h"

#include <rekindle/market/clock.h>

#include <optional>

namespace rekindle::market {
namespace {

/// Two prices of different contracts that are close in time.
struct PricePair {
    std::int64_t gap = 0;
    std::int64_t known_at = 0;
    std::int64_t distance = -1;
};

constexpr std::int64_t overlap_days = 15; ///< how far before the roll prices still indicate the gap
constexpr std::int64_t longest_pause = 4 * day_seconds; ///< a long weekend

/// The last minute before bar `first` in which both contracts traded. If there is none, the two consecutive
/// bars of different contracts that are nearest in time (the latest of equally near ones).
PricePair overlapping_prices(const BarTable& bars, std::size_t first, const Roll& roll) {
    const BarColumns& columns = bars.columns();
    PricePair best;
    std::optional<std::size_t> later;
    for (std::size_t i = first; i-- > 0;) {
        if (columns.time[i] < columns.time[first] - overlap_days * day_seconds)
            break;
        if (columns.contract[i] != roll.from && columns.contract[i] != roll.to)
            continue;
        if (later && columns.contract[*later] != columns.contract[i]) {
            const std::int64_t distance = columns.time[*later] - columns.time[i];
            if (best.distance < 0 || distance < best.distance) {
                const bool new_is_later = columns.contract[*later] == roll.to;
                const std::int64_t newer = columns.close[new_is_later ? *later : i];
                const std::int64_t older = columns.close[new_is_later ? i : *later];
                best = {newer - older, columns.time[*later], distance};
            }
            if (distance == 0)
                break;
        }
        later = i;
    }
    return best;
}

/// The last price of the old contract before bar `first` and the first price of the new one from that bar on.
PricePair prices_across(const BarTable& bars, std::size_t first, const Roll& roll) {
    const BarColumns& columns = bars.columns();
    std::size_t old_bar = first, new_bar = first;
    while (old_bar > 0 && columns.contract[old_bar - 1] != roll.from)
        --old_bar;
    while (new_bar < columns.size() && columns.contract[new_bar] != roll.to)
        ++new_bar;
    if (old_bar == 0 || new_bar == columns.size())
        return {};
    --old_bar;
    return {std::int64_t{columns.open[new_bar]} - columns.close[old_bar], columns.time[new_bar],
            columns.time[new_bar] - columns.time[old_bar]};
}

} // namespace

void measure_gap(const BarTable& bars, std::size_t first, Roll& roll) {
    PricePair pair = overlapping_prices(bars, first, roll);
    if (pair.distance != 0) {
        const PricePair across = prices_across(bars, first, roll);
        if (across.distance >= 0 && (pair.distance < 0 || across.distance < pair.distance))
            pair = across;
    }
    if (pair.distance > longest_pause)
        pair = {0, bars.columns().time[first], -1};
    else if (pair.distance < 0)
        pair.known_at = bars.columns().time[first];
    roll.gap_ticks = pair.gap;
    roll.gap_known_at = pair.known_at;
    roll.gap_distance = pair.distance;
}

} // namespace rekindle::market
