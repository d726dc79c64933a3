#pragma once
/// What the kernels on matrix units (kernels/product/units.slang) need to know about subgroups and shared
/// memory.

#include <algorithm>
#include <cstdint>

namespace rekindle::kernels {

/// Kernels on matrix units divide a tile into one block for each subgroup of this size. With larger
/// subgroups, a workgroup would have fewer subgroups than blocks.
inline constexpr std::uint32_t largest_unit_subgroup = 32;

/// The values of the constants subgroup_size and idle_subgroups.
struct UnitSubgroups {
    std::uint32_t size = 0; ///< to be requested from the driver; 0: the driver's choice
    std::uint32_t idle = 1; ///< 1: a workgroup may have more subgroups than the tile has blocks
};
/// Chooses them for a device that supports these sizes. minimum: at most largest_unit_subgroup.
constexpr UnitSubgroups unit_subgroups(std::uint32_t minimum, std::uint32_t maximum) {
    if (maximum > largest_unit_subgroup)
        return {largest_unit_subgroup, 0};
    return {0, minimum == largest_unit_subgroup && maximum == largest_unit_subgroup ? 0u : 1u};
}

/// Groups of eight numbers that a slice of `outer` rows or columns by `depth` occupies in shared memory, with
/// one group of padding per row, in whichever layout needs more.
constexpr std::uint32_t eights_of_slice(std::uint32_t outer, std::uint32_t depth) {
    return std::max(outer * (depth / 8 + 1), depth * (outer / 8 + 1));
}
/// Returns the value of the constant shared_eights for a variant of kernels.json. While the kernel
/// multiplies, this memory holds `stages` slices of each factor; while it stores the result, it holds sums:
/// each subgroup copies at least one row of matrices of its block at a time. Rows are padded by one group.
template <class Variant>
constexpr std::uint32_t eights_of_tile(const Variant& tile) {
    constexpr std::uint32_t most_rows_of_unit = 16;
    const std::uint32_t subgroups = tile.threads / largest_unit_subgroup;
    const std::uint32_t sums = tile.rows / tile.row_blocks * tile.columns / 4 + subgroups * most_rows_of_unit;
    const std::uint32_t slices =
        eights_of_slice(tile.rows, tile.depth) + eights_of_slice(tile.columns, tile.depth);
    return std::max(tile.stages * slices, sums);
}

} // namespace rekindle::kernels
