#pragma once
/// What the host writes for one call of train(): each member's numbers, each step's numbers, the rows.

#include "engine/progress.h"
#include "gpu/plan.h"

#include <rekindle/mlp/population.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rekindle::mlp::population {

struct TrainingTables {
    std::vector<gpu::MemberRecord> members;
    /// Members whose optimizer takes the same numbers at the same steps share their rows.
    std::vector<gpu::StepRecord> steps;
    /// The orders, one after the other on the device; those that share memory, as windows of one array do,
    /// are one here. By address; not owned.
    struct Order {
        std::span<const std::uint32_t> rows;
        std::size_t first = 0;
    };
    std::vector<Order> orders;
    std::size_t row_count = 0;       ///< of them all
    std::size_t largest_batches = 0; ///< of a member in this call
};

/// The steps' numbers are those of the CPU's engine. orders: checked by check_orders; the rows are
/// checked where they are copied. Throws Error when there are more than 2^32 - 1 rows in all.
TrainingTables training_tables(std::span<const TrainingSpec> members,
                               std::span<const engine::Progress> progress, RowOrders orders,
                               std::size_t batch_size);
/// The same for one more step with the gradient that is pending; members without one do nothing (rows is 0 in
/// all).
TrainingTables pending_tables(std::span<const TrainingSpec> members,
                              std::span<const engine::Progress> progress);

/// Batches of a call for an order of so many rows.
constexpr std::size_t batches_of(std::size_t rows, std::size_t batch_size) {
    return (rows + batch_size - 1) / batch_size;
}

} // namespace rekindle::mlp::population
