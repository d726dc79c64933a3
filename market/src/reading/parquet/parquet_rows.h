#pragma once
/// The rows of a Parquet file as text.

#include "reading/table_source.h"

#include <filesystem>
#include <memory>
#include <span>
#include <string_view>

namespace rekindle::market::parquet {

bool is_parquet(std::string_view bytes) noexcept;

/// The columns of the schema's top level, in order. `used` are the positions (from 0) of the columns whose
/// values are needed; the others are empty. If `used` is empty, all columns are read, and those that cannot
/// be read are left empty. Throws Error (usage) naming the file.
std::unique_ptr<reading::TableRows>
read_parquet(std::filesystem::path path, std::shared_ptr<const MappedFile> file, std::span<const int> used);

} // namespace rekindle::market::parquet
