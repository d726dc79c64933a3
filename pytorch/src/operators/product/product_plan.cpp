#include "product_plan.h"

#include "../../dispatch/limits.h"

#include <rekindle/kernels/ceil_div.h>
#include <rekindle/kernels/families/product_float64.h>
#include <rekindle/kernels/families/product_int64.h>
#include <rekindle/kernels/product_tiles.h>

#include <algorithm>
#include <array>
#include <span>

namespace rvk {

namespace {

constexpr std::int64_t slice_depth = 16;    // parts of k are multiples of this and of the tile's depth
constexpr std::int64_t shortest_part = 128; // of k
constexpr std::int64_t most_parts = 64;
constexpr std::int64_t parts_to_try[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, most_parts};

/// A tile's figures in the cost model. Fitted to 2,824 measured products of 184 shapes on an H200
/// (REKINDLE_AUTOTUNE=1 with REKINDLE_LOG=1 prints such times); the plan with the least estimated time is on
/// average 1.6 % slower than the fastest one.
struct TileCost {
    std::int64_t resident; ///< workgroups that a compute unit runs at the same time
    double speed;          ///< of one compute unit with that many workgroups, in TFLOP/s
    double alone;          ///< the fraction of that speed with a single workgroup
    double start;          ///< fixed cost per workgroup, in iterations over k
};

TileCost cost_of(const ProductPlan& plan) {
    const std::int64_t size = plan.rows * plan.columns;
    if (plan.units)
        return size > 128 * 128    ? TileCost{1, 1.72, 1, 96}
               : size == 128 * 128 ? TileCost{1, 1.55, 1, 96}
                                   : TileCost{4, 1.46, 0.55, 64};
    return size == 128 * 128 ? TileCost{2, 0.276, 0.88, 4}
           : size == 64 * 64 ? TileCost{3, 0.255, 0.7, 4}
                             : TileCost{8, 0.175, 0.26, 4};
}

std::vector<ProductPlan> in_tiles(std::span<const kernels::ProductVariant> variants) {
    std::vector<ProductPlan> plans;
    for (const kernels::ProductVariant& variant : variants) {
        const kernels::ProductTile tile = kernels::tile_of(variant);
        plans.push_back({tile.kernel, tile.rows, tile.columns, tile.depth, tile.iterations});
    }
    return plans;
}
ProductPlan on(const runtime::UnitTile& units) {
    return {units.kernel, units.rows, units.columns, units.depth, 1, units};
}

std::int64_t tiles_of(const ProductShape& shape, std::int64_t rows, std::int64_t columns) {
    return kernels::ceil_div(shape.m, rows) * kernels::ceil_div(shape.n, columns) * shape.batch;
}

/// The type of the factors on matrix units; empty for small products, which would leave most of a unit
/// unused.
std::optional<runtime::UnitFactor> factor_on_units(const ProductShape& shape) {
    return std::min({shape.m, shape.n, shape.k}) >= 16 ? unit_factor(shape.dtype) : std::nullopt;
}

/// Every tile worth considering: those on matrix units if there are any, because they are always faster.
std::vector<ProductPlan> tiles_for(const ProductShape& shape) {
    if (shape.family == NumberFamily::float64)
        return in_tiles(kernels::product_variants_float64);
    if (shape.family == NumberFamily::integer)
        return in_tiles(kernels::product_variants_int64);
    std::vector<ProductPlan> tiles;
    if (const auto factor = factor_on_units(shape))
        for (const runtime::UnitTile& tile : runtime::unit_tiles(device(shape.device.index()), *factor))
            tiles.push_back(on(tile));
    return tiles.empty() ? in_tiles(kernels::product_variants) : tiles;
}

/// Splits k into about `target` parts, none longer than one launch can sum.
ProductPlan in_parts(ProductPlan plan, std::int64_t k, std::int64_t target) {
    const std::int64_t longest = most_iterations / plan.iterations * plan.depth;
    const std::int64_t depth = std::max(slice_depth, plan.depth);
    target = std::max(target, kernels::ceil_div(k, longest));
    plan.k_part = std::max(kernels::ceil_div(kernels::ceil_div(k, target), depth) * depth, depth);
    plan.parts = std::max<std::int64_t>(kernels::ceil_div(k, plan.k_part), 1);
    return plan;
}

std::size_t hash_of(const ProductShape& shape) {
    std::size_t hash =
        static_cast<std::size_t>(shape.dtype) + 31 * static_cast<std::size_t>(shape.device.index());
    for (const std::int64_t size : {shape.m, shape.n, shape.k, shape.batch})
        hash = (hash ^ static_cast<std::size_t>(size)) * 0x9e3779b97f4a7c15;
    return hash >> 32;
}

/// Estimated time in microseconds. The busiest compute unit runs its tiles in rounds of `resident`
/// workgroups, which partly overlap. If k is split, the parts are written, and another launch reads and adds
/// them.
double time_of(const ProductShape& shape, const ProductPlan& plan, std::int64_t multiprocessors) {
    constexpr double share_of_rounds = 0.9, of_combining = 8.5, of_a_million_sums = 1.7;
    const TileCost cost = cost_of(plan);
    const double work = 2e-6 * static_cast<double>(plan.rows * plan.columns) *
                        (static_cast<double>(std::min(plan.k_part, shape.k)) + cost.start);
    const auto speed = [&](std::int64_t groups) {
        const double others =
            cost.resident == 1 ? 1 : static_cast<double>(groups - 1) / static_cast<double>(cost.resident - 1);
        return cost.speed * (cost.alone + (1 - cost.alone) * others);
    };
    const std::int64_t groups = tiles_of(shape, plan.rows, plan.columns) * plan.parts;
    const std::int64_t most = kernels::ceil_div(groups, multiprocessors); // on the busiest unit
    const std::int64_t rounds = most / cost.resident, rest = most % cost.resident;
    const double in_rounds = static_cast<double>(rounds * cost.resident) * work / cost.speed +
                             (rest == 0 ? 0 : static_cast<double>(rest) * work / speed(rest));
    const double overlapped =
        std::max(static_cast<double>(groups) / static_cast<double>(multiprocessors) * work / cost.speed,
                 work / speed(1));
    double time = share_of_rounds * in_rounds + (1 - share_of_rounds) * overlapped;
    if (plan.parts > 1)
        time += of_combining + of_a_million_sums * 1e-6 * static_cast<double>(plan.parts + 1) *
                                   static_cast<double>(shape.m * shape.n * shape.batch);
    return time;
}

/// Tiles and numbers of parts that can compute the product in one launch, and tiles that need several.
std::vector<ProductPlan> plans_for(const ProductShape& shape) {
    std::vector<ProductPlan> plans;
    for (const ProductPlan& tile : tiles_for(shape))
        for (const std::int64_t parts : parts_to_try) {
            if (parts > 1 && (shape.k / parts < shortest_part || !is_one_launch(shape, tile)))
                break;
            const ProductPlan plan = in_parts(tile, shape.k, parts);
            if (plans.empty() || plans.back().name() != plan.name())
                plans.push_back(plan);
        }
    return plans;
}

ProductPlan estimated_plan(const ProductShape& shape) {
    const std::vector<ProductPlan> plans = plans_for(shape);
    const std::int64_t count = multiprocessors(shape.device);
    return *std::ranges::min_element(plans, {},
                                     [&](const ProductPlan& plan) { return time_of(shape, plan, count); });
}

} // namespace

std::string ProductPlan::name() const {
    return (units ? "units " : "") + std::to_string(rows) + "x" + std::to_string(columns) + "/" +
           std::to_string(parts);
}

std::int64_t multiprocessors(c10::Device on) {
    constexpr std::int64_t usual = 64; // if the driver does not report them
    const std::int64_t reported = device(on.index()).info().can.compute_units;
    return reported != 0 ? reported : usual;
}

bool is_one_launch(const ProductShape& shape, const ProductPlan& tile) {
    return shape.batch <= most_groups / most_parts && shape.m <= most_groups * tile.rows &&
           shape.n <= most_groups * tile.columns;
}

ProductPlan default_plan(const ProductShape& shape) {
    // Training repeats its shapes; the estimates would take longer than a launch.
    struct Known {
        std::optional<ProductShape> shape;
        ProductPlan plan;
    };
    thread_local std::array<Known, 256> known;
    Known& entry = known[hash_of(shape) % known.size()];
    if (entry.shape != shape)
        entry = {shape, estimated_plan(shape)};
    return entry.plan;
}

std::vector<ProductPlan> possible_plans(const ProductShape& shape) {
    std::vector<ProductPlan> plans{default_plan(shape)};
    for (const ProductPlan& plan : plans_for(shape))
        if (plan.name() != plans.front().name() && is_one_launch(shape, plan))
            plans.push_back(plan);
    return plans;
}

} // namespace rvk
