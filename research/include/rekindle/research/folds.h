#pragma once
/// Chooses which rows networks train on and which they predict: windows that walk forward in time, or
/// combinatorial purged cross-validation. This code does not depend on features or networks.

#include <rekindle/market/scaler.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rekindle::research {

using market::RowRange;

/// When each row became known and when its target ended. Rows are ordered by known_at. All spans have the
/// same length, unless one is empty.
struct RowTimes {
    std::span<const std::int64_t> known_at;  ///< instants in seconds, ascending
    std::span<const std::int64_t> end;       ///< when the outcome becomes known; > known_at where trainable
    std::span<const std::uint8_t> trainable; ///< 0: the row has no target, so it is only predicted
    std::span<const std::uint16_t> instrument = {}; ///< number of its instrument; empty if there is only one

    std::size_t size() const noexcept { return known_at.size(); }
};

/// The rows to train on, and one or more blocks of rows to predict.
struct Fold {
    std::vector<RowRange> train; ///< ascending, disjoint, at least one row
    std::vector<RowRange> test;  ///< likewise
};

std::size_t rows_in(std::span<const RowRange> ranges) noexcept;

enum class Window {
    expanding, ///< all earlier rows
    rolling,   ///< the latest earlier rows, the same number for every fold
};

struct WindowRules {
    Window window = Window::expanding;
    std::size_t folds = 0;      ///< at least 1
    std::size_t train_rows = 0; ///< rolling: in each fold; expanding: minimum in the first fold
};

/// Divides the rows from the first training window to row `end` into `folds` test windows of equal size (if
/// they do not divide evenly, the last windows get one more row). Purges a training row if its target ends
/// after the first test row is known, because the two intervals [known_at, end) then overlap. Throws Error
/// (usage) if there are too few rows; the error says how many are missing.
std::vector<Fold> walk_forward_folds(const RowTimes& rows, std::size_t end, const WindowRules& rules);

/// The training rows for a test window that begins at row `test_begin`: the latest rows before it that are
/// not purged, at most `most` of them.
std::vector<RowRange> training_rows_before(const RowTimes& rows, std::size_t test_begin, std::size_t most);

struct CombinatorialRules {
    std::size_t groups = 0;      ///< N: number of blocks of nearly equal size, at least 2
    std::size_t test_groups = 0; ///< k: number of blocks that each fold predicts, 1 to N - 1
    /// Number of rows of each instrument after a test block that no network trains on.
    std::size_t embargo_rows = 0;
    /// No network trains on rows that become known within this time after the last target of a test block
    /// ends.
    std::int64_t embargo_seconds = 0;
};

/// The folds of combinatorial cross-validation, and the path to which each of their blocks belongs.
struct CombinatorialFolds {
    std::vector<Fold> folds; ///< one for each choice of k blocks, in lexicographic order
    std::size_t paths = 0;   ///< (N - 1) choose (k - 1): every block occurs once in each
    /// path_of[f][i] is the path of block i of folds[f].test. Path p takes each block from the p-th fold that
    /// predicts it, so it covers all rows once.
    std::vector<std::vector<std::size_t>> path_of;
};

/// Combinatorial purged cross-validation over rows [0, end) (López de Prado, Advances in Financial Machine
/// Learning, 2018, chapter 12). A training row is purged if its interval [known_at, end) overlaps that of a
/// test row. Throws Error (usage) if the rules leave too few rows.
CombinatorialFolds combinatorial_folds(const RowTimes& rows, std::size_t end,
                                       const CombinatorialRules& rules);

} // namespace rekindle::research
