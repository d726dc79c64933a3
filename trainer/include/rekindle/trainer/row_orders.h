#pragma once
/// The orders in which a group of networks takes its rows in one epoch.

#include <rekindle/base/thread_pool.h>
#include <rekindle/mlp/population.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace rekindle::trainer {

/// The order of rows in an epoch (from 0): a Fisher-Yates shuffle by Philox.
std::vector<std::uint32_t> epoch_order(std::size_t rows, std::uint64_t seed, std::int64_t epoch);

/// Not thread-safe.
class GroupOrders {
  public:
    /// `threads`: the number of threads that shuffle.
    GroupOrders(std::size_t rows, std::size_t threads) : rows_(rows), threads_(threads) {}

    /// Shuffles epoch `epoch` for the given members, each by its own seed; the others have no rows. `members`
    /// and `seeds` have the same length.
    void make(std::span<const std::size_t> members, std::span<const std::uint64_t> seeds, std::int64_t epoch);
    /// Rows [first, first + count) of each order, for `population` members in all. Valid until the next call.
    mlp::RowOrders slice(std::size_t first, std::size_t count, std::size_t population);

  private:
    std::size_t rows_, threads_;
    std::unique_ptr<ThreadPool> pool_; ///< made when there is more than one order
    std::vector<std::size_t> members_;
    std::vector<std::vector<std::uint32_t>> orders_;
    std::vector<std::span<const std::uint32_t>> slices_;
};

} // namespace rekindle::trainer
