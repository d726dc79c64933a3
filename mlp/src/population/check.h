#pragma once
/// Checks that every population makes before it trains.

#include <rekindle/foundation/error.h>
#include <rekindle/mlp/model.h>
#include <rekindle/mlp/population.h>
#include <rekindle/mlp/training.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rekindle::mlp::population {

/// Throws Error (usage) naming the member and the field when a member is invalid, when it differs from the
/// first one in a field that all must share, or when it has another number of dropout rates than the model.
void check_members(std::span<const TrainingSpec> members, const ModelDescription& model);

/// Throws Error: for batch size 0 (usage), or if the number of orders is neither one nor `members`
/// (internal). The rows are not checked, because there are many.
void check_orders(RowOrders orders, std::size_t members, std::size_t batch_size);
/// Throws Error (internal) when [first, first + count) is not within `rows`.
void check_range(std::size_t first, std::size_t count, std::size_t rows);
/// Throws Error (internal) when `member` is not below `members`.
void check_member(std::size_t member, std::size_t members);
/// Throws Error (internal) unless there is one loss per member.
void check_losses(std::span<const double> losses, std::size_t members);
/// Throws Error (internal) when the rows are shorter than the network's inputs.
void check_samples(const Samples& samples, const ModelDescription& model);
/// The largest row; 0 if there are none.
std::uint32_t largest_of(std::span<const std::uint32_t> rows);
/// Throws Error (internal) when row `largest` is not below `count`.
void check_row(std::uint32_t largest, std::size_t count);
/// The same check for all rows.
void check_rows(std::span<const std::uint32_t> rows, std::size_t count);

/// The samples as the type that this kind of population prepares. Throws Error (internal) if another kind
/// prepared them.
template <class Set>
const Set& samples_as(const SampleSet& samples) {
    if (const auto* set = dynamic_cast<const Set*>(&samples))
        return *set;
    throw internal_error("the samples were prepared by a population on another device");
}

/// The members of a population's scratch(): the first ones, at least one and at most all.
std::vector<TrainingSpec> first_members(std::span<const TrainingSpec> members, std::size_t count);

/// The order of one member.
inline std::span<const std::uint32_t> order_of(RowOrders orders, std::size_t member) {
    return orders[orders.size() == 1 ? 0 : member];
}

} // namespace rekindle::mlp::population
