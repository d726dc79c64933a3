#include "features/bar_sequence.h"
#include "features/finish_matrix.h"

#include <rekindle/base/error.h>
#include <rekindle/base/text.h>
#include <rekindle/market/targets.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace rekindle::market {
namespace {

void check_spec(TargetSpec spec) {
    if (spec.bars == 0)
        throw usage_error("a target cannot look 0 bars ahead").expected("at least 1");
}

double target_value(TargetKind kind, double log_return) {
    constexpr double original_limit = 0.1;
    switch (kind) {
    case TargetKind::direction:
        return log_return > 0 ? 1 : 0;
    case TargetKind::original:
        return std::clamp(log_return, -original_limit, original_limit);
    case TargetKind::next_return:
    case TargetKind::bar_return:
        break;
    }
    return log_return;
}

enum class Future { known, unknown, in_a_later_session };

/// future() is called once per row, in order. now(row) and later(row) return prices in ticks of the later
/// one's contract, later_time(row) the time of the later one; they are called only if future(row) was
/// `known`.
template <class FutureOf, class Now, class Later, class LaterTime>
Targets make_targets(std::size_t rows, TargetSpec spec, const Workspace& workspace, FutureOf future, Now now,
                     Later later, LaterTime later_time) {
    Targets targets{{rows, workspace.folder}, {rows, workspace.folder}, {rows, workspace.folder}};
    for (std::size_t row = 0; row < rows; ++row) {
        const Future found = future(row);
        targets.beyond_session += found == Future::in_a_later_session ? 1 : 0;
        if (found != Future::known)
            continue;
        if (!(now(row) > 0 && later(row) > 0)) {
            ++targets.not_positive;
            continue;
        }
        const double log_return = std::log(later(row) / now(row));
        if (spec.kind == TargetKind::direction && later(row) == now(row)) {
            ++targets.flat;
            continue;
        }
        targets.values[row] = static_cast<float>(target_value(spec.kind, log_return));
        targets.valid[row] = 1;
        targets.outcome_at[row] = later_time(row);
    }
    return targets;
}

std::size_t border_of(std::size_t rows, double train_split) noexcept {
    return static_cast<std::size_t>(static_cast<double>(rows) * train_split);
}

} // namespace

std::size_t Targets::usable_rows() const noexcept {
    return valid.size() - static_cast<std::size_t>(std::count(valid.begin(), valid.end(), std::uint8_t{0}));
}

void keep_rows_with_target(FeatureMatrix& matrix, Targets& targets, const Workspace& workspace) {
    if (targets.valid.size() != matrix.rows())
        throw internal_error("the targets do not belong to this feature matrix");
    keep_rows(matrix, 0, workspace, [&](std::size_t row) { return targets.valid[row] != 0; });
    std::size_t kept = 0;
    for (std::size_t row = 0; row < targets.valid.size(); ++row)
        if (targets.valid[row] != 0) {
            targets.outcome_at[kept] = targets.outcome_at[row];
            targets.values[kept++] = targets.values[row];
        }
    std::fill_n(targets.valid.begin(), kept, std::uint8_t{1});
    targets.values.truncate(kept);
    targets.outcome_at.truncate(kept);
    targets.valid.truncate(kept);
}

Targets session_targets(const FeatureMatrix& matrix, std::span<const SessionSummary> sessions,
                        TargetSpec spec) {
    check_spec(spec);
    const std::size_t horizon = spec.horizon();
    if (std::any_of(matrix.source.begin(), matrix.source.end(),
                    [&](std::size_t s) { return s >= sessions.size(); }))
        throw internal_error("the feature matrix does not belong to these sessions");
    const auto now = [&](std::size_t row) -> const SessionSummary& { return sessions[matrix.source[row]]; };
    const auto later = [&](std::size_t row) -> const SessionSummary& {
        return sessions[matrix.source[row] + horizon];
    };
    return make_targets(
        matrix.rows(), spec, {},
        [&](std::size_t row) {
            const bool known =
                matrix.source[row] + horizon < sessions.size() && now(row).stretch == later(row).stretch;
            return known ? Future::known : Future::unknown;
        },
        [&](std::size_t row) {
            return static_cast<double>(now(row).close + later(row).roll_offset - now(row).roll_offset);
        },
        [&](std::size_t row) { return static_cast<double>(later(row).close); },
        [&](std::size_t row) { return later(row).end_time; });
}

Targets bar_targets(const FeatureMatrix& matrix, const BarTable& bars, std::span<const Session> sessions,
                    TargetSpec spec, const Workspace& workspace) {
    check_spec(spec);
    const std::size_t horizon = spec.horizon();
    const BarSequence sequence(bars, sessions, workspace);
    std::size_t position = 0; // position of the row of the last call
    const auto find = [&](std::size_t row) {
        while (position < sequence.size() && sequence.bar(position) != matrix.source[row])
            ++position;
        if (position == sequence.size())
            throw internal_error("the feature matrix does not belong to these bars");
    };
    const auto close = bars.columns().close;
    return make_targets(
        matrix.rows(), spec, workspace,
        [&](std::size_t row) {
            find(row);
            if (position + horizon >= sequence.size() ||
                sequence.session(position).stretch != sequence.session(position + horizon).stretch)
                return Future::unknown;
            const bool same = &sequence.session(position) == &sequence.session(position + horizon);
            return same || spec.across_sessions ? Future::known : Future::in_a_later_session;
        },
        [&](std::size_t) {
            const std::int64_t gap =
                sequence.roll_offset(position + horizon) - sequence.roll_offset(position);
            return static_cast<double>(close[sequence.bar(position)] + gap);
        },
        [&](std::size_t) { return static_cast<double>(close[sequence.bar(position + horizon)]); },
        [&](std::size_t) { return bars.columns().time[sequence.bar(position + horizon)]; });
}

bool can_be_split(std::size_t rows, double train_split, std::size_t purge, std::size_t embargo,
                  std::size_t horizon) noexcept {
    const std::size_t border = border_of(rows, train_split);
    return std::max(purge, horizon) < border && embargo < rows - border;
}

Split split_by_time(std::size_t rows, double train_split, std::size_t purge, std::size_t embargo,
                    std::size_t horizon) {
    if (!(train_split > 0 && train_split < 1))
        throw usage_error(fmt::format("a training share of {} leaves one part empty", train_split))
            .expected("a number between 0 and 1, such as 0.8");
    Split split;
    split.purge_raised = purge < horizon;
    split.purge = std::max(purge, horizon);
    const std::size_t border = border_of(rows, train_split);
    if (!can_be_split(rows, train_split, purge, embargo, horizon))
        throw usage_error(fmt::format("{} too few: {} % for training, minus {} purged, and the rest for "
                                      "validation, minus {} for the embargo",
                                      counted(static_cast<std::int64_t>(rows), "row is", "rows are"),
                                      100 * train_split, split.purge, embargo))
            .expected("at least one row in each part")
            .hint("Use more data, or reduce the look-backs, the purge or the embargo.");
    split.train_end = border - split.purge;
    split.validation_begin = border + embargo;
    split.validation_end = rows;
    return split;
}

} // namespace rekindle::market
