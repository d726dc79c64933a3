#pragma once
/// Reads tables from files in any format that bars can have, as text.

#include <filesystem>
#include <string>

namespace rekindle::market {

/// Returns the table of a file as delimited text with the file's own header: a text file as it is, also from
/// .gz, .zst and .zip; Parquet as CSV, with times as 2025-02-27 21:00:00 (with a Z if they are UTC). Throws
/// Error (usage) naming the file if it cannot be read.
std::string table_text(const std::filesystem::path& path);

} // namespace rekindle::market
