#pragma once
/// The rows of a table in memory as text.

#include "reading/table_source.h"

#include <rekindle/base/hash.h>
#include <rekindle/market/arrow_table.h>

#include <filesystem>
#include <memory>
#include <span>

namespace rekindle::market::arrow {

/// Reads a table as rows of text. `used` lists the columns to fill in, counted from 0, and the others stay
/// empty; if `used` is empty, all are filled in. `hasher` receives the column names and the rows as text, so
/// equal tables have equal hashes, however they are divided into batches. `path` names the table in notes.
std::unique_ptr<reading::TableRows> read_arrow(std::filesystem::path path, ArrowTable table, Hasher& hasher,
                                               std::span<const int> used);

} // namespace rekindle::market::arrow
