#pragma once
/// Sierra Chart's intraday files
/// (https://www.sierrachart.com/index.php?page=doc/IntradayDataFileFormat.html).

#include "reading/record_stream.h"
#include "reading/table_source.h"

#include <filesystem>
#include <memory>

namespace rekindle::market::reading {

/// Reads bars as they are stored, and adds up records of single trades to bars of one minute. Throws Error
/// (usage) naming the file if it is damaged.
std::unique_ptr<TableRows> read_scid(std::filesystem::path path, RecordStream stream);

} // namespace rekindle::market::reading
