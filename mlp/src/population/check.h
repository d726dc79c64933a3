#pragma once
/// What every population checks before it works.

#include <rekindle/mlp/model.h>
#include <rekindle/mlp/population.h>
#include <rekindle/mlp/training.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace rekindle::mlp::population {

/// Throws Error (usage) naming the member and the field when a member is invalid or differs from the first
/// one in what must be the same for all.
void check_members(std::span<const TrainingSpec> members);

/// Throws Error: for batch size 0 (usage), or if the number of orders is neither one nor `members`
/// (internal). The rows are not checked, because there are many.
void check_orders(RowOrders orders, std::size_t members, std::size_t batch_size);
/// Throws Error (internal) when [first, first + count) is not within `rows`.
void check_range(std::size_t first, std::size_t count, std::size_t rows);
/// 0 if there are none.
std::uint32_t largest_of(std::span<const std::uint32_t> rows);
/// Throws Error (internal) when row `largest` is not below `count`.
void check_row(std::uint32_t largest, std::size_t count);
/// The same for all rows.
void check_rows(std::span<const std::uint32_t> rows, std::size_t count);

/// The order of one member.
inline std::span<const std::uint32_t> order_of(RowOrders orders, std::size_t member) {
    return orders[orders.size() == 1 ? 0 : member];
}

} // namespace rekindle::mlp::population
