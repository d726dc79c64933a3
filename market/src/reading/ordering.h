#pragma once
/// Rows of several files or contracts to one sequence: by time, then by contract.

#include "reading/stage.h"

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace rekindle::market::reading {

/// Calls emit(row) for each row in order of (time, rank of its contract, row). Of rows with one time and
/// contract only the first is emitted; for the others duplicate(row, first) is called. Memory: some bytes for
/// each place where the time of the rows runs backwards, which happens between files and contracts, not
/// between bars.
void merge_rows(const BarColumns& rows, std::span<const std::uint16_t> rank,
                const std::function<void(std::uint64_t row)>& emit,
                const std::function<void(std::uint64_t row, std::uint64_t first)>& duplicate);

} // namespace rekindle::market::reading
