#pragma once
/// Staged rows to the finished table, in memory or as a column file.

#include "reading/stage.h"
#include "reading/vix.h"

#include <rekindle/market/bars.h>

#include <filesystem>
#include <span>
#include <vector>

namespace rekindle::market::reading {

/// Everything that turns staged rows into bars.
struct Assembly {
    StagedRows rows;
    std::span<const std::uint64_t> order; ///< rows in their final order; empty keeps the order of the stage
    std::vector<std::uint16_t> rank;      ///< final index of each contract
    std::int64_t time_shift = 0;          ///< seconds added to each time
    const PublishedSeries* vix = nullptr; ///< nothing leaves the column empty
    BarMetadata metadata;
};

/// `bars` are the staged columns themselves. Needs memory for one more column at a time when the order
/// changes.
BarTable assemble_in_memory(const Assembly& assembly, BarBuffer bars);
/// Writes a column file and maps it.
BarTable assemble_column_file(const Assembly& assembly, const std::filesystem::path& path);

} // namespace rekindle::market::reading
