#pragma once
/// Writes a flat table as a Parquet file (https://parquet.apache.org/docs/file-format/): plain encoding, no
/// compression, pages of version 1. docs/formats/parquet.md describes what Rekindle reads.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <variant>

namespace rekindle::market {

/// The values of one column, as views of the caller's memory.
struct ParquetInstants {
    std::span<const std::int64_t> seconds; ///< since 1970-01-01T00:00:00
    bool utc = true;                       ///< false: local time of an unknown zone
};
struct ParquetDates {
    std::span<const std::int32_t> days; ///< since 1970-01-01
};
struct ParquetNumbers {
    std::span<const double> values; ///< NaN becomes a null
};
struct ParquetTexts {
    std::span<const std::string> words;     ///< UTF-8
    std::span<const std::uint32_t> indices; ///< per row: index into `words`
};

struct ParquetColumn {
    std::string_view name;
    std::variant<ParquetInstants, ParquetDates, ParquetNumbers, ParquetTexts> values;

    std::size_t rows() const;
};

/// Writes the file atomically, in row groups of 65,536 rows. Throws Error naming the file if it cannot be
/// written, and Error (internal) if the columns have different lengths.
void write_parquet(const std::filesystem::path& path, std::span<const ParquetColumn> columns);

} // namespace rekindle::market
