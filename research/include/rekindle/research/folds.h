#pragma once
/// Which rows networks train on and which they predict: windows that walk forward in time, and combinatorial
/// purged cross-validation. Nothing here knows features or networks.

#include <rekindle/market/scaler.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rekindle::research {

using market::RowRange;

/// When each row was known and when its target ended. Rows are in chronological order of known_at. All
/// spans have equal lengths.
struct RowTimes {
    std::span<const std::int64_t> known_at; ///< instants in seconds, ascending
    std::span<const std::int64_t> end;      ///< > known_at where trainable; the outcome is known from then on
    std::span<const std::uint8_t> trainable; ///< 0: the row has no target, so that it is only predicted

    std::size_t size() const noexcept { return known_at.size(); }
};

/// One or several blocks of rows to predict, and the rows to train on.
struct Fold {
    std::vector<RowRange> train; ///< ascending, disjoint, at least one row
    std::vector<RowRange> test;  ///< likewise
};

std::size_t rows_in(std::span<const RowRange> ranges) noexcept;

enum class Window {
    expanding, ///< everything earlier
    rolling,   ///< the latest earlier rows, as many for every fold
};

struct WindowRules {
    Window window = Window::expanding;
    std::size_t folds = 0;      ///< at least 1
    std::size_t train_rows = 0; ///< rolling: training rows of each fold; expanding: fewest of the first one
};

/// `folds` test windows of equal size, the last ones larger by a row where they do not divide evenly, tile
/// the rows after the first training window up to row `end`. A training row is purged if its target ends
/// after the first test row is known: the two intervals [known_at, end) then overlap. Throws Error (usage)
/// when there are too few rows, saying how many are missing.
std::vector<Fold> walk_forward_folds(const RowTimes& rows, std::size_t end, const WindowRules& rules);

/// The training rows for one test window [test_begin, …): those before it that are not purged, at most the
/// latest `most`.
std::vector<RowRange> training_rows_before(const RowTimes& rows, std::size_t test_begin, std::size_t most);

struct CombinatorialRules {
    std::size_t groups = 0;           ///< N: blocks of rows of nearly equal size, at least 2
    std::size_t test_groups = 0;      ///< k: blocks that a fold predicts, 1 to N - 1
    std::size_t embargo_rows = 0;     ///< rows after a test block that are not trained on
    std::int64_t embargo_seconds = 0; ///< rows known at most that long after the last target of a test block
                                      ///< ended are not trained on
};

/// The path to which a block of a fold belongs.
struct CombinatorialFolds {
    std::vector<Fold> folds; ///< one for each choice of k blocks, in lexicographic order
    std::size_t paths = 0;   ///< (N - 1) choose (k - 1): every block occurs once in each
    /// path_of[f][i]: the path of block i of folds[f].test. Path p takes each block from the p-th of the
    /// folds that predict it, so it covers all rows once.
    std::vector<std::vector<std::size_t>> path_of;
};

/// Combinatorial purged cross-validation over rows [0, end) (López de Prado, Advances in Financial Machine
/// Learning, 2018, chapter 12). A training row is purged if its interval [known_at, end) overlaps that of a
/// test row. Throws Error (usage) for rules that no rows fulfill.
CombinatorialFolds combinatorial_folds(const RowTimes& rows, std::size_t end,
                                       const CombinatorialRules& rules);

} // namespace rekindle::research
