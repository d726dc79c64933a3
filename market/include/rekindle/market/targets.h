#pragma once
/// The targets that the network learns to predict, and the split by time.

#include <rekindle/base/scratch_array.h>
#include <rekindle/market/bars.h>
#include <rekindle/market/feature_matrix.h>
#include <rekindle/market/scaler.h>
#include <rekindle/market/session.h>
#include <rekindle/market/session_summary.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace rekindle::market {

/// r(k) is the log return from the close of the row's session (bar) to the close k sessions (bars) later. The
/// earlier price is shifted into the contract of the later one, so r(k) is the return of a holder who rolls.
enum class TargetKind {
    next_return, ///< r(1)
    /// 1 if r(k) is above the dead band, 0 if it is below minus the dead band; in between there is no
    /// direction and no target
    direction,
    bar_return, ///< r(k)
    original,   ///< r(1) clamped to [-0.1, 0.1]; the original system trains on original_probability() of it
    /// 1 if the first close beyond a barrier within k sessions (bars) is above the upper one, 0 if it is
    /// below the lower one; no target if no close is beyond either (the triple-barrier method of López de
    /// Prado, Advances in Financial Machine Learning, 2018, chapter 3)
    barrier,
    volatility, ///< realized volatility: the square root of the sum of the next k squared returns r(1)
};

struct TargetSpec {
    TargetKind kind = TargetKind::next_return;
    std::size_t bars = 1; ///< k, for all kinds but next_return and original; >= 1
    /// For bars: whether a target may extend into a later session. If false, only bars of the row's own
    /// session count, so that no target spans hours without trading.
    bool across_sessions = false;
    double dead_band = 0; ///< for direction, as a log return; >= 0
    /// For barrier: the barriers are at close · (1 ± barrier_width · s · √k), where s is the root mean square
    /// of the latest trailing_returns returns r(1) known at the row; > 0.
    double barrier_width = 1;

    static constexpr std::size_t trailing_returns = 50;

    /// Sessions or bars that the target looks ahead: the smallest purge without leakage.
    std::size_t horizon() const noexcept {
        return kind == TargetKind::next_return || kind == TargetKind::original ? 1 : bars;
    }
};

/// One per row of the matrix. If valid is 0, there is no target and the value is 0: the data end before the
/// target, the target is beyond the row's session, a price is not above 0, or (direction) the price did not
/// move.
struct Targets {
    ScratchArray<float> values;
    ScratchArray<std::uint8_t> valid;
    /// End of the bar that decides the target, as BarColumns::time; 0 without a target.
    ScratchArray<std::int64_t> outcome_at;
    std::size_t beyond_session = 0; ///< rows whose target would be in a later session
    std::size_t flat = 0;    ///< rows whose price moved too little to have a direction or to reach a barrier
    std::size_t no_past = 0; ///< rows with too few earlier returns to set barriers
    std::size_t not_positive = 0; ///< rows with a price at or below 0, which has no logarithm
    /// Number of rows with a target.
    std::size_t usable_rows() const noexcept;
};

/// Removes the rows without a target from both.
void keep_rows_with_target(FeatureMatrix& matrix, Targets& targets, const Workspace& workspace = {});

/// For a matrix of sessions computed from the same summaries. Throws Error (usage) if k is 0, and Error
/// (internal) if matrix and sessions do not belong together.
Targets session_targets(const FeatureMatrix& matrix, std::span<const SessionSummary> sessions,
                        TargetSpec spec);
/// The same for a matrix of the minute group computed from the same bars and sessions.
Targets bar_targets(const FeatureMatrix& matrix, const BarTable& bars, std::span<const Session> sessions,
                    TargetSpec spec, const Workspace& workspace = {});

/// (y + 1) / 2: the label that the original system passes to its cross-entropy loss.
constexpr double original_probability(double log_return) noexcept {
    return (log_return + 1) / 2;
}

/// Training rows first, then a gap, then validation rows.
struct Split {
    std::size_t train_begin = 0, train_end = 0;
    std::size_t validation_begin = 0, validation_end = 0;
    std::size_t purge = 0;     ///< rows omitted before the border, after raising
    bool purge_raised = false; ///< purge was smaller than the horizon and was raised to it

    RowRange train() const noexcept { return {train_begin, train_end}; }
    RowRange validation() const noexcept { return {validation_begin, validation_end}; }
    friend bool operator==(const Split&, const Split&) = default;
};

/// The border is floor(rows · train_split). Training rows are [0, border - purge), validation rows [border +
/// embargo, rows). A target that looks `horizon` rows ahead leaks into the validation rows unless purge >=
/// horizon, so a smaller purge is raised; horizon 0 turns that off (as in the original system). Throws Error
/// (usage) unless 0 < train_split < 1 and both parts have at least one row. Rows without a target must have
/// been removed: n rows are then at least n bars (sessions) apart.
Split split_by_time(std::size_t rows, double train_split, std::size_t purge, std::size_t embargo,
                    std::size_t horizon);
/// Whether split_by_time() would succeed. Adding rows never makes it false.
bool can_be_split(std::size_t rows, double train_split, std::size_t purge, std::size_t embargo,
                  std::size_t horizon) noexcept;

} // namespace rekindle::market
