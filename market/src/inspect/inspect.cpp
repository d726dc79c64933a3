#include <rekindle/foundation/error.h>
#include <rekindle/market/clock.h>
#include <rekindle/market/features.h>
#include <rekindle/market/inspect.h>
#include <rekindle/market/session_summary.h>
#include <rekindle/market/trading_halt.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <numeric>

namespace rekindle::market {
namespace {

constexpr std::size_t max_listed = 10;
constexpr int tolerance_minutes = 15;

bool is_held(const Session& session, std::uint16_t contract) {
    return session.contract == mixed_contracts || session.contract == contract;
}

std::size_t held_bars(const BarTable& bars, const Session& session) {
    const auto contract = bars.columns().contract.subspan(session.first, session.count);
    return static_cast<std::size_t>(std::count_if(contract.begin(), contract.end(),
                                                  [&](std::uint16_t c) { return is_held(session, c); }));
}

SessionCount count_sessions(const BarTable& bars, SessionRules rules, SessionHours hours,
                            SessionLength length, const HolidayCalendar& calendar, RollMethod method) {
    SessionCount result;
    result.hours = rules.hours = hours;
    result.length = rules.length = length;
    try {
        const SessionPlan plan = plan_sessions(bars, rules, calendar, method);
        const auto complete = plan.complete_sessions();
        result.sessions = complete.size();
        if (complete.empty())
            return result;
        result.first = complete.front().date;
        result.last = complete.back().date;
        std::vector<std::size_t> sizes;
        for (const Session& session : complete)
            sizes.push_back(held_bars(bars, session));
        const auto middle = sizes.begin() + static_cast<std::ptrdiff_t>(sizes.size() / 2);
        std::nth_element(sizes.begin(), middle, sizes.end());
        result.median_bars = *middle;
    } catch (const Error& error) {
        result.refused = error.message();
    }
    return result;
}

int minute_of_day(std::int64_t civil_seconds) {
    return static_cast<int>((civil_seconds - std::int64_t{date_of(civil_seconds)} * day_seconds) / 60);
}

/// Finds pauses inside sessions and separates the recurring ones.
void find_holes(const BarTable& bars, const ZoneClock& zone, InspectReport& report) {
    const BarColumns& columns = bars.columns();
    const bool raw = report.rules.raw_labels;
    const auto minute_at = [&](std::int64_t stamp) {
        return minute_of_day(raw ? stamp : zone.to_local(stamp));
    };
    report.hole_seconds = std::max<std::int64_t>(15 * 60, 5 * bars.metadata().bar_seconds);
    std::vector<Hole> pauses;
    std::map<std::pair<int, int>, std::size_t> days_of;
    for (const Session& session : report.plan.sessions) {
        std::int64_t before = 0;
        bool any = false;
        for (std::size_t i = session.first; i < session.first + session.count; ++i) {
            if (!is_held(session, columns.contract[i]))
                continue;
            if (any && columns.time[i] - before >= report.hole_seconds) {
                pauses.push_back({before, columns.time[i]});
                ++days_of[{minute_at(before), minute_at(columns.time[i])}];
            }
            before = columns.time[i];
            any = true;
        }
    }
    for (const auto& [minutes, days] : days_of)
        if (days >= 5 && days * 4 >= report.plan.sessions.size())
            report.regular_pauses.push_back({minutes.first, minutes.second, days});
    std::erase_if(pauses, [&](const Hole& hole) {
        if (is_halt(hole.after, hole.before, bars, report.rules))
            return true;
        // A minute with few trades at either end of the daily pause does not make it a hole.
        return std::any_of(
            report.regular_pauses.begin(), report.regular_pauses.end(), [&](const RegularPause& usual) {
                return std::abs(minute_at(hole.after) - usual.begin_minute) < tolerance_minutes &&
                       std::abs(minute_at(hole.before) - usual.end_minute) < tolerance_minutes;
            });
    });
    report.holes = pauses.size();
    std::stable_sort(pauses.begin(), pauses.end(),
                     [](const Hole& a, const Hole& b) { return a.before - a.after > b.before - b.after; });
    pauses.resize(std::min(pauses.size(), max_listed));
    report.largest_holes = std::move(pauses);
}

void find_missing_days(const HolidayCalendar& calendar, InspectReport& report) {
    const std::vector<Session>& sessions = report.plan.sessions;
    report.missing_day_count = 0;
    for (std::size_t i = 1; i < sessions.size(); ++i)
        for (std::int32_t date = sessions[i - 1].date + 1; date < sessions[i].date; ++date)
            if (calendar.is_business_day(date) ||
                (report.rules.days == TradingDays::all && is_weekend(date))) {
                ++*report.missing_day_count;
                if (report.missing_days.size() < max_listed)
                    report.missing_days.push_back(date);
            }
}

void warn_of_missing_volume(const BarTable& bars, InspectReport& report) {
    const BarColumns& columns = bars.columns();
    const auto without =
        std::count_if(report.plan.sessions.begin(), report.plan.sessions.end(), [&](const Session& session) {
            for (std::size_t i = session.first; i < session.first + session.count; ++i)
                if (is_held(session, columns.contract[i]) && columns.volume[i] > 0)
                    return false;
            return true;
        });
    if (std::string warning =
            missing_volume_warning(static_cast<std::size_t>(without), report.plan.sessions.size());
        !warning.empty())
        report.warnings.push_back(std::move(warning));
}

/// Number of sessions needed for the first row of the default features.
int sessions_of_first_row() {
    int first = 0;
    for (const FeatureInfo& feature : feature_table())
        if (feature.group == "session")
            first = std::max(first, feature.first_valid_session);
    return first + 1;
}

} // namespace

InspectReport inspect(const BarTable& bars, const ReadReport& reading, const SessionRules& rules,
                      const HolidayCalendar& calendar, RollMethod method) {
    InspectReport report;
    report.reading = reading;
    report.metadata = bars.metadata();
    report.ends = BarEnds(bars, rules, calendar);
    report.rules = rules;
    report.rules.hours = SessionHours::all;
    report.rules.length = SessionLength::day;
    report.clock = suggest_clock(bars, rules, reading.stamps);
    report.sessions_needed = sessions_of_first_row();
    if (const BarColumns& columns = bars.columns(); columns.has_sides()) {
        const auto sum = [](std::span<const std::int64_t> volumes) {
            return std::accumulate(volumes.begin(), volumes.end(), 0.0);
        };
        report.sides.emplace(sum(columns.bid_volume), sum(columns.ask_volume));
    }
    for (const SessionHours hours : {SessionHours::rth, SessionHours::eth, SessionHours::all})
        report.sessions.push_back(count_sessions(bars, rules, hours, SessionLength::day, calendar, method));
    report.sessions.push_back(
        count_sessions(bars, rules, SessionHours::all, SessionLength::week, calendar, method));
    try {
        report.plan = plan_sessions(bars, report.rules, calendar, method);
    } catch (const Error& error) {
        report.roll_error = error.render();
        return report;
    }
    if (!bars.metadata().dates_only)
        find_holes(bars, ZoneClock::load(rules.zone), report);
    if (bars.metadata().bar_seconds <= day_seconds)
        find_missing_days(calendar, report);
    warn_of_missing_volume(bars, report);
    report.suspected_splits = suspected_splits(bars, report.plan.sessions);
    if (!report.suspected_splits.empty())
        report.warnings.push_back(split_warning(report.suspected_splits, bars.metadata().tick));
    return report;
}

int lacking_sessions(const InspectReport& report, const SessionCount& count) {
    return std::max(0, report.sessions_needed -
                           static_cast<int>(std::min<std::size_t>(count.sessions, 1'000'000)));
}

} // namespace rekindle::market
