#pragma once
/// Decides which operations may run at the same time. No other code decides where barriers go.

#include <rekindle/runtime/stream.h>

#include <cstdint>
#include <span>
#include <vector>

namespace rekindle::runtime {

/// A set of bytes of a 64-bit address space, kept as sorted disjoint half-open ranges; neighbors are merged.
/// A lookup is a binary search. Inserting one range moves the ranges after it; inserting the ranges of many
/// accesses sorts the whole set. Allocates only when it grows beyond its previous maximum size. Not
/// thread-safe.
class AddressRanges {
  public:
    /// Adds [begin, begin + bytes). Throws Error when the range wraps around.
    void insert(std::uint64_t begin, std::uint64_t bytes);
    /// Adds the ranges of all accesses that write (`writes`), or of all that only read. Throws Error when a
    /// range wraps around; the set is then unchanged.
    void insert(std::span<const Access> accesses, bool writes);
    /// Whether any byte of [begin, begin + bytes) is in the set; an empty range overlaps nothing.
    bool overlaps(std::uint64_t begin, std::uint64_t bytes) const;
    void clear() noexcept { ranges_.clear(); }
    bool empty() const noexcept { return ranges_.empty(); }
    /// Number of disjoint ranges.
    std::size_t size() const noexcept { return ranges_.size(); }

  private:
    struct Range {
        std::uint64_t begin, end;
    };
    std::vector<Range> ranges_;
};

/// The bytes that were read and written since the last barrier. An operation needs a barrier before it if it
/// uses a byte that was written since, or writes a byte that was read since. Operations between two barriers
/// may run in any order and at the same time. Not thread-safe.
class HazardTracker {
  public:
    /// Also true when so many ranges have accumulated that searching them would cost more than a barrier.
    bool needs_barrier(std::span<const Access> accesses) const;
    /// A barrier was recorded: the operations before it no longer matter.
    void barrier() noexcept;
    /// An operation with these accesses was recorded. Its own accesses are not hazards for each other.
    void add(std::span<const Access> accesses);
    /// Whether an operation was added since the last barrier.
    bool pending() const noexcept { return !read_.empty() || !written_.empty(); }

    static constexpr std::size_t maximum_ranges = 2048;

  private:
    AddressRanges read_, written_;
};

} // namespace rekindle::runtime
