#include <rekindle/foundation/error.h>
#include <rekindle/trainer/torch_archive.h>

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace rekindle::trainer;
    TorchLimits limits;
    limits.pickle.max_nodes = 100'000;
    limits.elements_of_a_small_file = 1U << 16;
    try {
        state_dict_of(TorchArchive::parse({reinterpret_cast<const char*>(data), size}, "fuzz input", limits));
    } catch (const rekindle::Error&) {
    }
    return 0;
}
