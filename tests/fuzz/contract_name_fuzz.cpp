#include <rekindle/market/clock.h>
#include <rekindle/market/rolls.h>

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto expiry = rekindle::market::contract_expiry({reinterpret_cast<const char*>(data), size});
    if (expiry && rekindle::market::weekday_of(*expiry) != 4)
        __builtin_trap(); // every expiry is a Friday
    return 0;
}
