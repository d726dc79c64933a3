#include "../../doctor/src/knowledge/packed.h"

#include <rekindle/foundation/error.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace {

using rekindle::doctor::Knowledge;

/// One entry of each type, so that mutations reach every member.
std::string small_knowledge() {
    const Knowledge& all = rekindle::doctor::embedded_knowledge();
    Knowledge few;
    few.gfx_targets.push_back(all.gfx_targets.front());
    few.gpus.push_back(all.gpus.front());
    few.indexes.push_back(all.indexes.back());
    few.torch_releases.push_back(all.torch_releases.back());
    few.causes.push_back(all.causes.front());
    few.signatures.push_back(all.signatures.front());
    few.variables.push_back(all.variables.front());
    few.variable_families.push_back(all.variable_families.front());
    few.remedies.push_back(all.remedies.front());
    few.alternatives.push_back(all.alternatives.front());
    few.images.push_back(all.images.front());
    few.distributions.push_back(all.distributions.front());
    few.claims.push_back(all.claims.front());
    return rekindle::doctor::pack(few);
}

/// Each pair of input bytes is a distance to skip and a byte to write there.
std::string damaged_knowledge(const std::uint8_t* data, std::size_t size) {
    static const std::string whole = small_knowledge();
    std::string bytes = whole;
    std::size_t at = 0;
    for (std::size_t i = 0; i + 1 < size; i += 2) {
        at = (at + data[i]) % bytes.size();
        bytes[at] = static_cast<char>(data[i + 1]);
    }
    return bytes;
}

} // namespace

/// The first byte decides whether the rest is a whole file or changes to a valid one.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace rekindle::doctor;
    if (size == 0)
        return 0;
    const std::string bytes = data[0] % 2 == 0
                                  ? std::string(reinterpret_cast<const char*>(data + 1), size - 1)
                                  : damaged_knowledge(data + 1, size - 1);
    try {
        const std::string packed = pack(unpack(bytes));
        if (pack(unpack(packed)) != packed)
            __builtin_trap();
    } catch (const rekindle::Error&) {
    }
    return 0;
}
