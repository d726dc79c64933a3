#pragma once
/// Days on which the exchange is closed or closes early.

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace rekindle::market {

/// Holidays and half days of one exchange, and the period for which the list is complete.
/// docs/formats/calendar.md describes the YAML format. Dates are days since 1970-01-01. Immutable,
/// thread-safe.
class HolidayCalendar {
  public:
    /// The calendar built into the program: US cash equities, which the regular hours of US index futures
    /// follow.
    static const HolidayCalendar& embedded();
    /// Throws Error (usage) with the file:line:column of the mistake.
    static HolidayCalendar load(const std::filesystem::path& path);
    /// Like load(); `where` names the text in errors.
    static HolidayCalendar parse(std::string_view yaml, const std::string& where);
    /// Has no holidays and covers every day: for markets that never close on weekdays.
    static HolidayCalendar none();
    /// "us-cash-equities", "eurex", or "none"; empty for any other name.
    static std::optional<HolidayCalendar> named(std::string_view name);

    bool is_holiday(std::int32_t date) const { return holidays_.contains(date); }
    /// When regular hours end early: minutes since midnight in zone().
    std::optional<int> half_day_close(std::int32_t date) const;
    /// Neither a weekend nor a holiday.
    bool is_business_day(std::int32_t date) const;
    /// Whether the list is complete for this day.
    bool covers(std::int32_t date) const noexcept { return date >= valid_from_ && date <= valid_to_; }

    const std::string& name() const noexcept { return name_; }
    /// IANA name of the zone of the closing times; "" means the zone of the session rules.
    const std::string& zone() const noexcept { return zone_; }
    const std::string& source() const noexcept { return source_; }
    std::int32_t valid_from() const noexcept { return valid_from_; }
    std::int32_t valid_to() const noexcept { return valid_to_; }
    /// The date on which the list was last compared with its source.
    std::int32_t checked() const noexcept { return checked_; }

  private:
    std::string name_;
    std::string zone_;
    std::string source_;
    std::int32_t valid_from_ = 0;
    std::int32_t valid_to_ = 0;
    std::int32_t checked_ = 0;
    std::set<std::int32_t> holidays_;
    std::map<std::int32_t, int> half_days_;
};

} // namespace rekindle::market
