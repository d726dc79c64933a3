#include "memory_file.h"

#include <rekindle/base/error.h>
#include <rekindle/market/read_bars.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

/// The first byte selects the format, whose first bytes replace those of the rest.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace rekindle::market;
    using namespace std::string_view_literals;
    constexpr std::array beginnings{"SCID\x38\0\0\0\x28\0\0\0"sv, "DBN\x01"sv, "DBN\x03"sv, "PK\x03\x04"sv,
                                    "\x28\xB5\x2F\xFD"sv};
    if (size == 0)
        return 0;
    const std::string_view beginning = beginnings[data[0] % beginnings.size()];
    std::vector<std::uint8_t> stored(data + 1, data + size);
    stored.resize(std::max(stored.size(), beginning.size()));
    std::copy(beginning.begin(), beginning.end(), stored.begin());
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
