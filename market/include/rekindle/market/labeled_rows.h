#pragma once
/// Rows with their targets, and when each becomes known. The rows can belong to several instruments.

#include <rekindle/base/scratch_array.h>
#include <rekindle/market/bar_ends.h>
#include <rekindle/market/feature_matrix.h>
#include <rekindle/market/targets.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rekindle::market {

/// Rows in the order in which they became known; each has a target. Times are instants in seconds since
/// 1970-01-01T00:00:00Z; raw labels are counted as if they were UTC. Movable.
struct LabeledRows {
    FeatureMatrix matrix;
    Targets targets;
    ScratchArray<std::int64_t> known;         ///< per row: when its features are known
    ScratchArray<std::int64_t> outcome_known; ///< per row: when its target is known
    /// Per row: the target of the same instrument `horizon` rows earlier, which is known by then; 0 if there
    /// is none.
    ScratchArray<float> previous;

    std::size_t rows() const noexcept { return known.size(); }
};

/// Removes the rows without a target and adds the times. `targets` belongs to `matrix`, and `ends` to the
/// bars behind both; `horizon` is TargetSpec::horizon().
LabeledRows label_rows(FeatureMatrix matrix, Targets targets, const BarEnds& ends, std::size_t horizon,
                       const Workspace& workspace = {});

/// A row of one of several parts.
struct RowPlace {
    std::uint32_t part = 0;
    std::uint32_t row = 0;
};

/// Orders the rows `ranges[i]` of every part i by the time at which they are known, then by part. Both spans
/// have one element per part, and the rows of each part are already in order.
ScratchArray<RowPlace> order_by_time(std::span<const std::span<const std::int64_t>> known,
                                     std::span<const RowRange> ranges, const Workspace& workspace = {});

/// Gathers the values of these rows. `width` is the number of values per row of each part.
template <class T>
ScratchArray<T> gather(std::span<const RowPlace> places, std::span<const std::span<const T>> parts,
                       std::size_t width, const Workspace& workspace = {}) {
    ScratchArray<T> values(places.size() * width, workspace.folder);
    for (std::size_t i = 0; i < places.size(); ++i)
        std::copy_n(parts[places[i].part].data() + places[i].row * width, width, values.data() + i * width);
    return values;
}

/// Gathers the rows at these places and sets FeatureMatrix::instrument to the part that each row comes from.
/// Adds up the counts of all parts and joins their notes. Throws Error (internal) unless all parts have the
/// same columns.
FeatureMatrix join_matrices(std::span<const FeatureMatrix* const> parts, std::span<const RowPlace> places,
                            const Workspace& workspace = {});
/// The same for rows with targets.
LabeledRows join_rows(std::span<const LabeledRows> parts, std::span<const RowPlace> places,
                      const Workspace& workspace = {});

/// Splits several instruments at one time, so that no instrument's training rows overlap in time with the
/// validation rows of another.
struct CommonSplit {
    std::int64_t border = 0;  ///< rows known before it are for training, the others for validation
    std::vector<Split> parts; ///< per instrument, over its own rows; one side may be empty
};

/// The border is the time at which row floor(rows · train_split), counted over all instruments in order of
/// time, is known. Purge and embargo count the rows of each instrument, as in split_by_time(): an
/// instrument's last max(purge, horizon) rows before the border are left out of training, so that no training
/// target reaches beyond the border. Throws Error (usage) unless 0 < train_split < 1.
CommonSplit split_at_common_time(std::span<const std::span<const std::int64_t>> known, double train_split,
                                 std::size_t purge, std::size_t embargo, std::size_t horizon);

} // namespace rekindle::market
