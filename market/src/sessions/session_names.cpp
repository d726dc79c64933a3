#include "sessions/session_names.h"

namespace rekindle::market {

const char* hours_name(SessionHours hours) noexcept {
    switch (hours) {
    case SessionHours::rth:
        return "rth";
    case SessionHours::eth:
        return "eth";
    case SessionHours::all:
        break;
    }
    return "all";
}

const char* length_name(SessionLength length) noexcept {
    return length == SessionLength::week ? "week" : "day";
}

const char* clock_name(Clock clock) noexcept {
    switch (clock) {
    case Clock::exchange:
        return "exchange";
    case Clock::raw:
        return "raw";
    case Clock::utc:
        break;
    }
    return "utc";
}

} // namespace rekindle::market
