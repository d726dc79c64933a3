#pragma once
/// From one futures contract to the next. Contracts are never mixed inside a session.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rekindle::market {

enum class RollMethod {
    /// To the contract whose volume exceeded the held one's, one session after it first did (it is known by
    /// then).
    volume,
    /// Eight days before the third Friday of the held contract's month, as the exchange's roll date for index
    /// futures. Needs names from which the month can be read.
    calendar,
    /// There must be one contract only.
    single,
};

/// A change of the held contract. All figures are known by the end of the session in which it takes effect.
struct Roll {
    std::int32_t date = 0;  ///< trading day of the change
    std::uint16_t from = 0; ///< indices into BarMetadata::contracts
    std::uint16_t to = 0;
    std::int64_t gap_ticks = 0;    ///< price of `to` minus price of `from`, in ticks, at one moment
    std::int64_t gap_known_at = 0; ///< stamp of the bar that completed the pair of prices
    /// Seconds between the two prices: 0 when both traded in that bar. The market's move in between is part
    /// of the gap, so a large distance means a rough estimate. -1: the gap is unknown, gap_ticks is 0 and
    /// Session::stretch changes.
    std::int64_t gap_distance = 0;
    std::string reason;      ///< one sentence
    std::size_t session = 0; ///< index of the first session that holds `to`
};

/// The last trading day of a quarterly index future: the third Friday of the month in its name.
/// Reads "ES 03-25", "ES_03_22", "ES 03-2025", "ESH25" and "ESH2025"; nothing for any other name.
std::optional<std::int32_t> contract_expiry(std::string_view name);

} // namespace rekindle::market
