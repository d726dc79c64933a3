#pragma once
/// The rows of a table in memory as text.

#include "reading/table_source.h"

#include <rekindle/base/hash.h>
#include <rekindle/market/arrow_table.h>

#include <filesystem>
#include <memory>
#include <span>

namespace rekindle::market::arrow {

/// `used` lists the positions (from 0) of the columns whose values are needed; without it all are needed. The
/// others stay empty. `hasher` receives the column names and the rows as text, so equal tables have equal
/// hashes, however they are divided into batches. `path` names the table in notes.
std::unique_ptr<reading::TableRows> read_arrow(std::filesystem::path path, ArrowTable table, Hasher& hasher,
                                               std::span<const int> used);

} // namespace rekindle::market::arrow
