#include "reading/day_stamps.h"

#include "reading/time_conversion.h"

#include <rekindle/market/usual_hours.h>

#include <algorithm>
#include <array>
#include <span>
#include <vector>

namespace rekindle::market::reading {

namespace {

constexpr std::size_t fewest_distances = 2;
constexpr std::size_t fewest_rows_for_weekdays = 10; ///< two weeks
constexpr std::int64_t noon = day_seconds / 2;
constexpr int minutes_per_day = 24 * 60;
constexpr std::int64_t evening = std::int64_t{17} * 3600; ///< the earliest start of a session the day before

/// How many bars have each weekday (0 is Monday).
class Weekdays {
  public:
    explicit Weekdays(std::span<const std::int32_t> dates) : all_(dates.size()) {
        for (const std::int32_t date : dates)
            ++count_[static_cast<std::size_t>(weekday_of(date))];
    }
    /// Timestamps fall on Sunday to Thursday: the evening before, when the trading day begins.
    bool begin_the_evening_before() const { return enough() && is_common(6) && is_rare(4) && is_rare(5); }
    /// Timestamps fall on Tuesday to Saturday: after midnight, when the trading day ends.
    bool end_the_day_after() const { return enough() && is_common(5) && is_rare(6) && is_rare(0); }
    /// Monday to Friday.
    bool are_business_days() const { return enough() && is_rare(5) && is_rare(6) && is_common(4); }

  private:
    bool enough() const { return all_ >= fewest_rows_for_weekdays; }
    bool is_common(std::size_t weekday) const { return count_[weekday] * 10 >= all_; }
    bool is_rare(std::size_t weekday) const { return count_[weekday] * 20 <= all_; }

    std::array<std::size_t, 7> count_{};
    std::size_t all_;
};

/// Some exchanges trade from Sunday to Thursday (Riyadh, Tel Aviv, Cairo, Dhaka).
bool may_trade_on_sundays(const ZoneClock& zone) {
    const std::int64_t offset = zone.offset_at(std::int64_t{make_date(2024, 1, 15)} * day_seconds);
    return offset >= 2 * 3600 && offset <= 6 * 3600;
}

std::int64_t second_of_day(std::int64_t local) {
    return local - std::int64_t{date_of(local)} * day_seconds;
}

std::string time_of(std::int64_t second) {
    return format_minute(static_cast<int>(second / 60));
}

} // namespace

std::optional<DayStamps> DayStamps::recognize(const RowParser::Times& times, const StampFormat& format,
                                              const ReadOptions& options) {
    DayStamps days;
    const bool at_midnight =
        format.time != TimeFormat::none && times.rows > 1 && times.at_midnight == times.rows;
    if (format.time == TimeFormat::none) {
        days.dates_as_written_ = true;
        return days;
    }
    const std::uint64_t distances = times.day_distances + times.short_distances;
    if (!at_midnight && (distances < fewest_distances || times.short_distances * 20 > distances))
        return std::nullopt;
    if (!at_midnight) {
        days.judge_times(times, options);
        return days;
    }
    days.dates_as_written_ = true;
    days.utc_days_ = format.offset &&
                     std::ranges::all_of(times.first, [](const Stamp& stamp) { return stamp.offset == 0; });
    days.note_ = "Every timestamp is midnight (00:00:00), so the bars are treated as daily bars.";
    std::vector<std::int32_t> dates;
    for (const Stamp& stamp : times.first)
        dates.push_back(date_of(stamp.label));
    if (Weekdays(dates).end_the_day_after()) {
        days.days_later_ = -1;
        days.end_minute_ = minutes_per_day;
        days.note_ = "Every timestamp is midnight, from Tuesday to Saturday, which is the end of a trading "
                     "day: each bar belongs to the date before.";
    }
    return days;
}

int DayStamps::end_of_day(std::int64_t usual, std::int64_t latest, StampAt stamp) const {
    const int minute = static_cast<int>((latest + 59) / 60);
    const bool us_market = zone_ && zone_->name() == SessionRules{}.zone;
    if (days_later_ < 0)
        return minutes_per_day + minute;
    if (usual == 0)
        return -1;
    if (days_later_ > 0)
        return minute;
    if (us_market)
        return usual >= noon ? minute : -1; // in the morning, it is the open of the regular hours
    // Elsewhere, open and close are not known, so assume that the bar lasts until the same time on the next
    // day.
    return usual < noon || stamp == StampAt::bar_start ? minutes_per_day + minute : minute;
}

void DayStamps::judge_times(const RowParser::Times& times, const ReadOptions& options) {
    const bool raw = options.clock == Clock::raw;
    if (!raw)
        zone_ = ZoneClock::load(zone_of_dates(options.exchange_zone));
    std::optional<LabelConverter> convert;
    if (options.clock == Clock::exchange && !times.has_offset)
        convert.emplace(options.zone);
    std::vector<std::int32_t> dates;
    std::vector<std::int64_t> seconds;
    for (const Stamp& stamp : times.first) {
        const std::int64_t label = stamp.label - (raw ? 0 : stamp.offset);
        const std::int64_t time =
            convert ? convert->to_utc(label, label - 2 * day_seconds).value_or(label) : label;
        const std::int64_t local = zone_ ? zone_->to_local(time) : time;
        dates.push_back(date_of(local));
        seconds.push_back(second_of_day(local));
    }
    std::vector<std::int64_t> in_order = seconds;
    std::ranges::nth_element(in_order, in_order.begin() + static_cast<std::ptrdiff_t>(in_order.size() / 2));
    const std::int64_t usual = in_order[in_order.size() / 2];
    const Weekdays weekdays(dates);
    const std::string zone = zone_ ? zone_->name() : "the timestamps' clock";
    note_ =
        "Each bar is a day or more, so it belongs to a date, with either --stamp: timestamps are usually " +
        time_of(usual) + " " + zone + ".";
    const bool weekly = times.shortest_distance > 2 * day_seconds;
    const auto sundays = static_cast<std::size_t>(
        std::ranges::count_if(dates, [](std::int32_t date) { return weekday_of(date) == 6; }));
    const bool evenings_before = usual != 0 && (weekly ? usual >= noon && sundays * 2 > dates.size()
                                                       : weekdays.begin_the_evening_before() &&
                                                             !(zone_ && may_trade_on_sundays(*zone_)));
    const bool last_minute = usual % 3600 >= 3540; // 23:59 or 23:59:59 cannot be a beginning
    const bool undecided = !last_minute && !weekdays.are_business_days() && !weekdays.end_the_day_after();
    if (evenings_before || (undecided && options.stamps().at == StampAt::bar_start && usual >= evening)) {
        days_later_ = 1;
        note_ += " They are on the evening before, so each bar belongs to the next date.";
    } else if (!weekly && weekdays.end_the_day_after()) {
        days_later_ = -1;
        note_ += " They are from Tuesday to Saturday, so each bar belongs to the date before.";
    }
    end_minute_ = end_of_day(usual, *std::ranges::max_element(seconds), options.stamps().at);
}

} // namespace rekindle::market::reading
