#include "memory_file.h"

#include <rekindle/doctor/diagnosis.h>
#include <rekindle/foundation/error.h>

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace rekindle;
    const test::MemoryFile file(data, size);
    try {
        const doctor::Facts facts = doctor::read_posted_facts(file.path(), doctor::embedded_knowledge());
        if (facts.gpus.size() > 1000)
            __builtin_trap();
    } catch (const Error& error) {
        if (error.status() != ExitStatus::usage)
            __builtin_trap();
    }
    return 0;
}
