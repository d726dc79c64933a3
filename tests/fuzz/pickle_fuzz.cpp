#include <rekindle/foundation/error.h>
#include <rekindle/trainer/pickle.h>

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace rekindle::trainer;
    PickleLimits limits;
    limits.max_nodes = 100'000;
    try {
        const ParsedPickle pickle =
            parse_pickle({reinterpret_cast<const char*>(data), size}, "fuzz input", limits);
        // Whatever is written must be readable again.
        parse_pickle(write_pickle(pickle.value()), "written");
    } catch (const rekindle::Error& error) {
        if (error.where() == "written")
            __builtin_trap();
    }
    return 0;
}
