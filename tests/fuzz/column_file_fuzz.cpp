#include "memory_file.h"

#include <rekindle/foundation/error.h>
#include <rekindle/market/column_file.h>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const rekindle::test::MemoryFile file(data, size);
    try {
        const auto table = rekindle::market::open_column_file(file.path());
        for (const auto contract : table.columns().contract)
            if (contract >= table.metadata().contracts.size())
                __builtin_trap();
    } catch (const rekindle::Error& error) {
        if (error.status() != rekindle::ExitStatus::usage)
            __builtin_trap();
    }
    return 0;
}
