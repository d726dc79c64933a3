#include "features/bar_sequence.h"
#include "features/finish_matrix.h"

#include <rekindle/base/text.h>
#include <rekindle/foundation/error.h>
#include <rekindle/market/targets.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace rekindle::market {
namespace {

void check_spec(TargetSpec spec) {
    if (spec.bars == 0)
        throw usage_error("a target cannot look 0 bars ahead").expected("at least 1");
    if (!(spec.dead_band >= 0))
        throw usage_error("a dead band cannot be negative").expected("0 or more");
    if (spec.kind == TargetKind::barrier && !(spec.barrier_width > 0))
        throw usage_error("barriers need a width").expected("a number above 0");
}

/// The closes of consecutive sessions.
class SessionPrices {
  public:
    explicit SessionPrices(std::span<const SessionSummary> sessions) : sessions_(sessions) {}
    std::size_t size() const { return sessions_.size(); }
    double close(std::size_t i) const { return static_cast<double>(sessions_[i].close); }
    std::int64_t roll_offset(std::size_t i) const { return sessions_[i].roll_offset; }
    std::int64_t end(std::size_t i) const { return sessions_[i].end_time; }
    bool in_one_stretch(std::size_t i, std::size_t j) const {
        return sessions_[i].stretch == sessions_[j].stretch;
    }
    bool in_one_session(std::size_t, std::size_t) const { return true; }

  private:
    std::span<const SessionSummary> sessions_;
};

/// The closes of the bars of sessions.
class BarPrices {
  public:
    BarPrices(const BarSequence& sequence, const BarTable& bars)
        : sequence_(sequence), close_(bars.columns().close), time_(bars.columns().time) {}
    std::size_t size() const { return sequence_.size(); }
    double close(std::size_t i) const { return static_cast<double>(close_[sequence_.bar(i)]); }
    std::int64_t roll_offset(std::size_t i) const { return sequence_.roll_offset(i); }
    std::int64_t end(std::size_t i) const { return time_[sequence_.bar(i)]; }
    bool in_one_stretch(std::size_t i, std::size_t j) const {
        return sequence_.session(i).stretch == sequence_.session(j).stretch;
    }
    bool in_one_session(std::size_t i, std::size_t j) const {
        return &sequence_.session(i) == &sequence_.session(j);
    }

  private:
    const BarSequence& sequence_;
    std::span<const Ticks> close_;
    std::span<const std::int64_t> time_;
};

/// The later price divided by the earlier one, which is first shifted into the later contract; 0 unless both
/// are above 0.
template <class Prices>
double price_ratio(const Prices& prices, std::size_t earlier, std::size_t later) {
    const double now =
        prices.close(earlier) + static_cast<double>(prices.roll_offset(later) - prices.roll_offset(earlier));
    const double then = prices.close(later);
    return now > 0 && then > 0 ? then / now : 0;
}

/// Root mean squares of the latest returns from one price to the next.
template <class Prices>
class TrailingVolatility {
  public:
    TrailingVolatility(const Prices& prices, TargetSpec spec, const Workspace& workspace)
        : squares_(prices.size(), workspace.folder), counts_(prices.size(), workspace.folder) {
        for (std::size_t i = 1; i < prices.size(); ++i) {
            const bool usable =
                prices.in_one_stretch(i - 1, i) && (spec.across_sessions || prices.in_one_session(i - 1, i));
            const double ratio = usable ? price_ratio(prices, i - 1, i) : 0;
            const double log_return = ratio > 0 ? std::log(ratio) : 0;
            squares_[i] = squares_[i - 1] + log_return * log_return;
            counts_[i] = counts_[i - 1] + (ratio > 0 ? 1 : 0);
        }
    }

    /// The root mean square of the latest trailing_returns returns up to price i. 0 if there are fewer, or if
    /// the price did not move.
    double at(std::size_t i) const {
        constexpr std::size_t window = TargetSpec::trailing_returns;
        if (i < window || counts_[i] - counts_[i - window] == 0)
            return 0;
        return std::sqrt(std::max(0.0, squares_[i] - squares_[i - window]) /
                         static_cast<double>(counts_[i] - counts_[i - window]));
    }

  private:
    ScratchArray<double> squares_; ///< sum of the squared returns up to each price
    ScratchArray<std::uint32_t> counts_;
};

/// Fills in the targets of rows, one after another.
template <class Prices>
class TargetMaker {
  public:
    TargetMaker(const Prices& prices, TargetSpec spec, std::size_t rows, const Workspace& workspace)
        : prices_(prices), spec_(spec), horizon_(spec.horizon()),
          targets_{{rows, workspace.folder}, {rows, workspace.folder}, {rows, workspace.folder}} {
        if (spec.kind == TargetKind::barrier)
            trailing_.emplace(prices, spec, workspace);
    }

    /// Adds the target of a row whose latest known price is at `position`.
    void add(std::size_t row, std::size_t position) {
        const std::size_t last = position + horizon_;
        if (last >= prices_.size() || !prices_.in_one_stretch(position, last))
            return;
        if (!spec_.across_sessions && !prices_.in_one_session(position, last)) {
            ++targets_.beyond_session;
            return;
        }
        switch (spec_.kind) {
        case TargetKind::barrier:
            return add_barrier(row, position);
        case TargetKind::volatility:
            return add_volatility(row, position);
        default:
            return add_return(row, position);
        }
    }
    Targets take() { return std::move(targets_); }

  private:
    void set(std::size_t row, double value, std::size_t last) {
        targets_.values[row] = static_cast<float>(value);
        targets_.valid[row] = 1;
        targets_.outcome_at[row] = prices_.end(last);
    }

    void add_return(std::size_t row, std::size_t position) {
        const std::size_t last = position + horizon_;
        const double ratio = price_ratio(prices_, position, last);
        if (ratio == 0) {
            ++targets_.not_positive;
            return;
        }
        const double log_return = std::log(ratio);
        constexpr double original_limit = 0.1;
        if (spec_.kind == TargetKind::original)
            return set(row, std::clamp(log_return, -original_limit, original_limit), last);
        if (spec_.kind != TargetKind::direction)
            return set(row, log_return, last);
        if (ratio == 1 || std::abs(log_return) <= spec_.dead_band)
            ++targets_.flat;
        else
            set(row, log_return > 0 ? 1 : 0, last);
    }

    void add_volatility(std::size_t row, std::size_t position) {
        double squares = 0;
        for (std::size_t i = position; i < position + horizon_; ++i) {
            const double ratio = price_ratio(prices_, i, i + 1);
            if (ratio == 0) {
                ++targets_.not_positive;
                return;
            }
            squares += std::log(ratio) * std::log(ratio);
        }
        set(row, std::sqrt(squares), position + horizon_);
    }

    void add_barrier(std::size_t row, std::size_t position) {
        const double width =
            spec_.barrier_width * trailing_->at(position) * std::sqrt(static_cast<double>(horizon_));
        if (width == 0) {
            ++targets_.no_past;
            return;
        }
        for (std::size_t i = position + 1; i <= position + horizon_; ++i) {
            const double ratio = price_ratio(prices_, position, i);
            if (ratio == 0) {
                ++targets_.not_positive;
                return;
            }
            if (std::abs(ratio - 1) > width)
                return set(row, ratio > 1 ? 1 : 0, i);
        }
        ++targets_.flat;
    }

    const Prices& prices_;
    TargetSpec spec_;
    std::size_t horizon_;
    Targets targets_;
    std::optional<TrailingVolatility<Prices>> trailing_;
};

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
    targets.valid.truncate(kept);
    targets.outcome_at.truncate(kept);
}

Targets session_targets(const FeatureMatrix& matrix, std::span<const SessionSummary> sessions,
                        TargetSpec spec) {
    check_spec(spec);
    if (std::any_of(matrix.source.begin(), matrix.source.end(),
                    [&](std::size_t s) { return s >= sessions.size(); }))
        throw internal_error("the feature matrix does not belong to these sessions");
    const SessionPrices prices(sessions);
    TargetMaker maker(prices, spec, matrix.rows(), {});
    for (std::size_t row = 0; row < matrix.rows(); ++row)
        maker.add(row, matrix.source[row]);
    return maker.take();
}

Targets bar_targets(const FeatureMatrix& matrix, const BarTable& bars, std::span<const Session> sessions,
                    TargetSpec spec, const Workspace& workspace) {
    check_spec(spec);
    const BarSequence sequence(bars, sessions, workspace);
    const BarPrices prices(sequence, bars);
    TargetMaker maker(prices, spec, matrix.rows(), workspace);
    std::size_t position = 0;
    for (std::size_t row = 0; row < matrix.rows(); ++row) {
        while (position < sequence.size() && sequence.bar(position) != matrix.source[row])
            ++position;
        if (position == sequence.size())
            throw internal_error("the feature matrix does not belong to these bars");
        maker.add(row, position);
    }
    return maker.take();
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
