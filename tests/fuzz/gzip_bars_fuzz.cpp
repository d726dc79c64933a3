#include "memory_file.h"

#include <rekindle/base/error.h>
#include <rekindle/market/read_bars.h>

#include <vector>

/// The input is what follows the ten-byte gzip header.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace rekindle::market;
    std::vector<std::uint8_t> packed{0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3};
    packed.insert(packed.end(), data, data + size);
    const rekindle::test::MemoryFile file(packed.data(), packed.size());
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
