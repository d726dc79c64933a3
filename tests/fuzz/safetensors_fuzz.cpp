#include <rekindle/foundation/error.h>
#include <rekindle/trainer/safetensors.h>

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    try {
        rekindle::trainer::parse_safetensors({reinterpret_cast<const char*>(data), size}, "fuzz input");
    } catch (const rekindle::Error&) {
    }
    return 0;
}
