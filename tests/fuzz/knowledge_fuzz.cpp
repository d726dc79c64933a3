#include "../../doctor/src/knowledge/entries.h"
#include "../../doctor/src/knowledge/safe_yaml.h"

#include <rekindle/foundation/error.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

/// The first byte selects the type of entry, the rest is the file.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace rekindle::doctor;
    constexpr std::array<std::string_view, 5> files{"signatures.yaml", "causes.yaml", "gpus.yaml",
                                                    "indexes.yaml", "remedies.yaml"};
    if (size == 0)
        return 0;
    const std::string_view file = files[data[0] % files.size()];
    try {
        Knowledge knowledge;
        Mistakes mistakes;
        read_entries(load_yaml({reinterpret_cast<const char*>(data + 1), size - 1}, file), file, knowledge,
                     mistakes);
        for (const Mistakes::Mistake& mistake : mistakes.sorted())
            if (mistake.origin.line < 1)
                __builtin_trap();
    } catch (const rekindle::Error&) {
    }
    return 0;
}
