#include <rekindle/kernels/ceil_div.h>
#include <rekindle/kernels/families/attention.h>
#include <rekindle/kernels/families/attention_wide.h>
#include <rekindle/products/cost.h>
#include <rekindle/products/limits.h>
#include <rekindle/products/plan.h>

#include <algorithm>
#include <array>
#include <bit>
#include <set>
#include <stdexcept>

namespace rekindle::products {

namespace {

using kernels::ceil_div;

constexpr std::int64_t least_depth = 16;    // parts of k are multiples of this and of the tile's depth
constexpr std::int64_t shortest_part = 128; // of k
constexpr std::int64_t most_parts = 128;
constexpr std::int64_t most_scratch_bytes = std::int64_t{1} << 30; // some drivers allow no larger block
constexpr std::array parts_to_try{1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128};

/// Splits k into about `target` parts, none longer than one launch can sum.
Plan in_parts(const Tile& tile, std::int64_t k, std::int64_t target) {
    const std::int64_t depth = std::max<std::int64_t>(least_depth, tile.depth);
    target = std::max(target, ceil_div(k, longest_k(tile)));
    Plan plan{tile};
    plan.k_part = std::max(ceil_div(ceil_div(k, target), depth) * depth, depth);
    plan.parts = std::max<std::int64_t>(ceil_div(k, plan.k_part), 1);
    return plan;
}

/// The size of the matrix product that a plan computes.
struct ProductSize {
    std::int64_t m, n, k, count;
    bool a_aligned = true, b_aligned = true; // as in ProductShape
};

/// Adds the tile with every split of k that is worthwhile. matrices: how many the launch that adds parts
/// covers. may_split: whether k can be split at all.
void add_plans(std::vector<Plan>& plans, const Tile& tile, ElementType type, const ProductSize& size,
               std::int64_t matrices, bool may_split) {
    const std::int64_t k = size.k, bytes = size.m * size.n * size.count * sum_bytes(type);
    for (const std::int64_t parts : parts_to_try) {
        if (parts > 1 && (!may_split || k / parts < shortest_part || matrices * parts > most_groups ||
                          bytes > most_scratch_bytes / parts))
            break;
        const Plan plan = in_parts(tile, k, parts);
        if (plans.empty() || plans.back().name() != plan.name())
            plans.push_back(plan);
    }
}

/// Estimates how many registers a thread needs from the number of sums that it holds. NVIDIA's driver
/// reported the numbers for kernels without matrix units. Those for matrix units were chosen so that the
/// plans' estimated times agree with measured ones. They imply that a compute unit of an H200 runs three
/// workgroups with tiles of 64 x 64 at once, or four if the kernel has no loop over k. Kernels that gather
/// keep more addresses in registers: 8 more registers agree with the times of an H100.
std::uint32_t registers_of(const Tile& tile, bool one_slice) {
    const std::uint32_t sums = tile.rows * tile.columns / tile.kernel->threads;
    constexpr std::uint32_t most = 256; // no GPU gives a thread more
    return std::min(most, tile.on_units ? (one_slice ? 88 : 96) + sums * 5 / 4 + (tile.gathers ? 8 : 0)
                                        : 56 + sums);
}

/// Factors of a wide tile's costs on matrix units, relative to an ordinary tile, measured on an H200. Wide
/// tiles multiply faster, except when only one workgroup runs on a compute unit. Each slice adds half as much
/// latency, because it is half as deep and the kernel loads it two slices ahead. Storing the result takes
/// longer, because fewer threads store it.
struct WideUnits {
    static constexpr double rate = 1.25, rate_alone = 0.6, latency = 0.5, stores = 3;
};

/// The work of a workgroup that sums `k` products for each element of its tile.
GroupWork work_of(const DeviceParameters& device, ElementType type, const Tile& tile, const ProductSize& size,
                  std::int64_t k, std::uint32_t result_bytes) {
    // Each gathered element needs an index, and its neighbors may lie elsewhere. Kernels without matrix units
    // load four numbers at once, the others eight.
    const double gathering = tile.gathers ? 1.5 : 1, narrow_loads = tile.on_units ? 1 : 2.1;
    const double rows = tile.rows, columns = tile.columns, depth = tile.depth;
    // Without matrix units, a thread with more sums multiplies what it loads from shared memory more often.
    const double sums = rows * columns / tile.kernel->threads;
    const double reuse = tile.on_units ? 1 : sums / (sums + 4);
    const double bytes = tile.on_units ? 2 : std::max(4u, bytes_of(type));
    const double loaded = (rows + columns) * depth * bytes;
    const bool wide_units = tile.wide && tile.on_units;
    // Matrix units: loading a factor that is not aligned takes twice as long, as measured on an H100.
    const double unaligned = tile.on_units ? (size.a_aligned ? 0 : rows) + (size.b_aligned ? 0 : columns) : 0;
    return {.on_units = tile.on_units,
            .slices = static_cast<double>(ceil_div<std::int64_t>(std::max<std::int64_t>(k, 1), tile.depth)),
            .multiply_adds = rows * columns * depth,
            .loaded_bytes = loaded * gathering * narrow_loads + unaligned * depth * bytes,
            .edge_bytes = loaded + rows * columns * result_bytes * (wide_units ? WideUnits::stores : 1),
            .converted_bytes = tile.on_units && result_bytes == 2 ? rows * columns * result_bytes : 0,
            .latency = wide_units      ? WideUnits::latency
                       : tile.on_units ? 1
                                       : depth / 24 * (tile.iterations > 1 ? 2 : 1),
            .threads = tile.kernel->threads,
            .registers = registers_of(tile, k <= tile.depth),
            .shared_bytes = tile.shared_bytes(),
            .rate = reuse * (sum_bytes(type) == 8        ? 0.25
                             : tile.multiplies_float16() ? device.float16_rate / device.float32_rate
                             : wide_units                ? WideUnits::rate
                             : tile.wide                 ? device.wide_rate / device.float32_rate
                                                         : 1),
            // Measured on an H200: a wide tile alone has too few subgroups to hide latency.
            .rate_alone = wide_units  ? WideUnits::rate_alone
                          : tile.wide ? 0.43
                                      : 1};
}

double estimate_product(const DeviceParameters& device, ElementType type, const ProductSize& size,
                        const Plan& plan) {
    const std::uint32_t result_bytes = plan.parts > 1 ? sum_bytes(type) : bytes_of(type);
    const GroupWork work =
        work_of(device, type, plan.tile, size, std::min(plan.k_part, size.k), result_bytes);
    const auto m = static_cast<double>(size.m), n = static_cast<double>(size.n),
               k = static_cast<double>(size.k), count = static_cast<double>(size.count),
               parts = static_cast<double>(plan.parts);
    const double groups = static_cast<double>(ceil_div<std::int64_t>(size.m, plan.tile.rows)) *
                          static_cast<double>(ceil_div<std::int64_t>(size.n, plan.tile.columns)) * count *
                          parts;
    const double bytes = count * ((m + n) * k * bytes_of(type) + m * n * parts * result_bytes);
    return launch_time(device, work, groups, bytes) +
           (plan.parts > 1 ? combine_time(device, plan.parts, m * n * count, sum_bytes(type)) : 0);
}

/// Overstates the memory traffic: a convolution reads fewer bytes than the equivalent product.
ProductSize product_size_of(const ConvolutionShape& shape) {
    return {shape.m, shape.n, shape.k, shape.groups};
}

bool may_split(const ConvolutionShape& shape) {
    return shape.groups == 1 || shape.pass == ConvolutionPass::weight_gradient;
}

} // namespace

std::string Plan::name() const {
    return tile.name() + "/" + std::to_string(parts);
}

std::vector<std::string> names_of(std::span<const Plan> plans) {
    std::vector<std::string> names;
    names.reserve(plans.size());
    for (const Plan& plan : plans)
        names.push_back(plan.name());
    return names;
}

std::int64_t longest_k(const Tile& tile) {
    return most_iterations / tile.iterations * tile.depth;
}

bool is_one_launch(const ProductShape& shape, const Tile& tile) {
    return shape.batch <= most_groups && shape.m <= most_groups * tile.rows &&
           shape.n <= most_groups * tile.columns;
}

double estimate(const DeviceParameters& device, const ProductShape& shape, const Plan& plan) {
    return estimate_product(device, shape.type,
                            {shape.m, shape.n, shape.k, shape.batch, shape.a_aligned, shape.b_aligned}, plan);
}

double estimate(const DeviceParameters& device, const ConvolutionShape& shape, const Plan& plan) {
    return estimate_product(device, shape.type, product_size_of(shape), plan);
}

std::vector<Plan> possible_plans(const DeviceParameters& device, const ProductShape& shape) {
    // Two rows or columns are enough: they leave most of a matrix unit unused, but then loading the other
    // factor takes longer than multiplying.
    const bool large = std::min(shape.m, shape.n) >= 2 && std::max(shape.m, shape.n) >= 16 && shape.k >= 16;
    std::vector<Tile> tiles = large ? unit_product_tiles(device, shape.type) : std::vector<Tile>();
    if (tiles.empty())
        tiles = product_tiles(device, shape.type);
    // Loading a factor that is not aligned needs registers that a wide tile does not have.
    if (!shape.a_aligned || !shape.b_aligned)
        std::erase_if(tiles, [](const Tile& tile) { return tile.on_units && tile.wide; });
    // A CPU driver takes ten times as long to compile the tile for few rows as the tile of 32 x 32.
    if (device.is_cpu)
        std::erase_if(tiles, [](const Tile& tile) { return tile.rows < 32 && !tile.on_units; });
    std::vector<Plan> plans;
    for (const Tile& tile : tiles)
        add_plans(plans, tile, shape.type, {shape.m, shape.n, shape.k, shape.batch}, shape.batch,
                  is_one_launch(shape, tile));
    return plans;
}

std::vector<Plan> possible_plans(const DeviceParameters& device, const ConvolutionShape& shape) {
    std::vector<Plan> plans;
    for (const Tile& tile : convolution_tiles(device, shape.type)) {
        // In the gradient of the weight, tiles of several taps need too many registers for more columns, and
        // 64 x 128 with more parts is faster than 128 x 128, as measured on an H200.
        if (shape.pass == ConvolutionPass::weight_gradient &&
            ((tile.columns > 64 && shape.taps > 1 && shape.channels % tile.columns != 0) ||
             tile.rows * tile.columns > 64 * 128))
            continue;
        add_plans(plans, tile, shape.type, product_size_of(shape), std::max(shape.groups, shape.images),
                  may_split(shape));
    }
    return plans;
}

std::vector<Plan> possible_unit_plans(const DeviceParameters& device, const ConvolutionShape& shape) {
    std::vector<Plan> plans;
    for (const Tile& tile : unit_convolution_tiles(device, shape.type))
        add_plans(plans, tile, shape.type, product_size_of(shape), std::max(shape.groups, shape.images),
                  may_split(shape));
    return plans;
}

template <class Shape>
const Plan& fastest_plan(const DeviceParameters& device, const Shape& shape, const std::vector<Plan>& plans) {
    return *std::ranges::min_element(plans, {},
                                     [&](const Plan& plan) { return estimate(device, shape, plan); });
}
template const Plan& fastest_plan(const DeviceParameters&, const ProductShape&, const std::vector<Plan>&);
template const Plan& fastest_plan(const DeviceParameters&, const ConvolutionShape&, const std::vector<Plan>&);

VectorPlan vector_plan(const DeviceParameters& device, std::int64_t rows, std::int64_t k, std::int64_t batch,
                       bool contiguous, bool rows_in_quads) {
    constexpr std::int64_t threads = 256, groups_per_unit = 2;
    constexpr std::int64_t most_vector_parts = 256;
    VectorPlan plan;
    plan.lanes = contiguous && k >= 64 ? 64 : 8;
    plan.rows_in_quads = rows_in_quads && plan.lanes == 8;
    plan.rows = threads / plan.lanes * (plan.rows_in_quads ? 4 : 1);
    const std::int64_t groups = ceil_div(rows, plan.rows) * batch;
    std::int64_t target = 1;
    if (batch * most_vector_parts <= most_groups)
        target = std::clamp<std::int64_t>(
            std::min(ceil_div(groups_per_unit * device.compute_units, groups), k / (64 * plan.lanes)), 1,
            most_vector_parts);
    target = std::max(target, ceil_div(k, most_iterations * plan.lanes));
    plan.k_part = std::max(ceil_div(ceil_div(k, target), plan.lanes) * plan.lanes, plan.lanes);
    plan.parts = std::max<std::int64_t>(ceil_div(k, plan.k_part), 1);
    return plan;
}

bool winograd_is_faster(const DeviceParameters& device, double multiply_adds, double transformed_bytes,
                        double direct_multiply_adds) {
    // The transforms use memory less efficiently than a copy: with the default rates, a number that is
    // written and read costs as much as 64 multiply-adds, as measured on an H200. They also take launches of
    // their own.
    constexpr double transform = 1.773, least_saving = 1 << 25;
    const double rate = device.float32_rate * device.compute_units;
    return direct_multiply_adds - multiply_adds -
               transform * transformed_bytes / device.memory_bandwidth * rate >=
           least_saving;
}

bool units_are_faster(const DeviceParameters& device, const ConvolutionShape& shape, double moved_bytes) {
    const std::vector<Plan> on_units = possible_unit_plans(device, shape);
    if (on_units.empty())
        return false;
    const double moving = 2 * device.launch_seconds + 2 * moved_bytes / device.memory_bandwidth;
    const std::vector<Plan> others = possible_plans(device, shape);
    return estimate(device, shape, fastest_plan(device, shape, on_units)) + moving <
           estimate(device, shape, fastest_plan(device, shape, others));
}

namespace {

/// kernels/attention/tiles.slang: rows of a tile per row of a thread; columns of a tile; columns of a result
/// per quad of a thread; numbers of a row in a slice of a dot product.
constexpr std::int64_t row_groups = 8, tile_columns = 64, quad_columns = 64, slice = 32;

/// How many results a pass computes for each row: the gradients of keys and values are two.
std::int64_t results(AttentionPass pass) {
    return pass == AttentionPass::of_keys ? 2 : 1;
}

} // namespace

std::int64_t attention_groups(std::int64_t width) {
    const auto groups = static_cast<std::uint64_t>(ceil_div(std::max<std::int64_t>(width, 1), quad_columns));
    return static_cast<std::int64_t>(std::bit_ceil(groups));
}

std::string name(const AttentionTile& tile) {
    return "rows " + std::to_string(tile.rows_of_thread) + (tile.wide ? ", wide" : "");
}

const kernels::Kernel& attention_kernel(AttentionPass pass, bool wide) {
    // Both families are compiled from attention.slang, so their parameters and constants are the same.
    static_assert(sizeof(kernels::AttentionParameters) == sizeof(kernels::AttentionWideParameters) &&
                  sizeof(kernels::AttentionConstants) == sizeof(kernels::AttentionWideConstants));
    switch (pass) {
    case AttentionPass::forward:
        return wide ? kernels::attention_wide_forward.kernel : kernels::attention_forward.kernel;
    case AttentionPass::of_queries:
        return wide ? kernels::attention_wide_queries_backward.kernel
                    : kernels::attention_queries_backward.kernel;
    case AttentionPass::of_keys:
        break;
    }
    if (wide)
        throw std::out_of_range("the gradients of keys and values are not computed in wide tiles");
    return kernels::attention_keys_backward.kernel;
}

std::vector<AttentionTile> possible_attention_tiles(const AttentionShape& shape) {
    if (shape.rows <= row_groups)
        return {{1}};
    // A thread keeps the sums of all its rows in registers, which limits how many rows it can have.
    const std::int64_t groups = attention_groups(shape.width) * results(shape.pass);
    std::vector<AttentionTile> tiles;
    if (shape.rows > 4 * row_groups && groups <= 4)
        tiles.push_back({8});
    tiles.push_back({4});
    if (shape.pass != AttentionPass::of_keys && groups <= 2 && shape.in_quads && !shape.has_bias) {
        if (shape.rows > 4 * row_groups && groups == 1)
            tiles.push_back({8, true});
        tiles.push_back({4, true});
    }
    return tiles;
}

double estimate(const DeviceParameters& device, const AttentionShape& shape, const AttentionTile& tile) {
    const std::int64_t own = tile.rows_of_thread * row_groups, quads = attention_groups(shape.width);
    const auto width = static_cast<double>(quads * quad_columns), rows = static_cast<double>(own);
    const auto rows_of_thread = static_cast<double>(tile.rows_of_thread);
    // The more rows and columns a thread computes, the more often it uses each number that it loads from
    // shared memory. The constants are fitted to the shares in docs/isa.md for an RX 7900.
    const double rate = rows_of_thread / (rows_of_thread + 4) * (tile.wide ? 1.3 : 1);
    const std::int64_t quads_of_thread =
        tile.wide ? 2 : 1; // in a row of scores, and in each group of a result
    const std::int64_t numbers_of_row = quads_of_thread * (4 * quads * results(shape.pass) + 6);
    const GroupWork work{
        .slices = static_cast<double>(ceil_div(std::max<std::int64_t>(shape.others, 1), tile_columns)),
        .multiply_adds = 2 * rows * tile_columns * width,
        .loaded_bytes = 2 * tile_columns * width * 4,
        .edge_bytes = 2 * rows * width * 4,
        .latency = 1,
        .threads = tile.wide ? 64u : 128u,
        .registers = static_cast<std::uint32_t>(64 + tile.rows_of_thread * numbers_of_row),
        .shared_bytes = static_cast<std::uint32_t>(16 * (own + tile_columns) * (slice / 4 + 1)),
        .rate = rate};
    const double groups = static_cast<double>(ceil_div(shape.rows, own)) * static_cast<double>(shape.heads);
    return launch_time(device, work, groups, 0);
}

AttentionTile attention_tile(const DeviceParameters& device, const AttentionShape& shape) {
    std::vector<AttentionTile> possible = possible_attention_tiles(shape);
    if (device.maximum_subgroup <= 32)
        std::erase_if(possible, [](const AttentionTile& tile) { return tile.wide; });
    return *std::ranges::min_element(
        possible, {}, [&](const AttentionTile& tile) { return estimate(device, shape, tile); });
}

} // namespace rekindle::products
