#include <rekindle/market/migration.h>
#include <rekindle/market/session_history.h>

#include <algorithm>
#include <cmath>

namespace rekindle::market {

SessionHistory::SessionHistory(std::span<const SessionSummary> sessions, TickSize tick)
    : sessions_(sessions), tick_(tick), naked_(sessions.size()) {
    // All prices are on one scale, without the roll gaps up to each session.
    NakedPointsOfControl naked;
    for (std::size_t t = 0; t < sessions.size(); ++t) {
        const SessionSummary& session = sessions[t];
        const std::int64_t close = session.close - session.roll_offset;
        naked.touch(session.low - session.roll_offset, session.high - session.roll_offset);
        if (const auto above = naked.nearest_above(close))
            naked_[t].above = above->price - close;
        if (const auto below = naked.nearest_below(close))
            naked_[t].below = close - below->price;
        naked.add(t, std::llround(session.point_of_control) - session.roll_offset);
    }
}

double SessionHistory::price_range(std::size_t s) const noexcept {
    constexpr double smallest_range = 1e-4;
    return std::max(tick_.to_points(static_cast<double>(sessions_[s].high - sessions_[s].low)),
                    smallest_range);
}

double SessionHistory::delta_percent(std::size_t s) const noexcept {
    const auto bid = static_cast<double>(sessions_[s].bid_volume);
    const auto ask = static_cast<double>(sessions_[s].ask_volume);
    return bid >= 0 && ask >= 0 && bid + ask > 0 ? 100 * (ask - bid) / (ask + bid)
                                                 : std::numeric_limits<double>::quiet_NaN();
}

double SessionHistory::log_return(std::size_t s) const noexcept {
    return std::log(close(s, s) / close(s - 1, s));
}

} // namespace rekindle::market
