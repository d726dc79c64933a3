#include "stream/hazards.h"

#include <rekindle/foundation/text.h>

#include <algorithm>
#include <limits>

namespace rekindle::runtime {

void AddressRanges::insert(std::uint64_t begin, std::uint64_t bytes) {
    if (bytes == 0)
        return;
    if (bytes > std::numeric_limits<std::uint64_t>::max() - begin)
        throw Error("an accessed range of " + counted(bytes, "byte") +
                    " wraps around the end of the address space");
    const std::uint64_t end = begin + bytes;
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
    for (const Access& a : accesses)
        (a.writes ? written_ : read_).insert(a.begin.address, a.bytes);
}

} // namespace rekindle::runtime
