#include <rekindle/market/clock.h>
#include <rekindle/market/contract_identity.h>
#include <rekindle/market/rolls.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view name(reinterpret_cast<const char*>(data), size);
    const auto expiry = rekindle::market::contract_expiry(name);
    if (expiry && rekindle::market::weekday_of(*expiry) != 4)
        __builtin_trap(); // every expiry is a Friday
    const auto identity = rekindle::market::identify_contract(name);
    if (identity.has_month && (identity.instrument.empty() || !identity.number.empty()))
        __builtin_trap(); // a contract has an instrument, and its number is the month's
    return 0;
}
