#include <rekindle/doctor/code_objects.h>

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace rekindle::doctor;
    const auto library =
        read_code_objects(std::as_bytes(std::span(data, size)), "fuzz input", {.verified_bytes = 1 << 20});
    if (library)
        for (const auto& target : library->targets)
            if (target.empty() || !library->bytes.contains(target))
                __builtin_trap();
    return 0;
}
