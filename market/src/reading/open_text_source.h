#pragma once
/// Opens a file of text, whether it is compressed or not.

#include "reading/text_source.h"

#include <rekindle/base/hash.h>

#include <filesystem>
#include <memory>
#include <span>

namespace rekindle::market::reading {

/// Opens a file of text, plain or in gzip, zstd or zip, or a table: Parquet, SCID, DBN (recognized by
/// content). `hasher` receives the bytes as stored, all of them once next() has returned the end.
/// `used_columns` are the positions of the columns whose values are needed, all if it is empty; files of text
/// ignore it. Throws Error (usage) naming the file if it cannot be read, is empty, is not text or ends inside
/// the compressed data.
std::unique_ptr<TextSource> open_text_source(const std::filesystem::path& path, Hasher& hasher,
                                             std::span<const int> used_columns = {});

} // namespace rekindle::market::reading
