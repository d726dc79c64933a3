#include <rekindle/foundation/error.h>
#include <rekindle/market/instruments.h>

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using rekindle::market::InstrumentTable;
    try {
        const auto table = InstrumentTable::parse({reinterpret_cast<const char*>(data), size}, "fuzz input");
        for (const auto& instrument : table.all()) {
            const auto rules = instrument.session_rules();
            const bool of_a_day = rules.day_start >= 0 && rules.day_start < 24 * 60;
            if (!of_a_day || rules.rth_open >= rules.rth_close || instrument.tick < 0 ||
                table.find(instrument.symbol) == nullptr)
                __builtin_trap();
            instrument.calendar();
            table.of_contracts({instrument.symbol, instrument.name});
            table.of_files({instrument.symbol + ".csv"});
        }
    } catch (const rekindle::Error&) {
    }
    return 0;
}
