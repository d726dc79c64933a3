#include "member_progress.h"

#include <algorithm>

namespace rekindle::trainer {

bool EarlyStopping::trains(const MemberState& member) const noexcept {
    const bool stopped = patience_ > 0 && member.epochs_without_improvement >= patience_;
    return !member.diverged && !stopped;
}

bool EarlyStopping::none_trains(std::span<const MemberState> members) const noexcept {
    return std::ranges::none_of(members, [&](const MemberState& member) { return trains(member); });
}

std::size_t count_diverged(std::span<const MemberState> members) noexcept {
    return static_cast<std::size_t>(std::ranges::count(members, true, &MemberState::diverged));
}

bool add_epoch(MemberState& member, std::int64_t epoch, const MemberEpoch& figures) {
    member.history.push_back(figures);
    if (!(figures.validation_loss < member.best_validation_loss)) {
        ++member.epochs_without_improvement;
        return false;
    }
    member.best_validation_loss = figures.validation_loss;
    member.best_epoch = epoch;
    member.epochs_without_improvement = 0;
    return true;
}

std::optional<std::size_t> new_leader(std::span<const MemberState> members, std::size_t leader,
                                      std::span<const std::size_t> trained, std::int64_t epoch) {
    std::optional<std::size_t> found;
    for (const std::size_t m : trained) {
        const bool better = members[m].best_validation_loss < members[leader].best_validation_loss;
        if (members[m].best_epoch == epoch && (better || m == leader))
            found = leader = m;
    }
    return found;
}

} // namespace rekindle::trainer
