#pragma once
/// Databento's binary encoding, versions 1 to 3
/// (https://databento.com/docs/standards-and-conventions/databento-binary-encoding).

#include "reading/record_stream.h"
#include "reading/table_source.h"

#include <filesystem>
#include <memory>

namespace rekindle::market::reading {

/// Reads the bars of the schemas ohlcv-1s, ohlcv-1m, ohlcv-1h, ohlcv-1d and ohlcv-eod. A bar's contract is
/// the symbol that the file's metadata gives for the bar's instrument on its date, or the instrument's number
/// if the metadata gives none. Throws Error (usage) naming the file if it is damaged or has another schema.
std::unique_ptr<TableRows> read_dbn(std::filesystem::path path, RecordStream stream);

} // namespace rekindle::market::reading
