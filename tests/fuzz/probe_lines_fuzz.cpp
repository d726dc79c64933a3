#include "../../doctor/src/probes/probe_lines.h"

#include <rekindle/foundation/error.h>

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace rekindle::doctor;
    try {
        const ProbeLine line = parse_probe_line({reinterpret_cast<const char*>(data), size});
        // Whatever is written must read back unchanged.
        if (line.result && parse_probe_line(line_of_result(*line.result)).result != line.result)
            __builtin_trap();
    } catch (const rekindle::Error&) {
    }
    return 0;
}
