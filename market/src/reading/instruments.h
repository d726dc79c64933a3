#pragma once
/// Whether the files that are read as one history hold one instrument, as far as files and prices tell.
/// Contracts that have names are compared when sessions are planned (sessions/instrument.h).

#include "reading/collector.h"
#include "reading/input_files.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace rekindle::market::reading {

/// What of a file's name may name its instrument: without dates, numbers, lengths of bars and words such as
/// "history"; "btcusdt" of "BTCUSDT-1m-2024-01.csv", "" of "2024.csv".
std::string instrument_words(const std::filesystem::path& path);

/// Throws Error (usage) naming two files when bars without a contract stand beside contracts with names, or
/// when files with different instrument_words() do not join: the one begins at a price that the other, at
/// that time, was far from. `starts` is the row at which each file begins, `rows` are in that order.
void require_one_instrument(const std::vector<InputFile>& files, std::span<const std::uint64_t> starts,
                            const BarColumns& rows, const std::vector<CollectedContract>& contracts);

/// Two rows of one time and contract. Throws Error (usage) when their files have different instrument_words()
/// and the closes are more than 1 % apart.
void require_same_prices(const InputFile& one, const InputFile& other, const BarColumns& rows,
                         std::uint64_t first, std::uint64_t second);

} // namespace rekindle::market::reading
