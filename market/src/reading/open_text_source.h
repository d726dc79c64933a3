#pragma once
/// Opens a file of bars in any supported format as text.

#include "reading/text_source.h"

#include <rekindle/base/hash.h>

#include <filesystem>
#include <memory>
#include <span>

namespace rekindle::market::reading {

/// Opens text, plain or compressed with gzip, zstd or zip, or a Parquet, SCID or DBN file, which it
/// recognizes by its first bytes. `hasher` receives the bytes as stored: all of them once next() has returned
/// the end. `used_columns` holds the positions of the columns whose values are needed, or nothing if all are;
/// only Parquet files use it, to skip the other columns. Throws Error (usage) naming the file if it cannot be
/// read, is empty, has another format, or ends inside the compressed data.
std::unique_ptr<TextSource> open_text_source(const std::filesystem::path& path, Hasher& hasher,
                                             std::span<const int> used_columns = {});

} // namespace rekindle::market::reading
