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
/// one in what must be the same in all.
void check_members(std::span<const TrainingSpec> members);

/// Throws Error: batch size 0 (usage), another number of orders than one or `members` (internal). The rows
/// are not looked at: there are many.
void check_orders(RowOrders orders, std::size_t members, std::size_t batch_size);
/// Throws Error (internal) when [first, first + count) is not within `rows`.
void check_range(std::size_t first, std::size_t count, std::size_t rows);
/// 0 for none.
std::uint32_t largest_of(std::span<const std::uint32_t> rows);
/// Throws Error (internal) when row `largest` is not below `count`.
void check_row(std::uint32_t largest, std::size_t count);
/// The same for every one of them.
void check_rows(std::span<const std::uint32_t> rows, std::size_t count);

/// The order of one member.
inline std::span<const std::uint32_t> order_of(RowOrders orders, std::size_t member) {
    return orders[orders.size() == 1 ? 0 : member];
}

} // namespace rekindle::mlp::population
