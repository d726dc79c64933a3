#include "sessions/cut_sessions.h"

#include "sessions/trading_hours.h"

#include <rekindle/foundation/error.h>
#include <rekindle/market/clock.h>

#include <algorithm>

namespace rekindle::market {
namespace {

using Times = std::span<const std::int64_t>;

/// Index of the first bar from `from` on that ends after `boundary`. Uses a galloping search, because that
/// bar is usually near.
std::size_t first_after(Times time, std::size_t from, std::int64_t boundary) {
    std::size_t step = 64, low = from, high = from;
    while (high < time.size() && time[high] <= boundary) {
        low = high + 1;
        high += step;
        step *= 2;
    }
    const auto begin = time.begin() + static_cast<std::ptrdiff_t>(low);
    const auto end = time.begin() + static_cast<std::ptrdiff_t>(std::min(high, time.size()));
    return static_cast<std::size_t>(std::upper_bound(begin, end, boundary) - time.begin());
}

Session make_session(std::int32_t date, std::size_t first, std::size_t end) {
    Session session;
    session.date = date;
    session.first = first;
    session.count = end - first;
    return session;
}

/// Whether the sessions of the last eight days include this weekday, so that the market trades on it.
bool traded_on(const std::vector<Session>& days, int weekday) {
    for (std::size_t i = days.size(); i-- > 0 && days[i].date > days.back().date - 8;)
        if (weekday_of(days[i].date) == weekday)
            return true;
    return false;
}

/// Whether the market trades on weekends, according to the rule or to these sessions.
bool trades_at_weekends(TradingDays rule, const std::vector<Session>& days) {
    return rule == TradingDays::all ||
           (rule == TradingDays::automatic && (traded_on(days, 5) || traded_on(days, 6)));
}

/// Whether the bars of a Saturday or Sunday form a trading day, as in markets that never close or whose week
/// begins on Sunday, and are not just test and stray bars: there must be at least half as many as usual on
/// the preceding weekdays (at the start of a table, half of `full_day`). Later bars are not used.
bool is_trading_day(TradingDays rule, std::size_t bars, bool unfinished, const std::vector<Session>& days,
                    std::size_t full_day) {
    if (rule != TradingDays::automatic)
        return rule == TradingDays::all;
    std::vector<std::size_t> before;
    for (std::size_t i = days.size(); i-- > 0 && before.size() < 5;)
        if (!is_weekend(days[i].date))
            before.push_back(days[i].count);
    std::size_t usual = full_day;
    if (!before.empty()) {
        const auto middle = before.begin() + static_cast<std::ptrdiff_t>(before.size() / 2);
        std::nth_element(before.begin(), middle, before.end());
        usual = *middle;
    }
    return bars * 2 >= usual || (unfinished && !days.empty() && trades_at_weekends(rule, days));
}

/// Sessions by the date of the label only: for data with dates only, and for raw labels. The original system
/// takes regular hours from Monday to Friday.
DaySessions cut_label_dates(const BarTable& bars, const SessionRules& rules, bool like_original) {
    const Times time = bars.columns().time;
    const bool all = rules.hours == SessionHours::all;
    const auto full_day = static_cast<std::size_t>(
        std::int64_t{std::max(0, rules.rth_close - rules.rth_open)} * 60 / bars.metadata().bar_seconds);
    DaySessions result;
    for (std::size_t i = 0; i < time.size();) {
        const std::int32_t date = date_of(time[i]);
        const std::int64_t midnight = std::int64_t{date} * day_seconds;
        const std::size_t end = first_after(time, i, midnight + day_seconds - 1);
        std::size_t first = i, last = end;
        if (!all) {
            first = first_after(time, i, midnight + std::int64_t{rules.rth_open} * 60 - 1);
            last = first_after(time, first, midnight + std::int64_t{rules.rth_close} * 60 - 1);
        }
        const bool weekend = is_weekend(date) && (!all || rules.days == TradingDays::weekdays);
        if (weekend && (like_original || !is_trading_day(rules.days, last - first, end == time.size(),
                                                         result.days, full_day))) {
            result.weekend_bars += last - first;
        } else if (last > first) {
            result.weekend_days += weekend;
            result.days.push_back(make_session(date, first, last));
        }
        i = end;
    }
    return result;
}

/// Whether the last trading day of the table is over: its last bar is not earlier than the usual last bar of
/// the preceding days (the daily halt), or than the early close.
bool trading_day_is_over(const BarTable& bars, const TradingHours& hours, TradingDays rule,
                         const std::vector<Session>& days) {
    const Times time = bars.columns().time;
    const std::int64_t next_bar = time.back() + bars.metadata().bar_seconds;
    const Session& last = days.back();
    if (const auto early = hours.early_close(last.date); early && !trades_at_weekends(rule, days))
        return next_bar > *early;
    std::vector<std::int64_t> before_end;
    for (std::size_t i = days.size() - 1; i-- > 0 && before_end.size() < 20;)
        if (!days[i].half_day)
            before_end.push_back(hours.day(days[i].date).end - time[days[i].first + days[i].count - 1]);
    std::int64_t usual = 0;
    if (!before_end.empty()) {
        const auto middle = before_end.begin() + static_cast<std::ptrdiff_t>(before_end.size() / 2);
        std::nth_element(before_end.begin(), middle, before_end.end());
        usual = *middle;
    }
    return next_bar > hours.day(last.date).end - usual;
}

DaySessions cut_trading_days(const BarTable& bars, const TradingHours& hours, TradingDays rule,
                             const HolidayCalendar& calendar) {
    const Times time = bars.columns().time;
    DaySessions result;
    std::size_t end = 0;
    for (std::size_t i = 0; i < time.size(); i = end) {
        const std::int32_t date = hours.trading_day(time[i]);
        end = first_after(time, i, hours.day(date).end);
        if (is_weekend(date)) {
            const auto full_day = static_cast<std::size_t>(day_seconds / bars.metadata().bar_seconds);
            if (!is_trading_day(rule, end - i, end == time.size(), result.days, full_day)) {
                result.weekend_bars += end - i;
                continue;
            }
            ++result.weekend_days;
        }
        Session session = make_session(date, i, end);
        session.half_day = calendar.is_holiday(date) || calendar.half_day_close(date).has_value();
        result.days.push_back(session);
    }
    if (!result.days.empty() && result.days.back().first + result.days.back().count == time.size())
        result.days.back().complete = trading_day_is_over(bars, hours, rule, result.days);
    return result;
}

DaySessions cut_regular_hours(const BarTable& bars, const TradingHours& hours, TradingDays rule,
                              const HolidayCalendar& calendar) {
    const Times time = bars.columns().time;
    DaySessions result;
    for (std::size_t i = 0; i < time.size();) {
        const std::int32_t date = hours.local_date(time[i]);
        const StampWindow window = hours.regular(date);
        const std::size_t first = first_after(time, i, window.begin);
        const std::size_t end = first_after(time, first, window.end);
        const auto full_day =
            static_cast<std::size_t>((window.end - window.begin) / bars.metadata().bar_seconds);
        const bool over = end < time.size() || time.back() + bars.metadata().bar_seconds > window.end;
        const bool strays = is_weekend(date) && (end == first || !is_trading_day(rule, end - first, !over,
                                                                                 result.days, full_day));
        if (strays) {
            result.weekend_bars += end - first;
        } else if (calendar.is_holiday(date)) {
            result.holiday_bars += end - first;
        } else if (end > first) {
            Session session = make_session(date, first, end);
            session.half_day = calendar.half_day_close(date).has_value();
            session.complete = over;
            result.weekend_days += is_weekend(date);
            result.days.push_back(session);
        }
        i = first_after(time, end, hours.regular(date + 1).begin);
    }
    return result;
}

/// The days that overnight hours lead to: business days, and the Saturdays and Sundays with regular hours.
class OvernightDays {
  public:
    OvernightDays(const BarTable& bars, const TradingHours& hours, TradingDays rule,
                  const HolidayCalendar& calendar)
        : hours_(hours), rule_(rule), calendar_(calendar),
          regular_(cut_regular_hours(bars, hours, rule, calendar).days),
          next_bar_(bars.size() == 0 ? 0 : bars.columns().time.back() + bars.metadata().bar_seconds) {}

    std::int32_t first_from(std::int32_t date) const {
        while (!contains(date))
            ++date;
        return date;
    }
    /// Whether the bars end before the regular hours that show if the market trades on this weekend day.
    bool undecided(std::int32_t date) const {
        return rule_ == TradingDays::automatic && is_weekend(date) && next_bar_ <= hours_.regular(date).end;
    }

  private:
    bool contains(std::int32_t date) const {
        if (!is_weekend(date))
            return calendar_.is_business_day(date);
        if (rule_ != TradingDays::automatic)
            return rule_ == TradingDays::all;
        return std::ranges::binary_search(regular_, date, {}, &Session::date) ||
               (undecided(date) && traded_on(regular_, weekday_of(date)));
    }

    const TradingHours& hours_;
    TradingDays rule_;
    const HolidayCalendar& calendar_;
    std::vector<Session> regular_;
    std::int64_t next_bar_;
};

DaySessions cut_overnight_hours(const BarTable& bars, const TradingHours& hours, TradingDays rule,
                                const HolidayCalendar& calendar) {
    const Times time = bars.columns().time;
    const OvernightDays days(bars, hours, rule, calendar);
    DaySessions result;
    for (std::size_t i = 0; i < time.size();) {
        std::int32_t date = days.first_from(hours.local_date(time[i]));
        if (const StampWindow regular = hours.regular(date); time[i] > regular.end) {
            date = days.first_from(date + 1);
        } else if (time[i] > regular.begin) {
            i = first_after(time, i, regular.end);
            continue;
        }
        const std::int64_t open = hours.regular(date).begin;
        const std::size_t end = first_after(time, i, open);
        const bool over = end < time.size() || time.back() + bars.metadata().bar_seconds > open;
        Session session = make_session(date, i, end);
        session.half_day = calendar.half_day_close(date).has_value();
        session.complete = over && !days.undecided(date);
        result.weekend_days += is_weekend(date);
        result.days.push_back(session);
        i = end;
    }
    return result;
}

void require_all_hours(const SessionRules& rules, const char* why) {
    if (rules.hours != SessionHours::all)
        throw usage_error(std::string("session hours ") + (rules.hours == SessionHours::rth ? "rth" : "eth") +
                          " are not possible here: " + why)
            .expected("all");
}

} // namespace

DaySessions cut_days(const BarTable& bars, const SessionRules& rules, const HolidayCalendar& calendar,
                     bool like_original) {
    if (bars.metadata().dates_only) {
        require_all_hours(rules, "each bar is a day or more");
        return cut_label_dates(bars, rules, like_original);
    }
    if (rules.raw_labels) {
        if (rules.hours == SessionHours::eth)
            require_all_hours(
                rules,
                "with the raw clock they are the two ends of each date, not one contiguous range of bars");
        return cut_label_dates(bars, rules, like_original);
    }
    const TradingHours hours(rules, calendar);
    switch (rules.hours) {
    case SessionHours::rth:
        return cut_regular_hours(bars, hours, rules.days, calendar);
    case SessionHours::eth:
        return cut_overnight_hours(bars, hours, rules.days, calendar);
    case SessionHours::all:
        break;
    }
    return cut_trading_days(bars, hours, rules.days, calendar);
}

bool is_last_of_week(const std::vector<Session>& days, TradingDays rule, const HolidayCalendar& calendar) {
    const auto trades_on = [&](std::int32_t day) {
        if (!is_weekend(day))
            return calendar.is_business_day(day);
        return rule == TradingDays::all ||
               (rule == TradingDays::automatic && traded_on(days, weekday_of(day)));
    };
    const std::int32_t date = days.back().date;
    for (std::int32_t day = date + 1; week_of(day) == week_of(date); ++day)
        if (trades_on(day))
            return false;
    return true;
}

} // namespace rekindle::market
