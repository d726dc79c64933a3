#pragma once
/// Sessions: which bars belong together.

#include <rekindle/market/bars.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rekindle::market {

/// The meaning of the timestamps of a file.
enum class Clock {
    utc,      ///< UTC
    exchange, ///< local time of a zone, usually the exchange's
    raw,      ///< uses the label as is (reproduces the original system, which reads UTC timestamps as ET)
};
enum class StampAt { bar_end, bar_start };

/// How a file writes its timestamps. This belongs to the file; SessionRules belong to the market.
struct StampRules {
    Clock clock = Clock::utc;
    std::string zone = "America/New_York"; ///< IANA name, of Clock::exchange
    StampAt at = StampAt::bar_end;
    friend bool operator==(const StampRules&, const StampRules&) = default;
};

/// Regular trading hours (rth), the hours from one regular close to the next regular open (eth), or the whole
/// trading day.
enum class SessionHours { rth, eth, all };
enum class SessionLength { day, week };
/// The days of the week on which a market trades.
enum class TradingDays {
    automatic, ///< Monday to Friday, and each Saturday or Sunday that has about as many bars as other days
    all,       ///< all seven
    weekdays,  ///< Monday to Friday
};

/// A pause at the same time every day, in minutes since local midnight; over midnight if end <= begin.
struct DailyHalt {
    int begin = 0;
    int end = 0;
    friend bool operator==(const DailyHalt&, const DailyHalt&) = default;
};

/// How a market's bars are cut into sessions.
struct SessionRules {
    /// Sessions are the dates of the timestamps as written (Clock::raw); zone and calendar are not used.
    bool raw_labels = false;
    std::string zone = "America/New_York"; ///< IANA name of the zone of the times below
    SessionHours hours = SessionHours::all;
    SessionLength length = SessionLength::day;
    /// Minutes since local midnight. RTH holds bars that end in (rth_open, rth_close]; a trading day of
    /// SessionHours::all begins at day_start on the evening before (ES: 18:00; currencies: 17:00).
    int rth_open = 9 * 60 + 30;
    int rth_close = 16 * 60;
    /// False if the regular hours in this zone are not known; rth and eth are then rejected.
    bool rth_known = true;
    int day_start = 18 * 60;
    /// The trading day of this zone's exchanges is not known; day_start is a guess, and a note says so.
    bool day_start_assumed = false;
    TradingDays days = TradingDays::automatic;
    /// When the exchange halts trading, if known. During the halt, a pause is expected and bars are not.
    std::optional<DailyHalt> halt;
    /// Daily bars last until the end of the trading day, as those of futures do, not only until the regular
    /// close, as those of stocks do.
    bool daily_bars_are_trading_days = false;
    friend bool operator==(const SessionRules&, const SessionRules&) = default;
};

/// Consecutive bars [first, first + count) of one trading day or week. Where contracts overlap, the range
/// also holds bars of other contracts: use only bars whose contract is Session::contract, or all of them if
/// that is mixed_contracts. At least one bar of the range qualifies.
struct Session {
    std::int32_t date =
        0; ///< label: days since 1970-01-01 of the trading day (of a week: its last trading day)
    std::size_t first = 0;
    std::size_t count = 0;
    std::uint16_t contract = 0; ///< the contract held in this session
    /// Sum, in ticks, of the known gaps (new contract - old contract) of all rolls up to and including this
    /// session. A price of session s seen from a later session t is price + roll_offset(t) - roll_offset(s).
    std::int64_t roll_offset = 0;
    /// Number of rolls so far whose gap is unknown. Prices of sessions with different values are not
    /// comparable: no look-back and no target spans them.
    std::uint32_t stretch = 0;
    bool half_day = false;
    /// Whether the session is over at the last bar of the table. Only the last session of a table can be
    /// incomplete. Features and targets must not be computed from an incomplete session, because they would
    /// change with the next bar.
    bool complete = true;
};

} // namespace rekindle::market
