#pragma once
/// Which trial runs next.

#include <rekindle/research/search.h>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace rekindle::research {

/// A trial that is to run: a point, for a number of epochs.
struct PlannedTrial {
    std::uint64_t number = 0;
    std::int64_t rung = 0;
    std::int64_t epochs = 0;
};

/// Hands out trials in groups and takes their scores. The groups depend only on the rules and on the scores
/// of the groups before, so that an interrupted search continues as if it had not been interrupted.
///
/// Successive halving is asynchronous (Li et al., "A system for massively parallel hyperparameter tuning",
/// 2020): a trial that is among the best 1 / reduction of its rung and was not promoted yet goes to the next
/// rung before a new one begins. Here a promoted trial starts again from its first epoch.
class Schedule {
  public:
    /// `epochs`: of a trial on the last rung. `trials`: points to try.
    Schedule(const SearchRules& rules, std::int64_t epochs, std::uint64_t trials);

    /// At most `most` trials (of halving: 16) that do not depend on each other; empty when all is done.
    std::vector<PlannedTrial> next(std::size_t most);
    /// Records a trial; `score` is the larger the better, NaN if the trial diverged.
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
