#pragma once
/// Checks that files read as one history hold one instrument, judging by file names and prices. Contracts
/// with names are compared later, when sessions are planned (sessions/instrument.h).

#include "reading/collector.h"
#include "reading/input_files.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace rekindle::market::reading {

/// The part of a file name that may name the instrument: without dates, numbers, bar lengths and words such
/// as "history". "btcusdt" for "BTCUSDT-1m-2024-01.csv", "" for "2024.csv".
std::string instrument_words(const std::filesystem::path& path);

/// Throws Error (usage) naming two files if bars without a contract are mixed with named contracts, or if
/// files with different instrument_words() do not line up: one begins at a price far from that of the other
/// at that time. `starts` is the row at which each file begins; `rows` are in that order.
void require_one_instrument(const std::vector<InputFile>& files, std::span<const std::uint64_t> starts,
                            const BarColumns& rows, const std::vector<CollectedContract>& contracts);

/// Checks two rows with the same time and contract. Throws Error (usage) if their files have different
/// instrument_words() and the closes are more than 1 % apart.
void require_same_prices(const InputFile& one, const InputFile& other, const BarColumns& rows,
                         std::uint64_t first, std::uint64_t second);

} // namespace rekindle::market::reading
