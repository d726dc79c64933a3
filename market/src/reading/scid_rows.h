#pragma once
/// Sierra Chart's intraday files
/// (https://www.sierrachart.com/index.php?page=doc/IntradayDataFileFormat.html).

#include "reading/record_stream.h"
#include "reading/table_source.h"

#include <filesystem>
#include <memory>

namespace rekindle::market::reading {

/// Bars as stored. Records of single trades become bars of one minute. Throws Error (usage) naming the file.
std::unique_ptr<TableRows> read_scid(std::filesystem::path path, RecordStream stream);

} // namespace rekindle::market::reading
