#pragma once
/// Words shared by the text and the JSON output of an inspection.

#include <rekindle/market/clock.h>
#include <rekindle/market/inspect.h>

#include <optional>
#include <string>

namespace rekindle::market {

const char* verdict_name(ClockSuggestion::Verdict verdict) noexcept;
std::string quoted_contract(const std::string& name);
/// "45.5 points", with the distance in time if it is an estimate.
std::string gap_text(const InspectReport& report, const Roll& roll);
/// "18:00 to 18:00 America/New_York".
std::string day_rule(const InspectReport& report);

/// Formats timestamps with their zone, by the report's clock.
class ReportTimes {
  public:
    explicit ReportTimes(const InspectReport& report);
    /// "2025-03-07 21:00:00 UTC (16:00:00 America/New_York)", "2025-03-07" for dates, "… by the label" for
    /// raw timestamps.
    std::string text(std::int64_t stamp) const;
    /// The same for an instant, even if the bars have only dates.
    std::string instant_text(std::int64_t instant) const;
    /// The zone of the report's minutes of the day.
    std::string local_zone() const;

  private:
    bool dates_only_;
    std::string zone_name_;
    std::optional<ZoneClock> zone_; ///< empty: raw labels
};

} // namespace rekindle::market
