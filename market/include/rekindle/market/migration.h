#pragma once
/// How the point of control moves from session to session, and which ones the market has not come back to.

#include <rekindle/market/bars.h>
#include <rekindle/market/session_summary.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace rekindle::market {

enum class MigrationDirection { up, down };

/// What counts as a trend.
struct MigrationRules {
    double least_move = 1.0; ///< points between the points of control of two sessions
    std::size_t least_moves = 3;
};

/// A run of moves in one direction from session `start` to session `end` (indices).
struct MigrationTrend {
    std::size_t start = 0;
    std::size_t end = 0;
    MigrationDirection direction = MigrationDirection::up;
    std::size_t moves = 0;
    friend bool operator==(const MigrationTrend&, const MigrationTrend&) = default;
};

/// Walks over consecutive sessions' points of control (points). A move counts when it is at least least_move;
/// one in the run's direction extends it; a smaller one ends it; one in the other direction ends it and
/// begins a new run at the session before. Runs of least_moves or more are reported in order, the one still
/// open at the end included.
std::vector<MigrationTrend> migration_trends(std::span<const double> points_of_control,
                                             const MigrationRules& rules = {});

/// The same for summaries. Moves are measured on prices as they were traded (a roll of the contract counts as
/// a move, as it did in the original) unless across_rolls is set: then roll gaps are taken out.
std::vector<MigrationTrend> migration_trends(std::span<const SessionSummary> sessions, TickSize tick,
                                             const MigrationRules& rules = {}, bool across_rolls = false);

/// A point of control that no later session has touched.
struct NakedPointOfControl {
    std::size_t session = 0; ///< index of the session that made it
    std::int64_t price = 0;  ///< ticks on the scale that add() was given
    friend bool operator==(const NakedPointOfControl&, const NakedPointOfControl&) = default;
};

/// The set of naked points of control, updated as time goes on. A price is touched when a bar's or session's
/// low … high contains it; a gap that jumps over it leaves it naked. All prices must be on one scale:
/// subtract the roll offset of the session that a price belongs to. touch() costs O(log n) and O(1) per price
/// that it removes.
class NakedPointsOfControl {
  public:
    /// A session has ended with this point of control.
    void add(std::size_t session, std::int64_t price);
    /// The market traded from low to high: removes what lies between, in order of price, and returns it.
    std::vector<NakedPointOfControl> touch(std::int64_t low, std::int64_t high);

    std::size_t size() const noexcept { return by_price_.size(); }
    /// The nearest at or above, and at or below, a price.
    std::optional<NakedPointOfControl> nearest_above(std::int64_t price) const;
    std::optional<NakedPointOfControl> nearest_below(std::int64_t price) const;
    /// In order of price, then of session.
    std::vector<NakedPointOfControl> all() const;

  private:
    std::multimap<std::int64_t, std::size_t> by_price_;
};

/// For each session the index of the first later session whose low … high (on one scale, roll offsets taken
/// out) contains its point of control; empty while it is naked. Points of control are rounded to the tick.
std::vector<std::optional<std::size_t>> first_touches(std::span<const SessionSummary> sessions);

} // namespace rekindle::market
