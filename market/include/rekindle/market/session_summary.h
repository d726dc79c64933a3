#pragma once
/// The figures of one session, from which the 54 features are computed.

#include <rekindle/market/bars.h>
#include <rekindle/market/session.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace rekindle::market {

/// Prices are in ticks of the session's own contract.
struct SessionSummary {
    std::int32_t date = 0;     ///< as Session::date
    std::int64_t end_time = 0; ///< BarColumns::time of the last bar: the figures are known from
                               ///< BarEnds::of() that time on
    std::size_t first_bar = 0;
    std::size_t bars = 0;
    std::uint16_t contract = 0;
    std::int64_t roll_offset = 0; ///< as Session::roll_offset
    std::uint32_t stretch = 0;    ///< as Session::stretch
    std::int64_t open = 0, high = 0, low = 0, close = 0;
    std::int64_t total_volume = 0; ///< in stored units, volume_per_unit of which are one traded unit
    std::int64_t volume_per_unit = 1;
    /// As in BarColumns; -1 if the bars have none.
    std::int64_t bid_volume = -1, ask_volume = -1;
    double point_of_control = 0; ///< ticks; an integer except in compatibility generation C
    double value_area_low = 0;   ///< ticks
    double value_area_high = 0;  ///< ticks
    double vwap = 0; ///< ticks: sum of close × volume / sum of volume; the close if there is no volume
    double vix = 0;  ///< last VIX known at end_time, NaN if there is none
};

/// The warning that profiles without volume are meaningless; "" if fewer than one session in 20 has no
/// volume.
std::string missing_volume_warning(std::size_t sessions_without_volume, std::size_t sessions);

} // namespace rekindle::market
