#include "reading/ordering.h"

#include <algorithm>
#include <limits>
#include <queue>
#include <tuple>

namespace rekindle::market::reading {

namespace {

/// Rows [next, end) whose times do not decrease.
struct Run {
    std::uint64_t next;
    std::uint64_t end;
};

std::vector<Run> find_runs(std::span<const std::int64_t> time) {
    std::vector<Run> runs;
    for (std::uint64_t row = 0; row < time.size(); ++row)
        if (row == 0 || time[row] < time[row - 1])
            runs.push_back({row, row + 1});
        else
            runs.back().end = row + 1;
    return runs;
}

/// Emits the rows of one instant in contract order.
class InstantEmitter {
  public:
    InstantEmitter(const BarColumns& rows, std::span<const std::uint16_t> rank,
                   const std::function<void(std::uint64_t)>& emit,
                   const std::function<void(std::uint64_t, std::uint64_t)>& duplicate)
        : rows_(rows), rank_(rank), emit_(emit), duplicate_(duplicate) {}

    void add(std::uint64_t row) { group_.push_back(row); }
    void flush() {
        if (group_.size() > 1)
            std::sort(group_.begin(), group_.end(), [&](std::uint64_t a, std::uint64_t b) {
                return std::tuple(rank_[rows_.contract[a]], a) < std::tuple(rank_[rows_.contract[b]], b);
            });
        for (std::size_t i = 0, first = 0; i < group_.size(); ++i)
            if (i > 0 && rows_.contract[group_[i]] == rows_.contract[group_[first]]) {
                duplicate_(group_[i], group_[first]);
            } else {
                first = i;
                emit_(group_[i]);
            }
        group_.clear();
    }

  private:
    const BarColumns& rows_;
    std::span<const std::uint16_t> rank_;
    const std::function<void(std::uint64_t)>& emit_;
    const std::function<void(std::uint64_t, std::uint64_t)>& duplicate_;
    std::vector<std::uint64_t> group_;
};

} // namespace

void merge_rows(const BarColumns& rows, std::span<const std::uint16_t> rank,
                const std::function<void(std::uint64_t)>& emit,
                const std::function<void(std::uint64_t, std::uint64_t)>& duplicate) {
    std::vector<Run> runs = find_runs(rows.time);
    const auto head_time = [&](std::size_t run) { return rows.time[runs[run].next]; };
    const auto later = [&](std::size_t a, std::size_t b) {
        return std::tuple(head_time(a), a) > std::tuple(head_time(b), b);
    };
    std::priority_queue<std::size_t, std::vector<std::size_t>, decltype(later)> heads(later);
    for (std::size_t run = 0; run < runs.size(); ++run)
        heads.push(run);
    InstantEmitter instant(rows, rank, emit, duplicate);
    while (!heads.empty()) {
        const std::size_t run = heads.top();
        heads.pop();
        Run& rest = runs[run];
        // Until the next run begins, this run continues alone.
        const std::int64_t limit =
            heads.empty() ? std::numeric_limits<std::int64_t>::max() : head_time(heads.top());
        for (; rest.next < rest.end && (heads.empty() || rows.time[rest.next] < limit); ++rest.next) {
            instant.add(rest.next);
            if (rest.next + 1 == rest.end || rows.time[rest.next + 1] != rows.time[rest.next])
                instant.flush();
        }
        if (rest.next == rest.end)
            continue;
        heads.push(run);
        while (!heads.empty() && head_time(heads.top()) == limit) {
            const std::size_t member = heads.top();
            heads.pop();
            while (runs[member].next < runs[member].end && rows.time[runs[member].next] == limit)
                instant.add(runs[member].next++);
            if (runs[member].next < runs[member].end)
                heads.push(member);
        }
        instant.flush();
    }
}

} // namespace rekindle::market::reading
