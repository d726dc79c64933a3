#pragma once
/// Bars for the tests of the volume profile: a random walk in ticks with small volumes, so that plateaus and
/// ties are common.

#include <rekindle/base/philox.h>
#include <rekindle/market/bars.h>
#include <rekindle/market/session.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace rekindle::market::fixtures {

struct RandomBarOptions {
    std::size_t count = 100;
    Ticks start = 24000;
    std::uint32_t max_levels = 12; ///< above the low
    std::uint32_t max_volume = 5;  ///< volumes are 0 … max_volume
    std::uint32_t contracts = 1;
};

inline BarBuffer random_bars(std::uint64_t seed, const RandomBarOptions& options) {
    PhiloxStream random(seed, RandomPurpose::test);
    BarBuffer bars;
    Ticks close = options.start;
    for (std::size_t i = 0; i < options.count; ++i) {
        const auto span = static_cast<Ticks>(random.next_below(options.max_levels + 1));
        const auto up = static_cast<Ticks>(random.next_below(static_cast<std::uint32_t>(span) + 1));
        const Ticks low = close + up - span;
        const auto inside = [&] {
            return low + static_cast<Ticks>(random.next_below(static_cast<std::uint32_t>(span) + 1));
        };
        bars.time.push_back(static_cast<std::int64_t>(60 * i));
        bars.low.push_back(low);
        bars.high.push_back(low + span);
        bars.open.push_back(inside());
        bars.close.push_back(close = inside());
        bars.volume.push_back(random.next_below(options.max_volume + 1));
        bars.contract.push_back(static_cast<std::uint16_t>(random.next_below(options.contracts)));
    }
    return bars;
}

inline BarMetadata metadata(double tick = 0.25, std::vector<std::string> contracts = {""}) {
    BarMetadata result;
    result.tick.points = tick;
    result.contracts = std::move(contracts);
    return result;
}

/// The tick of the E-mini futures.
constexpr TickSize quarter_tick{0.25};

/// Consecutive sessions of up to `most` bars.
inline std::vector<Session> random_sessions(std::uint64_t seed, std::size_t bars, std::uint32_t most,
                                            std::uint16_t contract = mixed_contracts) {
    PhiloxStream random(seed, RandomPurpose::test, 1);
    std::vector<Session> sessions;
    for (std::size_t first = 0; first < bars;) {
        Session session;
        session.date = static_cast<std::int32_t>(sessions.size());
        session.first = first;
        session.count = std::min<std::size_t>(1 + random.next_below(most), bars - first);
        session.contract = contract;
        first += session.count;
        sessions.push_back(session);
    }
    return sessions;
}

} // namespace rekindle::market::fixtures
