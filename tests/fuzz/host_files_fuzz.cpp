#include "../doctor/host/host_parsers.h"

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    rekindle::doctor::fixtures::parse_with_all({reinterpret_cast<const char*>(data), size});
    return 0;
}
