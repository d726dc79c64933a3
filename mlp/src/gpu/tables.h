#pragma once
/// The tables that the host writes for one call of train(): the numbers of each member, the numbers of each
/// step, the rows.

#include "cpu/progress.h"
#include "gpu/plan.h"

#include <rekindle/kernels/ceil_div.h>
#include <rekindle/mlp/population.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rekindle::mlp::gpu {

struct TrainingTables {
    std::vector<MemberRecord> members;
    /// Members whose optimizer uses the same numbers at the same steps share their rows.
    std::vector<StepRecord> steps;
    /// The orders, one after the other on the device; those that share memory, as windows of one array do,
    /// are merged. By address; not owned.
    struct Order {
        std::span<const std::uint32_t> rows;
        std::size_t first = 0;
    };
    std::vector<Order> orders;
    std::size_t row_count = 0;       ///< total
    std::size_t largest_batches = 0; ///< of a member in this call
};

/// The steps have the same scalars as on the CPU engine. orders: must have passed check_orders; the rows are
/// checked when they are copied. Throws Error if there are 2^32 rows or more in total.
TrainingTables training_tables(std::span<const TrainingSpec> members, std::span<const cpu::Progress> progress,
                               RowOrders orders, std::size_t batch_size);
/// The tables of one more step, which applies the pending gradient; members without one do nothing (rows is 0
/// for all).
TrainingTables pending_tables(std::span<const TrainingSpec> members, std::span<const cpu::Progress> progress);

/// Number of batches in a call for an order of that many rows.
constexpr std::size_t batches_of(std::size_t rows, std::size_t batch_size) {
    return kernels::ceil_div(rows, batch_size);
}

} // namespace rekindle::mlp::gpu
