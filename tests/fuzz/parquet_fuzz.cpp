#include "read_stored_bars.h"

/// The input is a Parquet file, but its first four bytes are replaced by "PAR1", with which every such file
/// begins.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::vector<std::uint8_t> stored{'P', 'A', 'R', '1'};
    if (size > stored.size())
        stored.insert(stored.end(), data + stored.size(), data + size);
    rekindle::test::read_stored_bars(stored);
    return 0;
}
