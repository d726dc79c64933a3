#include "memory_file.h"

#include <rekindle/base/error.h>
#include <rekindle/market/read_bars.h>

#include <vector>

/// The input is a Parquet file; its first four bytes are replaced by those that it must begin with.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace rekindle::market;
    std::vector<std::uint8_t> stored{'P', 'A', 'R', '1'};
    if (size > 4)
        stored.insert(stored.end(), data + 4, data + size);
    const rekindle::test::MemoryFile file(stored.data(), stored.size());
    ReadOptions options;
    options.paths = {file.path()};
    options.skip_bad_rows = true;
    rekindle::ThreadPool pool(1);
    rekindle::NullLogSink log;
    const rekindle::CancellationToken cancel;
    try {
        read_bars(options, pool, log, cancel);
    } catch (const rekindle::Error& error) {
        if (error.status() != rekindle::ExitStatus::usage)
            __builtin_trap();
    }
    return 0;
}
