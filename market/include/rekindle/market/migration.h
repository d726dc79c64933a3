#pragma once
/// How the point of control moves from session to session, and which points of control the market has not
/// revisited.

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
    double min_move = 1.0; ///< points between the points of control of two sessions
    std::size_t min_moves = 3;
};

/// A run of moves in one direction from session `start` to session `end` (indices).
struct MigrationTrend {
    std::size_t start = 0;
    std::size_t end = 0;
    MigrationDirection direction = MigrationDirection::up;
    std::size_t moves = 0;
    friend bool operator==(const MigrationTrend&, const MigrationTrend&) = default;
};

/// Scans the points of control (in points) of consecutive sessions. A move counts if it is at least
/// min_move. A move in the direction of the run extends it; a smaller move ends it; a move in the other
/// direction ends it and starts a new run at the previous session. Runs of at least min_moves moves are
/// reported in order, including a run that is still open at the end.
std::vector<MigrationTrend> migration_trends(std::span<const double> points_of_control,
                                             const MigrationRules& rules = {});

/// The same for summaries. Moves are measured on prices as traded, so a roll counts as a move, as in the
/// original system. With across_rolls, roll gaps are removed first.
std::vector<MigrationTrend> migration_trends(std::span<const SessionSummary> sessions, TickSize tick,
                                             const MigrationRules& rules = {}, bool across_rolls = false);

/// A point of control that no later session has touched.
struct NakedPointOfControl {
    std::size_t session = 0; ///< index of the session it belongs to
    std::int64_t price = 0;  ///< in ticks, on the scale passed to add()
    friend bool operator==(const NakedPointOfControl&, const NakedPointOfControl&) = default;
};

/// The set of naked points of control, updated in chronological order. A price is touched if the range low …
/// high of a bar or session contains it; a gap that jumps over it leaves it naked. All prices must be on the
/// same scale: subtract the roll offset of the session that a price belongs to. touch() costs O(log n) plus
/// O(1) per removed price.
class NakedPointsOfControl {
  public:
    /// A session has ended with this point of control.
    void add(std::size_t session, std::int64_t price);
    /// The market traded from low to high: removes the prices in that range and returns them in price order.
    std::vector<NakedPointOfControl> touch(std::int64_t low, std::int64_t high);

    std::size_t size() const noexcept { return by_price_.size(); }
    /// The nearest at or above, and at or below, a price.
    std::optional<NakedPointOfControl> nearest_above(std::int64_t price) const;
    std::optional<NakedPointOfControl> nearest_below(std::int64_t price) const;
    /// Ordered by price, then by session.
    std::vector<NakedPointOfControl> all() const;

  private:
    std::multimap<std::int64_t, std::size_t> by_price_;
};

/// For each session, the index of the first later session whose range low … high (on one scale, with roll
/// offsets removed) contains its point of control; empty if it is still naked. Points of control are rounded
/// to the tick.
std::vector<std::optional<std::size_t>> first_touches(std::span<const SessionSummary> sessions);

} // namespace rekindle::market
