#pragma once
/// Writes a value of a Parquet column as a field of a CSV file.

#include "reading/parquet/metadata.h"
#include "reading/parquet/value_decoder.h"

#include <string>

namespace rekindle::market::parquet {

/// Appends decimals exactly, floats as the shortest text that gives the same float, dates and times in ISO
/// 8601
/// ("2024-03-15 09:31:00", with Z if it is an instant), and texts in quotes where necessary.
void append_cell(const Column& column, const Value& value, std::string& text);

} // namespace rekindle::market::parquet
