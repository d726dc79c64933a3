#pragma once
/// Rolls from one futures contract to the next. A session never mixes contracts.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rekindle::market {

enum class RollMethod {
    /// Roll to the contract whose volume exceeded that of the held contract, one session after that first
    /// happened (it is known by then).
    volume,
    /// Roll eight days before the third Friday of the held contract's month, which is the exchange's roll
    /// date for index futures. The contract names must include the month.
    calendar,
    /// There must be only one contract.
    single,
};

/// A change of the held contract. Everything here is known by the end of the session in which the roll takes
/// effect.
struct Roll {
    std::int32_t date = 0;  ///< trading day of the change
    std::uint16_t from = 0; ///< indices into BarMetadata::contracts
    std::uint16_t to = 0;
    std::int64_t gap_ticks = 0;    ///< price of `to` minus price of `from`, in ticks, at the same time
    std::int64_t gap_known_at = 0; ///< BarColumns::time of the bar that completed the pair of prices: the gap
                                   ///< is known from BarEnds::of() that time on
    /// Seconds between the two prices: 0 if both traded in that bar. The gap includes the market's move in
    /// between, so a large distance means a rough estimate. -1: the gap is unknown, gap_ticks is 0 and
    /// Session::stretch changes.
    std::int64_t gap_distance = 0;
    std::string reason;      ///< one sentence
    std::size_t session = 0; ///< index of the first session that holds `to`
};

/// The last trading day of a quarterly index future: the third Friday of the month in its name.
/// Reads "ES 03-25", "ES_03_22", "ES 03-2025", "ESH25" and "ESH2025"; returns nothing for any other name.
std::optional<std::int32_t> contract_expiry(std::string_view name);

} // namespace rekindle::market
