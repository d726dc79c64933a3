#pragma once
/// The usual time between bars.

#include <cstdint>
#include <map>

namespace rekindle::market::reading {

/// Counts the distances between neighboring bars. Optimized for one distance that repeats.
class DistanceCounter {
  public:
    void add(std::int64_t distance) {
        if (distance == current_) [[likely]] {
            ++run_;
            return;
        }
        flush();
        current_ = distance;
        run_ = 1;
    }
    /// The most frequent distance (the shortest one if there are several), or 0 if there is none.
    std::int64_t most_frequent() {
        flush();
        std::int64_t best = 0;
        std::uint64_t best_count = 0;
        for (const auto& [distance, count] : counts_)
            if (count > best_count) {
                best = distance;
                best_count = count;
            }
        return best;
    }

  private:
    /// More distinct distances than any real series of bars has; new ones beyond that are ignored.
    static constexpr std::size_t limit = 100'000;

    void flush() {
        if (run_ > 0 && (counts_.size() < limit || counts_.contains(current_)))
            counts_[current_] += run_;
        run_ = 0;
    }
    std::map<std::int64_t, std::uint64_t> counts_;
    std::int64_t current_ = 0;
    std::uint64_t run_ = 0;
};

} // namespace rekindle::market::reading
