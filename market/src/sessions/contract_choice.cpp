#include "sessions/contract_choice.h"

#include <rekindle/base/text.h>
#include <rekindle/foundation/error.h>
#include <rekindle/market/clock.h>

#include <algorithm>
#include <set>
#include <utility>

namespace rekindle::market {
namespace {

/// The exchange's roll date is this many days before the third Friday.
constexpr std::int32_t roll_days_before_expiry = 8;

struct ContractNames {
    const std::vector<std::string>& names;
    std::vector<std::optional<std::int32_t>> expiry;

    explicit ContractNames(const std::vector<std::string>& all) : names(all) {
        for (const auto& name : all)
            expiry.push_back(contract_expiry(name));
    }
    std::string quoted(std::uint16_t contract) const { return "\"" + names[contract] + "\""; }
};

/// Which rolls are allowed, never back: to a later month if the names include it, otherwise to a contract
/// that was not held before.
class RollOrder {
  public:
    explicit RollOrder(const ContractNames& names) : names_(names), held_before_(names.names.size()) {}
    void hold(std::uint16_t contract) { held_before_[contract] = true; }
    bool allows(std::uint16_t from, std::uint16_t to) const {
        if (from == to || held_before_[to])
            return false;
        const auto &held = names_.expiry[from], &next = names_.expiry[to];
        return !held || !next || *next > *held;
    }

  private:
    const ContractNames& names_;
    std::vector<bool> held_before_;
};

/// The contract with the largest volume (then the most bars, then the first) among those that `accepts`
/// allows and that have a bar on the day; mixed_contracts if there is none.
template <class Predicate>
std::uint16_t most_traded(const VolumeTable& volumes, std::size_t day, Predicate accepts) {
    std::uint16_t best = mixed_contracts;
    for (const std::uint16_t contract : volumes.traded(day)) {
        if (!accepts(contract))
            continue;
        if (best == mixed_contracts)
            best = contract;
        const ContractVolume cell = volumes.at(day, contract), champion = volumes.at(day, best);
        if (cell.volume > champion.volume || (cell.volume == champion.volume && cell.bars > champion.bars))
            best = contract;
    }
    return best;
}

std::string absence(std::uint16_t from, std::uint16_t to, const Session& day, const ContractNames& names) {
    return names.quoted(from) + " has no bar in the session of " + format_date(day.date) + ", but " +
           names.quoted(to) + " does";
}

std::vector<HeldContract> choose_by_volume(const std::vector<Session>& days, const VolumeTable& volumes,
                                           const ContractNames& names) {
    std::vector<HeldContract> held(days.size());
    RollOrder order(names);
    std::uint16_t now = mixed_contracts, next = mixed_contracts;
    std::string reason_for_next;
    for (std::size_t day = 0; day < days.size(); ++day) {
        const auto allowed = [&](std::uint16_t contract) { return order.allows(now, contract); };
        if (now == mixed_contracts) {
            now = most_traded(volumes, day, [](std::uint16_t) { return true; });
            order.hold(now);
        } else if (next != mixed_contracts && volumes.at(day, next).bars > 0) {
            now = next;
            held[day].reason = reason_for_next;
            order.hold(now);
            next = mixed_contracts;
        } else if (volumes.at(day, now).bars == 0) {
            if (const std::uint16_t other = most_traded(volumes, day, allowed); other != mixed_contracts) {
                held[day].reason = absence(now, other, days[day], names);
                now = other;
                order.hold(now);
                next = mixed_contracts;
            }
        }
        if (volumes.at(day, now).bars > 0)
            held[day].contract = now;
        const std::uint16_t rival = most_traded(volumes, day, allowed);
        if (rival != mixed_contracts && volumes.at(day, rival).volume > volumes.at(day, now).volume) {
            next = rival;
            reason_for_next = "on " + format_date(days[day].date) + " " + names.quoted(rival) + " traded " +
                              with_thousands(volumes.at(day, rival).volume) + ", " + names.quoted(now) + " " +
                              with_thousands(volumes.at(day, now).volume);
        }
    }
    return held;
}

std::vector<HeldContract> choose_by_calendar(const std::vector<Session>& days, const VolumeTable& volumes,
                                             const ContractNames& names) {
    std::vector<HeldContract> held(days.size());
    const auto roll_date = [&](std::uint16_t contract) {
        return *names.expiry[contract] - roll_days_before_expiry;
    };
    /// The nearest contract that is not past its roll date and trades on the day.
    const auto front = [&](std::size_t day, auto accepts) {
        std::uint16_t best = mixed_contracts;
        for (const std::uint16_t contract : volumes.traded(day))
            if (roll_date(contract) > days[day].date && accepts(contract) &&
                (best == mixed_contracts || roll_date(contract) < roll_date(best)))
                best = contract;
        return best;
    };
    std::uint16_t now = mixed_contracts;
    for (std::size_t day = 0; day < days.size(); ++day) {
        if (now == mixed_contracts) {
            now = front(day, [](std::uint16_t) { return true; });
            if (now == mixed_contracts)
                now = most_traded(volumes, day, [](std::uint16_t) { return true; });
        } else if (const bool due = days[day].date >= roll_date(now); due || volumes.at(day, now).bars == 0) {
            const std::uint16_t next =
                front(day, [&](std::uint16_t contract) { return roll_date(contract) > roll_date(now); });
            if (next != mixed_contracts) {
                held[day].reason =
                    due ? "the roll date of " + names.quoted(now) + " is " + format_date(roll_date(now))
                        : absence(now, next, days[day], names);
                now = next;
            }
        }
        if (volumes.at(day, now).bars > 0)
            held[day].contract = now;
    }
    return held;
}

/// Contracts that have at least one bar in a session, ascending.
std::vector<std::uint16_t> traded_contracts(std::size_t days, const VolumeTable& volumes) {
    std::set<std::uint16_t> traded;
    for (std::size_t day = 0; day < days; ++day)
        for (const std::uint16_t contract : volumes.traded(day))
            traded.insert(contract);
    return {traded.begin(), traded.end()};
}

std::string list_names(const ContractNames& names, const std::vector<std::uint16_t>& contracts) {
    std::string text;
    for (std::size_t i = 0; i < contracts.size() && i < 6; ++i)
        text += (i ? ", " : "") + names.quoted(contracts[i]);
    return contracts.size() > 6 ? text + " and " + std::to_string(contracts.size() - 6) + " more" : text;
}

} // namespace

VolumeTable::VolumeTable(const BarTable& bars, const std::vector<Session>& days) {
    const BarColumns& columns = bars.columns();
    std::vector<ContractVolume> sums(bars.metadata().contracts.size());
    std::vector<std::uint16_t> touched;
    for (const Session& session : days) {
        begins_.push_back(cells_.size());
        for (std::size_t i = session.first; i < session.first + session.count; ++i) {
            ContractVolume& sum = sums[columns.contract[i]];
            if (sum.bars++ == 0)
                touched.push_back(columns.contract[i]);
            sum.volume += columns.volume[i];
        }
        std::sort(touched.begin(), touched.end());
        for (const std::uint16_t contract : touched) {
            contracts_.push_back(contract);
            cells_.push_back(std::exchange(sums[contract], {}));
        }
        touched.clear();
    }
    begins_.push_back(cells_.size());
}

std::span<const std::uint16_t> VolumeTable::traded(std::size_t day) const noexcept {
    return std::span(contracts_).subspan(begins_[day], begins_[day + 1] - begins_[day]);
}

ContractVolume VolumeTable::at(std::size_t day, std::uint16_t contract) const noexcept {
    const auto row = traded(day);
    const auto found = std::lower_bound(row.begin(), row.end(), contract);
    if (found == row.end() || *found != contract)
        return {};
    return cells_[begins_[day] + static_cast<std::size_t>(found - row.begin())];
}

std::vector<HeldContract> choose_contracts(const BarTable& bars, const std::vector<Session>& days,
                                           RollMethod method) {
    if (bars.metadata().contracts.size() == 1)
        return std::vector<HeldContract>(days.size(), HeldContract{0, ""});
    const VolumeTable volumes(bars, days);
    const ContractNames names(bars.metadata().contracts);
    const std::vector<std::uint16_t> traded = traded_contracts(days.size(), volumes);
    if (traded.size() <= 1 && method != RollMethod::calendar)
        return std::vector<HeldContract>(days.size(),
                                         HeldContract{traded.empty() ? mixed_contracts : traded[0], ""});
    switch (method) {
    case RollMethod::single:
        throw usage_error("the data contain " + std::to_string(traded.size()) +
                          " contracts: " + list_names(names, traded))
            .expected("one contract, as roll method single requires")
            .hint("Choose one with --contract, or let --roll volume change from one to the next.");
    case RollMethod::calendar:
        for (const std::uint16_t contract : traded)
            if (!names.expiry[contract])
                throw usage_error("contract name " + names.quoted(contract) + " does not include its month")
                    .expected("names such as \"ES 03-25\", \"ES_03_25\" or \"ESH25\", as roll method "
                              "calendar requires")
                    .hint("--roll volume does not need such names.");
        return choose_by_calendar(days, volumes, names);
    case RollMethod::volume:
        break;
    }
    return choose_by_volume(days, volumes, names);
}

} // namespace rekindle::market
