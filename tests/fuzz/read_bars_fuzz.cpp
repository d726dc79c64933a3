#include "memory_file.h"

#include <rekindle/foundation/error.h>
#include <rekindle/market/find_instruments.h>
#include <rekindle/market/read_bars.h>

#include <algorithm>

namespace {

using namespace rekindle::market;

void check(const ReadResult& result) {
    const BarColumns bars = result.bars.columns();
    for (std::size_t i = 0; i < bars.size(); ++i)
        if (bars.low[i] > std::min(bars.open[i], bars.close[i]) ||
            bars.high[i] < std::max(bars.open[i], bars.close[i]) || bars.low[i] <= 0 || bars.volume[i] < 0 ||
            (i > 0 && bars.time[i] < bars.time[i - 1]))
            __builtin_trap();
}

} // namespace

/// The first byte selects the options, the rest is the file.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0)
        return 0;
    const rekindle::test::MemoryFile file(data + 1, size - 1);
    ReadOptions options;
    options.paths = {file.path()};
    options.skip_bad_rows = data[0] & 1;
    options.clock = data[0] & 2 ? Clock::exchange : Clock::utc;
    if (data[0] & 4)
        options.tick = 0.25;
    rekindle::ThreadPool pool(1);
    rekindle::NullLogSink log;
    const rekindle::CancellationToken cancel;
    try {
        if ((data[0] & 8) == 0) {
            check(read_bars(options, pool, log, cancel));
            return 0;
        }
        constexpr std::size_t most = 8; // instruments that are read
        auto found =
            find_instruments(options, data[0] & 16 ? InstrumentsBy::root : InstrumentsBy::name, pool, cancel);
        found.resize(std::min(most, found.size()));
        for (const InstrumentFiles& instrument : found)
            check(read_bars(instrument.options(options), pool, log, cancel));
    } catch (const rekindle::Error& error) {
        if (error.status() != rekindle::ExitStatus::usage)
            __builtin_trap();
    }
    return 0;
}
