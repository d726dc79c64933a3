#pragma once
/// The data that a session feature may read.

#include <rekindle/market/session_summary.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace rekindle::market {

/// Sessions in chronological order, in points. A price of session s is given as seen from a session t >= s,
/// that is, shifted into t's contract: ticks + roll_offset(t) - roll_offset(s), computed in ticks, where it
/// is exact. Keeps a reference to the summaries, which must outlive it. Read-only, thread-safe.
class SessionHistory {
  public:
    SessionHistory(std::span<const SessionSummary> sessions, TickSize tick);

    std::size_t size() const noexcept { return sessions_.size(); }
    const SessionSummary& operator[](std::size_t session) const noexcept { return sessions_[session]; }
    std::span<const SessionSummary> sessions() const noexcept { return sessions_; }
    TickSize tick() const noexcept { return tick_; }

    double open(std::size_t s, std::size_t seen_from) const noexcept {
        return shifted(sessions_[s].open, s, seen_from);
    }
    double high(std::size_t s, std::size_t seen_from) const noexcept {
        return shifted(sessions_[s].high, s, seen_from);
    }
    double low(std::size_t s, std::size_t seen_from) const noexcept {
        return shifted(sessions_[s].low, s, seen_from);
    }
    double close(std::size_t s, std::size_t seen_from) const noexcept {
        return shifted(sessions_[s].close, s, seen_from);
    }
    double point_of_control(std::size_t s, std::size_t seen_from) const noexcept {
        return tick_.to_points(sessions_[s].point_of_control + static_cast<double>(roll_gap(s, seen_from)));
    }

    // In the session's own contract.
    /// In traded units.
    double volume(std::size_t s) const noexcept {
        return static_cast<double>(sessions_[s].total_volume) /
               static_cast<double>(sessions_[s].volume_per_unit);
    }
    /// 100 · (volume at the ask - volume at the bid) / their sum; NaN if the sum is 0 or unknown.
    double delta_percent(std::size_t s) const noexcept;
    double value_area_width(std::size_t s) const noexcept {
        return tick_.to_points(sessions_[s].value_area_high - sessions_[s].value_area_low);
    }
    /// max(high - low, 0.0001 points).
    double price_range(std::size_t s) const noexcept;
    /// 100 · price_range / open; NaN if the open is not above 0.
    double range_percent(std::size_t s) const noexcept { return percent_of(price_range(s), open(s, s)); }
    /// 100 · (close - open) / open; NaN if the open is not above 0.
    double close_change_percent(std::size_t s) const noexcept {
        return percent_of(close(s, s) - open(s, s), open(s, s));
    }
    /// ln(close(s) / close(s - 1) seen from s). Precondition: s >= 1. NaN or infinite if a price is not
    /// positive.
    double log_return(std::size_t s) const noexcept;

    /// Distance in points from the close of session t up (down) to the nearest naked point of control,
    /// rounded to the tick: one of an earlier session at which no later session up to t has traded. Empty if
    /// there is none; never 0.
    std::optional<double> naked_above(std::size_t t) const noexcept { return in_points(naked_[t].above); }
    std::optional<double> naked_below(std::size_t t) const noexcept { return in_points(naked_[t].below); }

  private:
    static double percent_of(double part, double price) noexcept {
        return price > 0 ? 100 * part / price : std::numeric_limits<double>::quiet_NaN();
    }
    std::int64_t roll_gap(std::size_t s, std::size_t seen_from) const noexcept {
        return sessions_[seen_from].roll_offset - sessions_[s].roll_offset;
    }
    double shifted(std::int64_t ticks, std::size_t s, std::size_t seen_from) const noexcept {
        return tick_.to_points(static_cast<double>(ticks + roll_gap(s, seen_from)));
    }

    /// Distances in ticks; 0 if there is none.
    struct NakedDistances {
        std::int64_t above = 0;
        std::int64_t below = 0;
    };
    std::optional<double> in_points(std::int64_t ticks) const noexcept {
        return ticks > 0 ? std::optional(tick_.to_points(static_cast<double>(ticks))) : std::nullopt;
    }

    std::span<const SessionSummary> sessions_;
    TickSize tick_;
    std::vector<NakedDistances> naked_;
};

} // namespace rekindle::market
