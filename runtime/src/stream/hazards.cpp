#include "stream/hazards.h"

#include <rekindle/foundation/text.h>

#include <algorithm>
#include <limits>

namespace rekindle::runtime {

namespace {

/// For this many accesses or more, appending all ranges and sorting them once is faster than inserting each
/// at its place. Optimizers pass hundreds of tensors, which are scattered in memory.
constexpr std::size_t many = 16;

std::uint64_t end_of(std::uint64_t begin, std::uint64_t bytes) {
    if (bytes > std::numeric_limits<std::uint64_t>::max() - begin)
        throw Error("an accessed range of " + counted(bytes, "byte") +
                    " wraps around the end of the address space");
    return begin + bytes;
}

} // namespace

void AddressRanges::insert(std::uint64_t begin, std::uint64_t bytes) {
    if (bytes == 0)
        return;
    const std::uint64_t end = end_of(begin, bytes);
    // The ranges that touch the new one: from the first that ends at or after its start, to the last that
    // begins at or before its end.
    const auto first = std::lower_bound(ranges_.begin(), ranges_.end(), begin,
                                        [](const Range& r, std::uint64_t at) { return r.end < at; });
    const auto last = std::upper_bound(first, ranges_.end(), end,
                                       [](std::uint64_t at, const Range& r) { return at < r.begin; });
    if (first == last) {
        ranges_.insert(first, {begin, end});
        return;
    }
    *first = {std::min(begin, first->begin), std::max(end, (last - 1)->end)};
    ranges_.erase(first + 1, last);
}

void AddressRanges::insert(std::span<const Access> accesses, bool writes) {
    for (const Access& a : accesses)
        end_of(a.begin.address, a.bytes);
    const std::size_t before = ranges_.size();
    for (const Access& a : accesses)
        if (a.writes == writes && a.bytes != 0)
            ranges_.push_back({a.begin.address, end_of(a.begin.address, a.bytes)});
    if (ranges_.size() == before)
        return;
    std::ranges::sort(ranges_, {}, &Range::begin);
    auto last = ranges_.begin();
    for (auto next = last + 1; next != ranges_.end(); ++next) {
        if (next->begin <= last->end)
            last->end = std::max(last->end, next->end);
        else
            *++last = *next;
    }
    ranges_.erase(last + 1, ranges_.end());
}

bool AddressRanges::overlaps(std::uint64_t begin, std::uint64_t bytes) const {
    const auto behind = std::upper_bound(ranges_.begin(), ranges_.end(), begin,
                                         [](std::uint64_t at, const Range& r) { return at < r.end; });
    if (bytes == 0 || behind == ranges_.end())
        return false;
    return behind->begin <= begin || behind->begin - begin < bytes;
}

bool HazardTracker::needs_barrier(std::span<const Access> accesses) const {
    if (read_.size() + written_.size() > maximum_ranges)
        return true;
    return std::any_of(accesses.begin(), accesses.end(), [this](const Access& a) {
        return written_.overlaps(a.begin.address, a.bytes) ||
               (a.writes && read_.overlaps(a.begin.address, a.bytes));
    });
}

void HazardTracker::barrier() noexcept {
    read_.clear();
    written_.clear();
}

void HazardTracker::add(std::span<const Access> accesses) {
    if (accesses.size() >= many) {
        written_.insert(accesses, true);
        read_.insert(accesses, false);
        return;
    }
    for (const Access& a : accesses)
        (a.writes ? written_ : read_).insert(a.begin.address, a.bytes);
}

} // namespace rekindle::runtime
