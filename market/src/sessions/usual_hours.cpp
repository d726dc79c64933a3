#include <rekindle/market/clock.h>
#include <rekindle/market/usual_hours.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace rekindle::market {
namespace {

constexpr std::array<std::string_view, 6> us_zones_without_daylight_saving{
    "America/Phoenix", "US/Arizona", "Pacific/Honolulu", "US/Hawaii", "America/Puerto_Rico", "MST"};

bool is_us_without_daylight_saving(const std::string& zone) {
    return std::ranges::find(us_zones_without_daylight_saving, zone) !=
           us_zones_without_daylight_saving.end();
}

} // namespace

SessionRules usual_session_rules(const std::string& zone) {
    SessionRules rules;
    if (const auto ahead = constant_difference(zone, rules.zone)) {
        rules.zone = zone;
        rules.day_start += *ahead;
        rules.rth_open += *ahead;
        rules.rth_close += *ahead;
    } else if (!is_us_without_daylight_saving(zone)) {
        rules.zone = zone;
        rules.rth_known = false;
        rules.day_start_assumed = true;
    }
    return rules;
}

bool same_hours(const SessionRules& a, const SessionRules& b) {
    const auto ahead = constant_difference(a.zone, b.zone);
    return ahead && a.day_start - *ahead == b.day_start && a.rth_known == b.rth_known &&
           (!a.rth_known || (a.rth_open - *ahead == b.rth_open && a.rth_close - *ahead == b.rth_close));
}

std::string zone_of_dates(const std::string& zone) {
    const bool same_market =
        constant_difference(zone, SessionRules{}.zone) || is_us_without_daylight_saving(zone);
    return same_market ? SessionRules{}.zone : zone;
}

} // namespace rekindle::market
