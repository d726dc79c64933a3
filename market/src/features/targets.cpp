#include "features/bar_sequence.h"

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

/// has_future() is asked once for each row, in their order. now(row) and later(row) are prices in ticks of
/// the later one's contract, only asked for after has_future(row) was true.
template <class HasFuture, class Now, class Later>
Targets make_targets(std::size_t rows, TargetSpec spec, const Workspace& workspace, HasFuture has_future,
                     Now now, Later later) {
    const std::size_t horizon = spec.horizon();
    Targets targets{{rows, workspace.folder}, {rows, workspace.folder}};
    for (std::size_t row = 0; row < rows; ++row) {
        if (!has_future(row))
            continue;
        if (!(now(row) > 0 && later(row) > 0))
            throw usage_error(fmt::format("row {} has a close of {} ticks and {} ticks {} ahead", row,
                                          shortest(now(row)), shortest(later(row)), horizon))
                .expected("prices above 0: the target is a logarithm of their ratio");
        const double log_return = std::log(later(row) / now(row));
        targets.values[row] = static_cast<float>(target_value(spec.kind, log_return));
        targets.valid[row] = 1;
    }
    return targets;
}

} // namespace

std::size_t Targets::usable_rows() const noexcept {
    std::size_t rows = valid.size();
    while (rows > 0 && valid[rows - 1] == 0)
        --rows;
    return rows;
}

Targets session_targets(const FeatureMatrix& matrix, std::span<const SessionSummary> sessions,
                        TargetSpec spec) {
    check_spec(spec);
    const std::size_t horizon = spec.horizon();
    if (std::any_of(matrix.source.begin(), matrix.source.end(),
                    [&](std::size_t s) { return s >= sessions.size(); }))
        throw internal_error("the feature matrix was not made of these sessions");
    const auto now = [&](std::size_t row) -> const SessionSummary& { return sessions[matrix.source[row]]; };
    const auto later = [&](std::size_t row) -> const SessionSummary& {
        return sessions[matrix.source[row] + horizon];
    };
    return make_targets(
        matrix.rows(), spec, {},
        [&](std::size_t row) { return matrix.source[row] + horizon < sessions.size(); },
        [&](std::size_t row) {
            return static_cast<double>(now(row).close + later(row).roll_offset - now(row).roll_offset);
        },
        [&](std::size_t row) { return static_cast<double>(later(row).close); });
}

Targets bar_targets(const FeatureMatrix& matrix, const BarTable& bars, std::span<const Session> sessions,
                    TargetSpec spec, const Workspace& workspace) {
    check_spec(spec);
    const std::size_t horizon = spec.horizon();
    const BarSequence sequence(bars, sessions, workspace);
    std::size_t position = 0; // of the row that was asked for last
    const auto find = [&](std::size_t row) {
        while (position < sequence.size() && sequence.bar(position) != matrix.source[row])
            ++position;
        if (position == sequence.size())
            throw internal_error("the feature matrix was not made of these bars");
    };
    const auto close = bars.columns().close;
    return make_targets(
        matrix.rows(), spec, workspace,
        [&](std::size_t row) {
            find(row);
            return position + horizon < sequence.size();
        },
        [&](std::size_t) {
            const std::int64_t gap =
                sequence.roll_offset(position + horizon) - sequence.roll_offset(position);
            return static_cast<double>(close[sequence.bar(position)] + gap);
        },
        [&](std::size_t) { return static_cast<double>(close[sequence.bar(position + horizon)]); });
}

Split split_by_time(std::size_t rows, double train_split, std::size_t purge, std::size_t embargo,
                    std::size_t horizon) {
    if (!(train_split > 0 && train_split < 1))
        throw usage_error(fmt::format("a training share of {} leaves one part empty", train_split))
            .expected("a number between 0 and 1, such as 0.8");
    Split split;
    split.purge_raised = purge < horizon;
    split.purge = std::max(purge, horizon);
    const auto border = static_cast<std::size_t>(static_cast<double>(rows) * train_split);
    if (split.purge >= border || embargo >= rows - border)
        throw usage_error(
            fmt::format("{} rows are too few: {} % for training, less {} purged, and the rest for "
                        "validation, less {} of embargo",
                        rows, 100 * train_split, split.purge, embargo))
            .expected("at least one row in each part")
            .hint("Give more data, or shorter look-backs, purge and embargo.");
    split.train_end = border - split.purge;
    split.validation_begin = border + embargo;
    split.validation_end = rows;
    return split;
}

} // namespace rekindle::market
