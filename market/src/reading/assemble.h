#pragma once
/// Turns staged rows into the final table, in memory or as a column file.

#include "reading/stage.h"
#include "reading/vix.h"

#include <rekindle/market/bars.h>

#include <filesystem>
#include <span>
#include <vector>

namespace rekindle::market::reading {

/// Everything needed to turn staged rows into bars.
struct Assembly {
    StagedRows rows;
    std::span<const std::uint64_t> order; ///< rows in their final order; empty: keep the order of the stage
    std::vector<std::uint16_t> rank;      ///< final index of each contract
    std::int64_t time_shift = 0;          ///< seconds added to each time
    const PublishedSeries* vix = nullptr; ///< null: the column stays empty
    BarMetadata metadata;
};

/// `bars` are the staged columns. If the order changes, this needs memory for one more column at a time.
BarTable assemble_in_memory(const Assembly& assembly, BarBuffer bars);
/// Writes a column file and maps it.
BarTable assemble_column_file(const Assembly& assembly, const std::filesystem::path& path);

} // namespace rekindle::market::reading
