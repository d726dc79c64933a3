#pragma once
/// Features in rows and columns, with the origin of each row.

#include <rekindle/base/scratch_array.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace rekindle::market {

/// What to do if no row has a value for every feature: throw an Error, or return a matrix without rows.
enum class NoRows { refuse, keep_none };

/// Row-major; every value is finite. Rows are in chronological order. Movable.
struct FeatureMatrix {
    std::vector<std::string> names; ///< one per column
    ScratchArray<double> values;    ///< rows() × columns()
    ScratchArray<std::int64_t>
        known_at; ///< per row: time of the newest bar that it uses, as BarColumns::time. The row is known
                  ///< from BarEnds::of() that time on
    ScratchArray<std::int32_t> dates; ///< per row: Session::date
    ScratchArray<std::size_t> source; ///< per row: index of the session, or of the bar for the minute group
    /// Per row: index of the instrument that known_at and source refer to. Empty if there is one instrument.
    ScratchArray<std::uint16_t> instrument;
    std::size_t dropped_first = 0; ///< rows skipped before the first complete one (look-backs not yet filled)
    std::size_t dropped_later = 0; ///< rows skipped after it because a value was not finite
    std::vector<std::string> notes; ///< one sentence for the user about everything that was omitted

    std::size_t rows() const noexcept { return source.size(); }
    /// Precondition: row < rows().
    std::size_t instrument_of(std::size_t row) const noexcept {
        return instrument.empty() ? 0 : instrument[row];
    }
    std::size_t columns() const noexcept { return names.size(); }
    /// Preconditions: row < rows(), column < columns().
    double at(std::size_t row, std::size_t column) const noexcept { return values[row * columns() + column]; }
    std::span<const double> row(std::size_t index) const noexcept {
        return {values.data() + index * columns(), columns()};
    }
    /// Releases these rows from memory for now (ScratchArray::release).
    void release(std::size_t first, std::size_t count) const noexcept;
};

} // namespace rekindle::market
