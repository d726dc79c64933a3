#pragma once
/// Writes a value of a Parquet column as a field of a CSV file.

#include "reading/parquet/metadata.h"
#include "reading/parquet/value_decoder.h"

#include <cstddef>

namespace rekindle::market::parquet {

/// Writes decimals exactly, floats as the shortest text that gives the same float, dates and times in ISO
/// 8601
/// ("2024-03-15 09:31:00", with Z if it is an instant), and texts in quotes where necessary. Returns the end
/// of the text.
char* write_cell(const Column& column, const Value& value, char* out);

/// The most characters that write_cell writes.
std::size_t cell_room(const Column& column, const Value& value) noexcept;

} // namespace rekindle::market::parquet
