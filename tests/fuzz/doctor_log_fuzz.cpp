#include "log/log_diagnoser.h"

#include <rekindle/doctor/knowledge.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace rekindle::doctor;
    static LogDiagnoser diagnoser(embedded_knowledge());
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const LogDiagnosis diagnosis = diagnoser.diagnose(log_from_text(text, "fuzz"), {});
    // Whatever the text is, the answer must say what to do next.
    if (diagnosis.findings.empty() && diagnosis.ask.empty())
        __builtin_trap();
    return 0;
}
