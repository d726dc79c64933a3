#include "reading/ordering.h"

#include <algorithm>
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

} // namespace

void merge_rows(const BarColumns& rows, std::span<const std::uint16_t> rank,
                const std::function<void(std::uint64_t)>& emit,
                const std::function<void(std::uint64_t, std::uint64_t)>& duplicate) {
    std::vector<Run> runs = find_runs(rows.time);
    const auto later = [&](std::size_t a, std::size_t b) {
        return std::tuple(rows.time[runs[a].next], a) > std::tuple(rows.time[runs[b].next], b);
    };
    std::priority_queue<std::size_t, std::vector<std::size_t>, decltype(later)> heads(later);
    for (std::size_t run = 0; run < runs.size(); ++run)
        heads.push(run);
    std::vector<std::uint64_t> group; // all rows of one instant
    while (!heads.empty()) {
        group.clear();
        const std::int64_t time = rows.time[runs[heads.top()].next];
        while (!heads.empty() && rows.time[runs[heads.top()].next] == time) {
            const std::size_t run = heads.top();
            heads.pop();
            while (runs[run].next < runs[run].end && rows.time[runs[run].next] == time)
                group.push_back(runs[run].next++);
            if (runs[run].next < runs[run].end)
                heads.push(run);
        }
        std::sort(group.begin(), group.end(), [&](std::uint64_t a, std::uint64_t b) {
            return std::tuple(rank[rows.contract[a]], a) < std::tuple(rank[rows.contract[b]], b);
        });
        std::uint64_t first = group.front();
        emit(first);
        for (std::size_t i = 1; i < group.size(); ++i)
            if (rows.contract[group[i]] == rows.contract[first]) {
                duplicate(group[i], first);
            } else {
                first = group[i];
                emit(first);
            }
    }
}

} // namespace rekindle::market::reading
