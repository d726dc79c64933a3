#pragma once
/// Rows that cannot be used: the first ten are listed in the error, or all are kept for rejected.csv.

#include <rekindle/foundation/error.h>
#include <rekindle/market/read_bars.h>

#include <cstdint>
#include <filesystem>
#include <vector>

namespace rekindle::market::reading {

class RejectLog {
  public:
    static constexpr std::size_t shown = 10;

    explicit RejectLog(bool keep_all) : limit_(keep_all ? SIZE_MAX : shown) {}
    /// How many rejected rows are described.
    std::size_t limit() const noexcept { return limit_; }
    bool keeps_all() const noexcept { return limit_ == SIZE_MAX; }

    void add(RejectedRow row) {
        ++count_;
        if (rows_.size() < limit_)
            rows_.push_back(std::move(row));
    }
    /// Counts rows without a description.
    void add_count(std::uint64_t count) noexcept { count_ += count; }

    std::uint64_t count() const noexcept { return count_; }
    /// Ordered by file and line; `files` gives the order of the files.
    std::vector<RejectedRow> take_sorted(const std::vector<std::filesystem::path>& files);
    /// The first ten as `file:line:column: what, expected …`, and the total count. The advice depends on
    /// `good_rows`: skipping does not help if every row is bad, and prices between two ticks may be right if
    /// the tick was inferred.
    Error error(const std::vector<std::filesystem::path>& files, std::uint64_t good_rows,
                bool off_inferred_tick = false);

  private:
    std::size_t limit_;
    std::uint64_t count_ = 0;
    std::vector<RejectedRow> rows_;
};

} // namespace rekindle::market::reading
