#pragma once
/// Sessions: which bars belong together.

#include <rekindle/market/bars.h>

#include <cstdint>
#include <string>
#include <vector>

namespace rekindle::market {

/// What the stamps of a file mean.
enum class Clock {
    utc,      ///< UTC
    exchange, ///< local time of the exchange's zone
    raw, ///< the label as it stands decides (reproduces the original system, whose stamps are UTC read as ET)
};
enum class StampAt { bar_end, bar_start };
/// Regular trading hours, the hours from one regular close to the next regular open, or the
/// whole trading day.
enum class SessionHours { rth, eth, all };
enum class SessionLength { day, week };

struct SessionRules {
    Clock clock = Clock::utc;
    std::string zone = "America/New_York"; ///< IANA name of the exchange's zone
    StampAt stamp = StampAt::bar_end;
    SessionHours hours = SessionHours::all;
    SessionLength length = SessionLength::day;
    /// Local minutes since midnight. RTH holds bars that end in (rth_open, rth_close]; a trading day of
    /// SessionHours::all begins at day_start on the evening before (ES: 18:00; currencies: 17:00).
    int rth_open = 9 * 60 + 30;
    int rth_close = 16 * 60;
    /// False: nobody said when regular hours are in this zone. rth and eth are then refused.
    bool rth_known = true;
    int day_start = 18 * 60;
    friend bool operator==(const SessionRules&, const SessionRules&) = default;
};

/// Session::contract of a session that mixes contracts, as the original system did.
inline constexpr std::uint16_t mixed_contracts = 0xFFFF;

/// The name of a session's contract: "mixed" for mixed_contracts, "" for bars without one. Every text that
/// names a session's contract takes it from here: mixed_contracts is not an index.
std::string contract_name(const BarMetadata& metadata, std::uint16_t contract);

/// Consecutive bars [first, first + count) of one trading day or week. Where contracts overlap, bars of other
/// contracts lie in between: use only bars whose contract is Session::contract, or all of them when that is
/// mixed_contracts. At least one bar of the range is to be used.
struct Session {
    std::int32_t date =
        0; ///< label: days since 1970-01-01 of the trading day (of a week: its last trading day)
    std::size_t first = 0;
    std::size_t count = 0;
    std::uint16_t contract = 0; ///< the contract that is held in this session
    /// Sum, in ticks, of the gaps (new contract - old contract) of every roll of known gap up to and
    /// including this session. A price of session s seen from a later session t is price + roll_offset(t) -
    /// roll_offset(s).
    std::int64_t roll_offset = 0;
    /// Number of rolls so far whose gap is unknown. Prices of sessions with different numbers are not
    /// comparable: no look-back and no target crosses from one to the other.
    std::uint32_t stretch = 0;
    bool half_day = false;
    /// The session is over at the last bar of the table. Only the last session of a table can be incomplete;
    /// a row of features or a target must not be made of one that is (it would change with the next bar).
    bool complete = true;
};

} // namespace rekindle::market
