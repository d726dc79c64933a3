#pragma once
/// The part that the targets for binary and compressed bar files share.

#include "memory_file.h"

#include <rekindle/foundation/error.h>
#include <rekindle/market/read_bars.h>

#include <vector>

namespace rekindle::test {

/// Reads the bytes as a file of bars, skipping bad rows. Aborts if that ends with an error that does not
/// blame the input.
inline void read_stored_bars(const std::vector<std::uint8_t>& stored) {
    const MemoryFile file(stored.data(), stored.size());
    market::ReadOptions options;
    options.paths = {file.path()};
    options.skip_bad_rows = true;
    ThreadPool pool(1);
    NullLogSink log;
    const CancellationToken cancel;
    try {
        market::read_bars(options, pool, log, cancel);
    } catch (const Error& error) {
        if (error.status() != ExitStatus::usage)
            __builtin_trap();
    }
}

} // namespace rekindle::test
