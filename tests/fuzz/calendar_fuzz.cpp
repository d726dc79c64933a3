#include <rekindle/foundation/error.h>
#include <rekindle/market/calendar.h>

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using rekindle::market::HolidayCalendar;
    try {
        const auto calendar =
            HolidayCalendar::parse({reinterpret_cast<const char*>(data), size}, "fuzz input");
        for (std::int32_t date = calendar.valid_from(); date < calendar.valid_from() + 10; ++date)
            if (calendar.is_holiday(date) && calendar.half_day_close(date))
                __builtin_trap(); // a day cannot be both
    } catch (const rekindle::Error&) {
    }
    return 0;
}
