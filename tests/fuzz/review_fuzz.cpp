#include <rekindle/doctor/review.h>

#include <algorithm>
#include <cstdint>
#include <string_view>

/// Uses the input both as a document and as a term.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace rekindle::doctor;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const std::size_t lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) + 1;
    for (const Mark& mark : review_document(text, embedded_knowledge()))
        if (mark.line < 1 || mark.line > lines || mark.text.empty() || mark.reason.empty())
            __builtin_trap();
    if (size < 256)
        (void)explain(text, embedded_knowledge());
    return 0;
}
