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
    direction,   ///< 1 when r(k) > 0, 0 when r(k) < 0; a flat outcome has no direction and gives no target
    bar_return,  ///< r(k)
    original,    ///< r(1) clamped to [-0.1, 0.1]; the original system trains on original_probability() of it
};

struct TargetSpec {
    TargetKind kind = TargetKind::next_return;
    std::size_t bars = 1; ///< k of direction and bar_return, >= 1
    /// For bars: whether a target may extend into a later session. If false, only bars of the row's own
    /// session count, so that no target spans hours without trading.
    bool across_sessions = false;

    /// Sessions or bars that the target looks ahead: the smallest purge without leakage.
    std::size_t horizon() const noexcept {
        return kind == TargetKind::direction || kind == TargetKind::bar_return ? bars : 1;
    }
};

/// One per row of the matrix. If valid is 0, there is no target and the value is 0: the data end before the
/// target, the target is beyond the row's session, a price is not above 0, or (direction) the price did not
/// move.
struct Targets {
    ScratchArray<float> values;
    ScratchArray<std::uint8_t> valid;
    /// The bar whose close decides the target, as BarColumns::time; 0 without a target.
    ScratchArray<std::int64_t> outcome_at;
    std::size_t beyond_session = 0; ///< rows whose target would be in a later session
    std::size_t flat = 0;           ///< rows without a direction
    std::size_t not_positive = 0;   ///< rows with a price at or below 0, which has no logarithm
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
