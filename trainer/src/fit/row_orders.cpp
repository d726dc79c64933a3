#include <rekindle/base/philox.h>
#include <rekindle/trainer/row_orders.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace rekindle::trainer {

namespace {

void shuffle(std::vector<std::uint32_t>& order, std::size_t rows, std::uint64_t seed, std::int64_t epoch) {
    order.resize(rows);
    std::iota(order.begin(), order.end(), 0u);
    PhiloxStream random(seed, RandomPurpose::shuffle, static_cast<std::uint32_t>(epoch));
    for (std::size_t i = rows; i > 1; --i)
        std::swap(order[i - 1], order[random.next_below(static_cast<std::uint32_t>(i))]);
}

} // namespace

std::vector<std::uint32_t> epoch_order(std::size_t rows, std::uint64_t seed, std::int64_t epoch) {
    std::vector<std::uint32_t> order;
    shuffle(order, rows, seed, epoch);
    return order;
}

void GroupOrders::make(std::span<const std::size_t> members, std::span<const std::uint64_t> seeds,
                       std::int64_t epoch) {
    members_.assign(members.begin(), members.end());
    orders_.resize(members.size());
    if (members.size() == 1) {
        shuffle(orders_.front(), rows_, seeds.front(), epoch);
        return;
    }
    if (!pool_)
        pool_ = std::make_unique<ThreadPool>(threads_);
    // Each job shuffles for many members: one shuffle of few rows takes less time than dispatching a job.
    constexpr std::size_t jobs_per_thread = 8;
    const std::size_t jobs = std::min(members.size(), pool_->size() * jobs_per_thread);
    pool_->for_each(jobs, [&](std::size_t job) {
        for (std::size_t i = members.size() * job / jobs; i < members.size() * (job + 1) / jobs; ++i)
            shuffle(orders_[i], rows_, seeds[i], epoch);
    });
}

mlp::RowOrders GroupOrders::slice(std::size_t first, std::size_t count, std::size_t population) {
    slices_.assign(population, {});
    for (std::size_t i = 0; i < members_.size(); ++i)
        slices_[members_[i]] = std::span<const std::uint32_t>(orders_[i]).subspan(first, count);
    return slices_;
}

} // namespace rekindle::trainer
