#pragma once
/// Describes for the user what was read.

#include "reading/collector.h"
#include "reading/input_files.h"

#include <rekindle/market/read_bars.h>

namespace rekindle::market::reading {

/// Fills format, columns and files.
void describe_files(const std::vector<InputFile>& files, ReadReport& report);

/// Adds the notes. Precondition: the other fields are filled.
void add_notes(const ReadOptions& options, const std::vector<InputFile>& files, const BarCollector& collector,
               ReadReport& report);

} // namespace rekindle::market::reading
