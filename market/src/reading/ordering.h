#pragma once
/// Merges rows of several files or contracts into one sequence, by time and then by contract.

#include "reading/stage.h"

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace rekindle::market::reading {

/// Calls emit(row) for each row in order of (time, rank of its contract, row). Of rows with the same time and
/// contract only the first is emitted; for the others duplicate(row, first) is called. Needs a few bytes of
/// memory for each place where the time goes backward, which happens between files and contracts, not between
/// bars.
void merge_rows(const BarColumns& rows, std::span<const std::uint16_t> rank,
                const std::function<void(std::uint64_t row)>& emit,
                const std::function<void(std::uint64_t row, std::uint64_t first)>& duplicate);

} // namespace rekindle::market::reading
