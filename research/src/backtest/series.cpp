#include <rekindle/foundation/error.h>
#include <rekindle/market/bars.h>
#include <rekindle/market/clock.h>
#include <rekindle/research/traded_series.h>

#include <algorithm>
#include <optional>

namespace rekindle::research {

namespace {

/// The price of a contract when bar `at` opens: the open of its own bar at that time, or else its last close.
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

/// Estimates when a bar begins from its own end alone.
class BarBegins {
  public:
    BarBegins(const market::BarMetadata& metadata, const market::SessionRules& rules)
        : seconds_(metadata.bar_seconds), open_(rules.rth_open), close_(rules.rth_close) {
        if (metadata.dates_only && metadata.bar_seconds <= market::day_seconds && rules.rth_known &&
            !rules.raw_labels)
            zone_ = market::ZoneClock::load(rules.zone);
    }

    std::int64_t of(std::int64_t time, std::int64_t end) const {
        if (zone_) {
            const std::int64_t midnight = time; // of the bar's date, as civil seconds
            if (zone_->to_local(end) <= midnight + 60 * close_ &&
                zone_->to_local(end) > midnight + 60 * open_)
                return zone_->to_utc(midnight + 60 * open_);
        }
        return end - seconds_;
    }

  private:
    std::int64_t seconds_, open_, close_;
    std::optional<market::ZoneClock> zone_;
};

} // namespace

TradedSeries traded_series(const market::BarTable& bars, const market::SessionPlan& plan,
                           const market::BarEnds& ends, const market::SessionRules& rules) {
    const BarBegins begins(bars.metadata(), rules);
    const market::BarColumns& columns = bars.columns();
    const market::BarMetadata& metadata = bars.metadata();
    const double tick = metadata.tick.points;
    TradedSeries series;
    series.contracts = metadata.contracts;
    series.tick = metadata.has_tick() ? tick : 0;
    for (const market::Session& session : plan.sessions) {
        if (session.contract == market::mixed_contracts)
            throw usage_error("the sessions mix contracts, so they have no price to trade at")
                .hint("Leave out --compat original.");
        for (std::size_t i = session.first; i < session.first + session.count; ++i) {
            if (columns.contract[i] != session.contract)
                continue;
            TradedBar bar;
            bar.end = ends.of(columns.time[i]);
            bar.begin = begins.of(columns.time[i], bar.end);
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
            bar.date = session.date;
            bar.contract = session.contract;
            series.bars.push_back(bar);
        }
    }
    return series;
}

} // namespace rekindle::research
