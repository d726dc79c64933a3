#include "search/schedule.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace rekindle::research {

namespace {

/// Trials that halving runs at a time. Constant, because promotions depend on it.
constexpr std::size_t halving_group = 16;

} // namespace

Schedule::Schedule(const SearchRules& rules, std::int64_t epochs, std::uint64_t trials)
    : trials_(trials), reduction_(static_cast<std::size_t>(rules.reduction)) {
    if (rules.method == SearchMethod::halving)
        for (std::int64_t rung = std::min(rules.min_epochs, epochs); rung < epochs; rung *= rules.reduction)
            epochs_.push_back(rung);
    epochs_.push_back(epochs);
    rungs_.resize(epochs_.size());
}

std::optional<PlannedTrial> Schedule::promotion() {
    for (std::size_t rung = rungs_.size() - 1; rung-- > 0;) {
        std::vector<Scored*> best;
        for (Scored& scored : rungs_[rung])
            best.push_back(&scored);
        std::ranges::stable_sort(best, std::ranges::greater(), [](const Scored* s) { return s->score; });
        best.resize(best.size() / reduction_);
        for (Scored* scored : best)
            if (!scored->promoted && std::isfinite(scored->score)) {
                scored->promoted = true;
                return PlannedTrial{scored->number, static_cast<std::int64_t>(rung + 1), epochs_[rung + 1]};
            }
    }
    return std::nullopt;
}

std::vector<PlannedTrial> Schedule::next(std::size_t most) {
    std::vector<PlannedTrial> group;
    const bool halving = rungs_.size() > 1;
    while (group.size() < (halving ? halving_group : most)) {
        if (const auto promoted = promotion())
            group.push_back(*promoted);
        else if (started_ < trials_)
            group.push_back({started_++, 0, epochs_.front()});
        else
            break;
    }
    return group;
}

void Schedule::finish(const PlannedTrial& trial, double score) {
    rungs_.at(static_cast<std::size_t>(trial.rung))
        .push_back(
            {trial.number, std::isnan(score) ? -std::numeric_limits<double>::infinity() : score, false});
}

} // namespace rekindle::research
