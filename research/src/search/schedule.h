#pragma once
/// Decides which trial runs next.

#include <rekindle/research/search.h>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace rekindle::research {

/// Hands out trials in groups and records their scores. The groups depend only on the rules and the scores of
/// earlier groups, so an interrupted search continues as if it had not been interrupted.
///
/// Successive halving is asynchronous (Li et al., "A system for massively parallel hyperparameter tuning",
/// 2020): before a new trial begins, a trial among the best 1 / reduction of its rung is promoted to the next
/// rung. Here, a promoted trial starts over from its first epoch.
class Schedule {
  public:
    /// `epochs` is the number of epochs on the last rung, `trials` the number of points to try.
    Schedule(const SearchRules& rules, std::int64_t epochs, std::uint64_t trials);

    /// The next independent trials, at most `most` (16 for halving); empty when all are done.
    std::vector<PlannedTrial> next(std::size_t most);
    /// Records the score of a trial: higher is better, NaN means that it diverged.
    void finish(const PlannedTrial& trial, double score);

    std::int64_t rungs() const noexcept { return static_cast<std::int64_t>(epochs_.size()); }
    std::int64_t epochs_of(std::int64_t rung) const { return epochs_.at(static_cast<std::size_t>(rung)); }

  private:
    struct Scored {
        std::uint64_t number = 0;
        double score = 0;
        bool promoted = false;
    };
    std::optional<PlannedTrial> promotion();

    std::vector<std::int64_t> epochs_; ///< per rung
    std::uint64_t trials_;
    std::uint64_t started_ = 0;
    std::size_t reduction_;
    std::vector<std::vector<Scored>> rungs_; ///< finished trials
};

} // namespace rekindle::research
