#include "read_stored_bars.h"

/// The input is what follows the ten-byte gzip header.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::vector<std::uint8_t> packed{0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3};
    packed.insert(packed.end(), data, data + size);
    rekindle::test::read_stored_bars(packed);
    return 0;
}
