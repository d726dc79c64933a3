#include "sessions/contract_choice.h"
#include "sessions/cut_sessions.h"
#include "sessions/instrument.h"

#include <rekindle/base/text.h>
#include <rekindle/foundation/error.h>
#include <rekindle/market/clock.h>
#include <rekindle/market/session_plan.h>

#include <cstdlib>
#include <utility>

namespace rekindle::market {
namespace {

/// Days that share an ISO week become one session; `held` keeps the entry of each week's first day.
std::vector<Session> join_weeks(const std::vector<Session>& days, std::vector<HeldContract>& held,
                                TradingDays rule, const HolidayCalendar& calendar) {
    std::vector<Session> weeks;
    std::vector<HeldContract> held_by_week;
    std::string reason; // of a roll inside a week, which takes effect with the next week
    for (std::size_t i = 0; i < days.size(); ++i) {
        if (weeks.empty() || week_of(weeks.back().date) != week_of(days[i].date)) {
            weeks.push_back(days[i]);
            weeks.back().half_day = false;
            held_by_week.push_back(held[i]);
            if (held[i].reason.empty())
                held_by_week.back().reason = std::exchange(reason, "");
            continue;
        }
        if (!held[i].reason.empty())
            reason = held[i].reason;
        Session& week = weeks.back();
        week.date = days[i].date;
        week.count = days[i].first + days[i].count - week.first;
        week.complete = days[i].complete;
        if (held_by_week.back().contract == mixed_contracts)
            held_by_week.back() = held[i];
    }
    if (!weeks.empty() && !is_last_of_week(days, rule, calendar))
        weeks.back().complete = false;
    held = std::move(held_by_week);
    return weeks;
}

/// Both contracts have bars before the roll but never in the same minute, as in a file that kept one row per
/// minute.
bool overlap_was_thinned(const BarTable& bars, const SessionPlan& plan, const Roll& roll) {
    return roll.gap_distance > 0 &&
           roll.gap_known_at < bars.columns().time[plan.sessions[roll.session].first];
}

std::string describe_gap(const Roll& roll) {
    if (roll.gap_distance < 0)
        return "the gap is unknown because the contracts never traded within four days of each other. "
               "Nothing is compared across it: look-backs start again, and no target spans it";
    if (roll.gap_distance > 0)
        return "the gap is estimated from prices " + format_duration(static_cast<double>(roll.gap_distance)) +
               " apart, so the market's move in between is part of it";
    return "";
}

void note_gaps(const BarTable& bars, SessionPlan& plan) {
    std::size_t thinned = 0;
    for (const Roll& roll : plan.rolls) {
        if (overlap_was_thinned(bars, plan, roll))
            ++thinned;
        else if (const std::string gap = describe_gap(roll); !gap.empty())
            plan.notes.push_back("Roll of " + format_date(roll.date) + " from \"" +
                                 bars.metadata().contracts[roll.from] + "\" to \"" +
                                 bars.metadata().contracts[roll.to] + "\": " + gap + ".");
    }
    if (thinned > 0)
        plan.notes.push_back("Before " + counted(thinned, "roll") +
                             " the contracts never have bars at the same time, as if their overlap had been "
                             "thinned to one row per timestamp: volumes there are understated, and gaps are "
                             "measured between neighboring bars.");
}

/// Assigns each session its contract and offset, records the rolls, and drops sessions in which the held
/// contract has no bar.
void assign_contracts(const BarTable& bars, const std::vector<Session>& cut,
                      const std::vector<HeldContract>& held, const std::vector<std::int32_t>& first_days,
                      SessionPlan& plan) {
    std::size_t without_contract = 0;
    std::int64_t offset = 0;
    std::uint32_t stretch = 0;
    std::string reason;
    for (std::size_t i = 0; i < cut.size(); ++i) {
        if (!held[i].reason.empty())
            reason = held[i].reason;
        if (held[i].contract == mixed_contracts) {
            ++without_contract;
            continue;
        }
        Session session = cut[i];
        session.contract = held[i].contract;
        if (!plan.sessions.empty() && plan.sessions.back().contract != session.contract) {
            Roll roll;
            roll.date = first_days[i];
            roll.from = plan.sessions.back().contract;
            roll.to = session.contract;
            roll.session = plan.sessions.size();
            roll.reason = reason;
            measure_gap(bars, session.first, roll);
            require_near_prices(bars, session.first, roll);
            offset += roll.gap_ticks;
            stretch += roll.gap_distance < 0 ? 1 : 0;
            plan.rolls.push_back(std::move(roll));
        }
        session.roll_offset = offset;
        session.stretch = stretch;
        plan.sessions.push_back(session);
    }
    if (without_contract > 0)
        plan.notes.push_back(counted(without_contract, "session is", "sessions are") +
                             " skipped: the held contract has no bar there.");
}

void note_skipped(const DaySessions& cut, TradingDays rule, std::vector<std::string>& notes) {
    if (cut.weekend_bars > 0)
        notes.push_back(counted(cut.weekend_bars, "bar outside", "bars outside") +
                        " Monday to Friday trading days skipped.");
    if (cut.weekend_days > 0 && rule == TradingDays::automatic)
        notes.push_back(
            "This market trades on weekends: " +
            counted(cut.weekend_days,
                    "Saturday or Sunday has as many bars as other days and is a session, too.",
                    "Saturdays and Sundays have as many bars as other days and are sessions, too."));
    if (cut.holiday_bars > 0)
        notes.push_back(counted(cut.holiday_bars, "bar falls", "bars fall") +
                        " in the regular hours of holidays, which have no regular session.");
}

void note_calendar(const std::vector<Session>& sessions, const HolidayCalendar& calendar,
                   std::vector<std::string>& notes) {
    std::size_t outside = 0;
    for (const Session& session : sessions)
        outside += calendar.covers(session.date) ? 0 : 1;
    if (outside > 0)
        notes.push_back(counted(outside, "session is", "sessions are") + " outside the calendar \"" +
                        calendar.name() + "\" (" + format_date(calendar.valid_from()) + " to " +
                        format_date(calendar.valid_to()) + "): holidays and half days are not known there.");
}

void note_assumed_day(const SessionRules& rules, std::vector<std::string>& notes) {
    if (rules.hours == SessionHours::all && rules.day_start_assumed)
        notes.push_back("When trading days begin in " + rules.zone + " is not known; " +
                        format_minute(rules.day_start) +
                        " is assumed, on the evening before. --day-start sets another time.");
}

/// Zones of one country are at most three hours apart; beyond that, it is a different exchange.
void note_foreign_calendar(const SessionRules& rules, const HolidayCalendar& calendar,
                           std::vector<std::string>& notes) {
    if (calendar.zone().empty())
        return;
    const std::int64_t instant = std::int64_t{make_date(2024, 1, 15)} * day_seconds;
    const std::int64_t distance =
        ZoneClock::load(rules.zone).offset_at(instant) - ZoneClock::load(calendar.zone()).offset_at(instant);
    if (std::abs(distance) > std::int64_t{3} * 3600)
        notes.push_back("Holidays and half days are those of \"" + calendar.name() + "\" in " +
                        calendar.zone() + ", not of an exchange in " + rules.zone +
                        ": use --calendar for another list.");
}

} // namespace

std::span<const Session> SessionPlan::complete_sessions() const noexcept {
    const std::span<const Session> all(sessions);
    return all.empty() || all.back().complete ? all : all.first(all.size() - 1);
}

SessionPlan plan_sessions(const BarTable& bars, const SessionRules& rules, const HolidayCalendar& calendar,
                          RollMethod method, bool like_original) {
    if (rules.length == SessionLength::week && rules.hours != SessionHours::all)
        throw usage_error(
            "weekly sessions of regular or overnight hours are not one contiguous range of bars")
            .expected("session hours all with session length week");
    require_one_instrument(bars.metadata());
    DaySessions cut = cut_days(bars, rules, calendar, like_original);
    std::vector<HeldContract> held =
        like_original ? std::vector<HeldContract>(cut.days.size()) : choose_contracts(bars, cut.days, method);
    std::vector<std::int32_t> first_days;
    for (std::size_t i = 0; i < cut.days.size(); ++i)
        if (rules.length == SessionLength::day || i == 0 ||
            week_of(cut.days[i].date) != week_of(cut.days[i - 1].date))
            first_days.push_back(cut.days[i].date);
    const std::vector<Session> sessions = rules.length == SessionLength::week
                                              ? join_weeks(cut.days, held, rules.days, calendar)
                                              : std::move(cut.days);

    SessionPlan plan;
    note_skipped(cut, rules.days, plan.notes);
    if (!rules.raw_labels && !bars.metadata().dates_only) {
        note_calendar(sessions, calendar, plan.notes);
        note_assumed_day(rules, plan.notes);
        note_foreign_calendar(rules, calendar, plan.notes);
    }
    if (like_original) {
        plan.sessions = sessions;
        for (Session& session : plan.sessions)
            session.contract = mixed_contracts;
    } else {
        assign_contracts(bars, sessions, held, first_days, plan);
        note_gaps(bars, plan);
    }
    if (!plan.sessions.empty() && !plan.sessions.back().complete)
        plan.notes.push_back("The last session (" + format_date(plan.sessions.back().date) +
                             ") is not over at the last bar, " + format_civil(bars.columns().time.back()) +
                             " UTC, so it is not used.");
    return plan;
}

} // namespace rekindle::market
