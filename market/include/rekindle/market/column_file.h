#pragma once
/// The binary column file: bars on disk in the layout that BarColumns maps. docs/formats/column-file.md
/// describes it.

#include <rekindle/market/bars.h>

#include <filesystem>

namespace rekindle::market {

/// Writes bars as a column file, atomically. Throws Error naming the file.
void write_column_file(const std::filesystem::path& path, const BarTable& bars);

/// Maps a column file; the table keeps the mapping alive. Throws Error (usage) naming the file if it is not a
/// column file, has an unknown version, is truncated or is inconsistent.
BarTable open_column_file(const std::filesystem::path& path);

} // namespace rekindle::market
