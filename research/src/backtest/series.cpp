#include <rekindle/base/error.h>
#include <rekindle/market/bars.h>
#include <rekindle/research/traded_series.h>

#include <algorithm>

namespace rekindle::research {

namespace {

/// The price of a contract when bar `at` opens: its own bar of that time, or the last one before.
double price_at(const market::BarTable& bars, std::size_t at, std::uint16_t contract) {
    const market::BarColumns& columns = bars.columns();
    const double tick = bars.metadata().tick.points;
    std::size_t end = at;
    while (end < bars.size() && columns.time[end] == columns.time[at])
        ++end;
    for (std::size_t i = end; i-- > 0;)
        if (columns.contract[i] == contract)
            return tick * (columns.time[i] == columns.time[at] ? columns.open[i] : columns.close[i]);
    return std::numeric_limits<double>::quiet_NaN();
}

} // namespace

TradedSeries traded_series(const trainer::MarketData& data) {
    const market::BarTable& bars = data.read.bars;
    const market::BarColumns& columns = bars.columns();
    const market::BarMetadata& metadata = bars.metadata();
    const double tick = metadata.tick.points;
    TradedSeries series;
    series.contracts = metadata.contracts;
    series.tick = metadata.has_tick() ? tick : 0;
    for (const market::Session& session : data.plan.sessions) {
        if (session.contract == market::mixed_contracts)
            throw usage_error("the sessions mix contracts, so they have no price to trade at")
                .hint("Leave out --compat original.");
        for (std::size_t i = session.first; i < session.first + session.count; ++i) {
            if (columns.contract[i] != session.contract)
                continue;
            TradedBar bar;
            bar.end = data.ends.of(columns.time[i]);
            bar.begin = bar.end - metadata.bar_seconds;
            if (!series.bars.empty()) {
                const TradedBar& previous = series.bars.back();
                if (bar.end <= previous.end)
                    continue; // a second bar of the same day
                bar.begin = std::max(bar.begin, previous.end);
                if (previous.contract != session.contract)
                    bar.previous_contract = price_at(bars, i, previous.contract);
            }
            bar.open = tick * columns.open[i];
            bar.high = tick * columns.high[i];
            bar.low = tick * columns.low[i];
            bar.close = tick * columns.close[i];
            bar.contract = session.contract;
            series.bars.push_back(bar);
        }
    }
    return series;
}

} // namespace rekindle::research
