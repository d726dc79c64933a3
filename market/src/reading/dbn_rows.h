#pragma once
/// Databento's binary encoding, versions 1 to 3
/// (https://databento.com/docs/standards-and-conventions/databento-binary-encoding).

#include "reading/record_stream.h"
#include "reading/table_source.h"

#include <filesystem>
#include <memory>

namespace rekindle::market::reading {

/// Bars of the schemas ohlcv-1s, -1m, -1h, -1d and -eod. The contract of a bar is the symbol that the
/// metadata maps to its instrument on its date; without a mapping, the instrument's number. Throws Error
/// (usage) naming the file, also for other schemas.
std::unique_ptr<TableRows> read_dbn(std::filesystem::path path, RecordStream stream);

} // namespace rekindle::market::reading
