/// Parses lists of trading costs.

#include <rekindle/foundation/error.h>
#include <rekindle/market/trading_costs.h>

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    try {
        rekindle::market::TradingCostsTable::parse(text, "fuzz");
    } catch (const rekindle::Error&) { // expected for most inputs
    }
    return 0;
}
