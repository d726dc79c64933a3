#pragma once
/// Finds share splits for which the prices are not adjusted.

#include <rekindle/market/bars.h>
#include <rekindle/market/session.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace rekindle::market {

/// A session that opens at about the previous close times old_shares / new_shares.
struct SuspectedSplit {
    std::int32_t date = 0; ///< date of the session after the split
    int new_shares = 1;    ///< 4 and 1 for a 4:1 split, 1 and 10 for a reverse split, 3 and 2 for 3:2
    int old_shares = 1;
    Ticks close_before = 0;
    Ticks open_after = 0;
    friend bool operator==(const SuspectedSplit&, const SuspectedSplit&) = default;
};

/// Compares each session's open with the close before it, within one contract. A ratio is reported if it is
/// within 3.5 % of n:1 or 1:n (n = 2, 3, 4, 5, 7, 8, 10, 15, 20, 25, 50) or of 3:2, is at least twelve times
/// the usual change between sessions of this series, both prices are at least 50 ticks, and no session is
/// missing between the two. A real price move by exactly such a ratio looks like a split.
std::vector<SuspectedSplit> suspected_splits(const BarTable& bars, std::span<const Session> sessions);

/// "4:1"; "1:10 reverse".
std::string split_text(const SuspectedSplit& split);
/// Returns a warning with the dates, the prices, and what to do; "" if there are no splits.
std::string split_warning(std::span<const SuspectedSplit> splits, TickSize tick);

} // namespace rekindle::market
