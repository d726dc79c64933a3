#pragma once
/// The usual time between bars.

#include "reading/input_files.h"

#include <rekindle/market/bar_length.h>

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

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
    /// Adds the counts of another counter.
    void add(const DistanceCounter& other);
    /// The most frequent distance (the shortest one if there are several), or 0 if there is none.
    std::int64_t most_frequent() const;
    BarSpacing spacing() const;

  private:
    /// More distinct distances than any real series of bars has; new ones beyond that are ignored.
    static constexpr std::size_t limit = 100'000;

    void flush() {
        count(current_, run_);
        run_ = 0;
    }
    void count(std::int64_t distance, std::uint64_t times) {
        if (times > 0 && (counts_.size() < limit || counts_.contains(distance)))
            counts_[distance] += times;
    }
    std::map<std::int64_t, std::uint64_t> all() const;

    std::map<std::int64_t, std::uint64_t> counts_;
    std::int64_t current_ = 0;
    std::uint64_t run_ = 0;
};

/// The bar length in seconds if all files state the same one; otherwise 0.
std::int64_t stated_bar_length(const std::vector<InputFile>& files);

/// Throws Error (usage) if the bars of two files certainly differ in length, naming both files and lengths.
/// `counters` has one element per file.
void require_one_bar_length(const std::vector<InputFile>& files,
                            const std::vector<DistanceCounter>& counters);

} // namespace rekindle::market::reading
