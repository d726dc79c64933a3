/// Reads files of predictions and positions.

#include <rekindle/foundation/error.h>
#include <rekindle/research/signals.h>

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    try {
        rekindle::research::select_predictions(rekindle::research::parse_predictions(text, "fuzz"), {});
    } catch (const rekindle::Error&) { // expected for most inputs
    }
    try {
        rekindle::research::parse_positions(text, "fuzz");
    } catch (const rekindle::Error&) { // expected for most inputs
    }
    return 0;
}
