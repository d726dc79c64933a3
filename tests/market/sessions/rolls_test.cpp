#include "sessions/bar_builder.h"

#include <rekindle/base/philox.h>
#include <rekindle/foundation/error.h>
#include <rekindle/market/session_plan.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

namespace rekindle::market {
namespace {

using fixtures::BarBuilder;
using fixtures::new_york;

SessionPlan plan_with(const BarTable& bars, RollMethod method = RollMethod::volume,
                      SessionLength length = SessionLength::day) {
    SessionRules rules;
    rules.length = length;
    return plan_sessions(bars, rules, HolidayCalendar::embedded(), method);
}

TEST(ContractExpiry, ReadsTheUsualNames) {
    EXPECT_EQ(contract_expiry("ES 03-25"), make_date(2025, 3, 21));
    EXPECT_EQ(contract_expiry("ES_03_22"), make_date(2022, 3, 18));
    EXPECT_EQ(contract_expiry("ES 12-2024"), make_date(2024, 12, 20));
    EXPECT_EQ(contract_expiry("ESH25"), make_date(2025, 3, 21));
    EXPECT_EQ(contract_expiry("NQZ2023"), make_date(2023, 12, 15));
    EXPECT_EQ(contract_expiry("ESM98"), make_date(1998, 6, 19));
    for (const char* name : {"", "ES", "ESH5", "ES 13-25", "ES 00-25", "ES 3-25", "ESA25", "UNKNOWN", "2025",
                             "-25", "0325", "ES-25", "ESH25 ", "03-25", "ES 03-1925"})
        EXPECT_EQ(contract_expiry(name), std::nullopt) << name;
}

/// Two contracts with bars from 10:00 to 10:09 on ten weekdays from Monday, March 10, 2025. The new one
/// trades from day 2 on; its volume first exceeds that of the old one on day `day_of_change`. Prices: old
/// 1000 + day, new 200 ticks higher.
BarBuilder two_contracts(int day_of_change, bool interleaved = false) {
    BarBuilder builder({"ES 03-25", "ES 06-25"});
    for (int day = 0; day < 10; ++day) {
        const std::int32_t date = make_date(2025, 3, 10) + day + (day >= 5 ? 2 : 0);
        for (int minute = 600; minute < 610; ++minute) {
            const std::int64_t time = new_york(date, minute);
            const bool has_new = day >= 2 && (!interleaved || minute % 2 == 0);
            const bool has_old = !interleaved || !has_new;
            if (has_old)
                builder.add(time, 1000 + day, day == day_of_change ? 50 : 100, 0);
            if (has_new)
                builder.add(time, 1200 + day, day >= day_of_change ? 60 : 10, 1);
        }
    }
    return builder;
}

TEST(Rolls, HappenOneSessionAfterTheVolumeShifts) {
    const SessionPlan result = plan_with(two_contracts(4).table());
    ASSERT_EQ(result.rolls.size(), 1u);
    const Roll& roll = result.rolls[0];
    EXPECT_EQ(roll.session, 5u);
    EXPECT_EQ(roll.date, make_date(2025, 3, 17));
    EXPECT_EQ(roll.gap_ticks, 200);
    EXPECT_EQ(roll.gap_distance, 0);
    EXPECT_EQ(roll.gap_known_at, new_york(make_date(2025, 3, 14), 609));
    EXPECT_THAT(roll.reason, testing::HasSubstr("on 2025-03-14 \"ES 06-25\" traded 600, \"ES 03-25\" 500"));
    ASSERT_EQ(result.sessions.size(), 10u);
    for (std::size_t i = 0; i < 10; ++i) {
        // On day 5 and later the old contract has more volume again, but there is no roll back.
        EXPECT_EQ(result.sessions[i].contract, i < 5 ? 0 : 1);
        EXPECT_EQ(result.sessions[i].roll_offset, i < 5 ? 0 : 200);
    }
}

TEST(Rolls, ThinnedOverlapStillRollsOnceWithTheRightGap) {
    const SessionPlan result = plan_with(two_contracts(4, true).table());
    ASSERT_EQ(result.rolls.size(), 1u);
    EXPECT_EQ(result.rolls[0].gap_ticks, 200);
    EXPECT_EQ(result.rolls[0].gap_distance, 60);
    EXPECT_THAT(result.notes, testing::Contains(testing::HasSubstr("thinned")));
    for (const Session& session : result.sessions)
        EXPECT_EQ(session.contract, session.date < result.rolls[0].date ? 0 : 1);
}

TEST(Rolls, WithoutOverlapTheGapIsAnEstimate) {
    const auto with_pause = [](int days) {
        BarBuilder builder({"ES1", "ES2"});
        for (int minute = 600; minute < 610; ++minute) {
            builder.add(new_york(make_date(2025, 3, 10), minute), 1000, 5, 0);
            builder.add(new_york(make_date(2025, 3, 10) + days, minute), 1100, 5, 1);
        }
        return builder.table();
    };
    const SessionPlan next_day = plan_with(with_pause(1));
    ASSERT_EQ(next_day.rolls.size(), 1u);
    EXPECT_EQ(next_day.rolls[0].gap_ticks, 100);
    EXPECT_EQ(next_day.rolls[0].gap_distance, day_seconds - 9 * 60);
    EXPECT_THAT(next_day.rolls[0].reason, testing::HasSubstr("\"ES1\" has no bar"));
    EXPECT_THAT(next_day.notes, testing::Contains(testing::HasSubstr("estimated from prices")));
    EXPECT_THAT(next_day.notes, testing::Not(testing::Contains(testing::HasSubstr("thinned"))));
    const SessionPlan next_month = plan_with(with_pause(30));
    ASSERT_EQ(next_month.rolls.size(), 1u);
    EXPECT_EQ(next_month.rolls[0].gap_ticks, 0);
    EXPECT_EQ(next_month.rolls[0].gap_distance, -1);
    EXPECT_EQ(next_month.sessions[0].stretch, 0u);
    EXPECT_EQ(next_month.sessions[1].stretch, 1u);
    EXPECT_THAT(next_month.notes, testing::Contains(testing::HasSubstr("gap is unknown")));
}

TEST(Rolls, CalendarRollsEightDaysBeforeTheThirdFriday) {
    BarBuilder builder({"ESM25", "ESH25"}); // not in order
    for (std::int32_t date = make_date(2025, 3, 10); date <= make_date(2025, 3, 21); ++date)
        if (!is_weekend(date))
            builder.add(new_york(date, 600), 1000, 100, 1).add(new_york(date, 600), 1040, 1, 0);
    const SessionPlan result = plan_with(builder.table(), RollMethod::calendar);
    ASSERT_EQ(result.rolls.size(), 1u);
    EXPECT_EQ(result.rolls[0].date, make_date(2025, 3, 13)); // the Thursday
    EXPECT_EQ(result.rolls[0].from, 1);
    EXPECT_EQ(result.rolls[0].gap_ticks, 40);
    const BarTable unnamed = BarBuilder({"ES1!", "ES2!"})
                                 .add(new_york(make_date(2025, 3, 10), 600), 1, 1, 0)
                                 .add(new_york(make_date(2025, 3, 11), 600), 1, 1, 1)
                                 .table();
    EXPECT_THROW(plan_with(unnamed, RollMethod::calendar), Error);
}

TEST(Rolls, SingleRejectsSeveralContractsByName) {
    try {
        plan_with(two_contracts(4).table(), RollMethod::single);
        FAIL() << "accepted";
    } catch (const Error& error) {
        EXPECT_EQ(error.status(), ExitStatus::usage);
        EXPECT_NE(error.render().find("\"ES 03-25\", \"ES 06-25\""), std::string::npos) << error.render();
    }
    EXPECT_EQ(plan_with(two_contracts(4).table(20), RollMethod::single).sessions.size(),
              2u); // only one contract has bars
}

TEST(Rolls, WeekHoldsTheContractOfItsFirstDay) {
    const SessionPlan result = plan_with(two_contracts(2).table(), RollMethod::volume, SessionLength::week);
    ASSERT_EQ(result.sessions.size(), 2u);
    EXPECT_EQ(result.sessions[0].contract, 0);
    EXPECT_EQ(result.sessions[1].contract, 1);
    ASSERT_EQ(result.rolls.size(), 1u);
    EXPECT_EQ(result.rolls[0].date, make_date(2025, 3, 17));
    EXPECT_THAT(result.rolls[0].reason, testing::HasSubstr("on 2025-03-12"));
}

TEST(Rolls, OriginalModeMixesContracts) {
    const SessionPlan result = plan_sessions(two_contracts(4).table(), SessionRules{},
                                             HolidayCalendar::embedded(), RollMethod::volume, true);
    EXPECT_TRUE(result.rolls.empty());
    for (const Session& session : result.sessions) {
        EXPECT_EQ(session.contract, mixed_contracts);
        EXPECT_EQ(session.roll_offset, 0);
    }
}

/// Random volumes of four contracts with up to three bars per day each; some days lack a contract.
BarBuilder random_contracts(std::uint64_t seed) {
    PhiloxStream random(seed, RandomPurpose::test);
    BarBuilder builder(seed % 2 ? std::vector<std::string>{"ES 03-25", "ES 06-25", "ES 09-25", "ES 12-25"}
                                : std::vector<std::string>{"ES1!", "ES2!", "ES3!", "ES4!"});
    for (int day = 0; day < 40; ++day) {
        const std::int32_t date = make_date(2025, 1, 6) + day / 5 * 7 + day % 5;
        for (std::uint16_t contract = 0; contract < 4; ++contract)
            for (std::uint32_t bars = random.next_below(4); bars > 0; --bars)
                builder.add(new_york(date, 600 + static_cast<int>(bars)), 1000 + 50 * contract + day,
                            random.next_below(20) + (contract * 10 == day - day % 10 ? 15 : 0), contract);
    }
    return builder;
}

/// The held contract of each day by a literal implementation of the rule, from the bars only; -1 if there is
/// none.
std::map<std::int32_t, int> held_by_literal_rule(const BarTable& bars) {
    std::map<std::int32_t, std::map<int, std::int64_t>> volume, count;
    const BarColumns& columns = bars.columns();
    for (std::size_t i = 0; i < bars.size(); ++i) {
        const std::int32_t date = date_of(columns.time[i]);
        volume[date][columns.contract[i]] += columns.volume[i];
        ++count[date][columns.contract[i]];
    }
    const auto& names = bars.metadata().contracts;
    std::map<std::int32_t, int> held;
    std::set<int> used;
    int now = -1, next = -1;
    for (auto& [date, of_day] : volume) {
        const auto best = [&](bool any) {
            int champion = -1;
            for (const auto& [contract, traded] : of_day) {
                const auto from = now < 0 ? std::nullopt : contract_expiry(names[now]);
                const auto to = contract_expiry(names[contract]);
                if (!any && (used.contains(contract) || (from && to && *to <= *from)))
                    continue;
                if (champion < 0 || traded > of_day[champion] ||
                    (traded == of_day[champion] && count[date][contract] > count[date][champion]))
                    champion = contract;
            }
            return champion;
        };
        if (now < 0)
            now = best(true);
        else if (next >= 0 && of_day.contains(next))
            now = next, next = -1;
        else if (!of_day.contains(now) && best(false) >= 0)
            now = best(false), next = -1;
        used.insert(now);
        held[date] = of_day.contains(now) ? now : -1;
        const int rival = best(false);
        if (rival >= 0 && of_day[rival] > (of_day.contains(now) ? of_day[now] : 0))
            next = rival;
    }
    return held;
}

TEST(Rolls, MatchTheLiteralRuleAndEveryPrefix) {
    std::size_t rolls = 0;
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        const BarBuilder builder = random_contracts(seed);
        const BarTable bars = builder.table();
        const SessionPlan whole = plan_with(bars);
        rolls += whole.rolls.size();
        std::size_t next = 0;
        for (const auto& [date, contract] : held_by_literal_rule(bars)) {
            if (contract < 0)
                continue;
            ASSERT_LT(next, whole.sessions.size());
            EXPECT_EQ(whole.sessions[next].date, date);
            EXPECT_EQ(whole.sessions[next].contract, contract) << format_date(date);
            ++next;
        }
        EXPECT_EQ(next, whole.sessions.size());
        std::int64_t offset = 0;
        for (const Roll& roll : whole.rolls) {
            EXPECT_EQ(whole.sessions[roll.session].contract, roll.to);
            EXPECT_EQ(whole.sessions[roll.session - 1].contract, roll.from);
            EXPECT_EQ(whole.sessions[roll.session].roll_offset - offset, roll.gap_ticks);
            offset += roll.gap_ticks;
            const std::size_t last =
                whole.sessions[roll.session].first + whole.sessions[roll.session].count - 1;
            EXPECT_LE(roll.gap_known_at, bars.columns().time[last]);
            if (roll.gap_distance == 0) {
                EXPECT_EQ(roll.gap_ticks, 50 * (roll.to - roll.from));
            }
        }
        for (std::size_t count = 1; count < bars.size(); count += 11) {
            const SessionPlan beginning = plan_with(builder.table(count));
            for (std::size_t i = 0; i + 1 < beginning.sessions.size(); ++i) {
                EXPECT_EQ(beginning.sessions[i].contract, whole.sessions[i].contract);
                EXPECT_EQ(beginning.sessions[i].roll_offset, whole.sessions[i].roll_offset);
                EXPECT_EQ(beginning.sessions[i].count, whole.sessions[i].count);
            }
        }
    }
    EXPECT_GT(rolls, 60u);
}

} // namespace
} // namespace rekindle::market
