#include "memory_file.h"

#include <rekindle/foundation/error.h>
#include <rekindle/market/read_bars.h>

#include <string_view>

/// A VIX file together with one valid bar.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace rekindle::market;
    constexpr std::string_view bar = "time,open,high,low,close,volume\n2024-07-03 12:00:00,1,1,1,1,1\n";
    const rekindle::test::MemoryFile bars(reinterpret_cast<const std::uint8_t*>(bar.data()), bar.size());
    const rekindle::test::MemoryFile vix(data, size);
    ReadOptions options;
    options.paths = {bars.path()};
    options.vix = vix.path();
    rekindle::ThreadPool pool(1);
    rekindle::NullLogSink log;
    const rekindle::CancellationToken cancel;
    try {
        const ReadResult result = read_bars(options, pool, log, cancel);
        if (result.bars.columns().vix.size() != 1)
            __builtin_trap();
    } catch (const rekindle::Error& error) {
        if (error.status() != rekindle::ExitStatus::usage)
            __builtin_trap();
    }
    return 0;
}
