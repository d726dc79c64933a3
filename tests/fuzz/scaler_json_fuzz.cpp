#include <rekindle/foundation/error.h>
#include <rekindle/market/scaler.h>

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using rekindle::market::Scaler;
    const auto json = nlohmann::json::parse(data, data + size, nullptr, false);
    try {
        const auto scaler = json.get<Scaler>();
        // Whatever is written must read back unchanged.
        if (!(nlohmann::json(scaler).get<Scaler>() == scaler))
            __builtin_trap();
    } catch (const rekindle::Error&) {
    }
    return 0;
}
