#include "inspect/words.h"

#include <rekindle/base/text.h>

namespace rekindle::market {

const char* verdict_name(ClockSuggestion::Verdict verdict) noexcept {
    switch (verdict) {
    case ClockSuggestion::Verdict::agrees:
        return "agrees";
    case ClockSuggestion::Verdict::contradicts:
        return "contradicts";
    case ClockSuggestion::Verdict::unclear:
        break;
    }
    return "unclear";
}

std::string quoted_contract(const std::string& name) {
    return "\"" + name + "\"";
}

std::string gap_text(const InspectReport& report, const Roll& roll) {
    const std::string points =
        counted(report.metadata.tick.to_points(static_cast<double>(roll.gap_ticks)), "point");
    if (roll.gap_distance == 0)
        return points;
    if (roll.gap_distance < 0)
        return "unknown (nothing is compared across it)";
    return points + " (estimated, prices " + format_duration(static_cast<double>(roll.gap_distance)) +
           " apart)";
}

std::string day_rule(const InspectReport& report) {
    if (report.rules.raw_labels)
        return "dates of the labels";
    const std::string start = format_minute(report.rules.day_start);
    return start + " to " + start + " " + report.rules.zone;
}

ReportTimes::ReportTimes(const InspectReport& report)
    : dates_only_(report.metadata.dates_only), zone_name_(report.rules.zone) {
    if (!report.rules.raw_labels)
        zone_ = ZoneClock::load(zone_name_);
}

std::string ReportTimes::text(std::int64_t stamp) const {
    if (dates_only_)
        return format_date(date_of(stamp));
    return instant_text(stamp);
}

std::string ReportTimes::instant_text(std::int64_t instant) const {
    if (!zone_)
        return format_civil(instant) + " by the label";
    return format_civil(instant) + " UTC (" + format_civil(zone_->to_local(instant)).substr(11) + " " +
           zone_name_ + ")";
}

std::string ReportTimes::local_zone() const {
    return zone_ ? zone_name_ : "by the label";
}

} // namespace rekindle::market
