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

/// Throws Error (usage) naming two files if bars without a contract are mixed with named contracts, or if
/// files without contracts are not parts of one history: their instrument_words() differ; or the words do not
/// tell (no file has any) or one begins within a month of the other's end, and they do not line up: one
/// begins at a price far from that of the other at that time. `starts` is the row at which each file begins;
/// `rows` are in that order. With `chain`, files without contracts are one history because the user says so.
void require_one_instrument(const std::vector<InputFile>& files, std::span<const std::uint64_t> starts,
                            const BarColumns& rows, const std::vector<CollectedContract>& contracts,
                            bool chain);

/// Checks two rows with the same time and contract. Throws Error (usage) if they are of two files whose
/// instrument_words() differ, or that have none, and the closes are more than 1 % apart.
void require_same_prices(const InputFile& one, const InputFile& other, const BarColumns& rows,
                         std::uint64_t first, std::uint64_t second);

} // namespace rekindle::market::reading
