#include "devices.h"

#include <rekindle/kernels/ceil_div.h>
#include <rekindle/products/cost.h>
#include <rekindle/products/limits.h>
#include <rekindle/products/multiply.h>
#include <rekindle/products/planner.h>

#include <algorithm>
#include <set>
#include <utility>

namespace rekindle::products {
namespace {

using test::invented;
using test::invented_devices;
using test::InventedDevice;

Plan plan_for(const DeviceParameters& device, const ProductShape& shape) {
    return Planner(device).plan(shape);
}
std::int64_t tiles_of(const ProductShape& shape, const Tile& tile) {
    return kernels::ceil_div<std::int64_t>(shape.m, tile.rows) *
           kernels::ceil_div<std::int64_t>(shape.n, tile.columns) * shape.batch;
}
std::int64_t size_of(const Tile& tile) {
    return std::int64_t{tile.rows} * tile.columns;
}

/// What every plan must satisfy, whatever the cost model says. k, matrices: of the whole operation.
template <class Shape>
void check_plan(const DeviceParameters& device, const Shape& shape, std::int64_t matrices, const Plan& plan) {
    SCOPED_TRACE(test::text(shape) + ": " + plan.name());
    const std::int64_t k = shape.k;
    ASSERT_NE(plan.tile.kernel, nullptr);
    EXPECT_LE(plan.tile.shared_bytes(), device.shared_bytes);
    EXPECT_TRUE(device.usable.contains(plan.tile.kernel->needs));
    // The parts cover k, and none is empty.
    ASSERT_GE(plan.parts, 1);
    ASSERT_GT(plan.k_part, 0);
    EXPECT_EQ(plan.k_part % plan.tile.depth, 0);
    EXPECT_GE(plan.parts * plan.k_part, k);
    EXPECT_TRUE(plan.parts == 1 || (plan.parts - 1) * plan.k_part < k);
    // No launch exceeds a limit.
    EXPECT_LE(kernels::ceil_div<std::int64_t>(std::min(plan.k_part, k), plan.tile.depth) *
                  plan.tile.iterations,
              most_iterations);
    if (plan.parts > 1 && kernels::ceil_div(k, longest_k(plan.tile)) <= 1) {
        EXPECT_LE(plan.parts * matrices, most_groups);
    }
    EXPECT_EQ(plan.launches(), plan.parts > 1 ? 2 : 1);
    const double seconds = estimate(device, shape, plan);
    EXPECT_TRUE(std::isfinite(seconds) && seconds > 0) << seconds;
}

TEST(Plans, AreValidForRandomProductsOnEveryDevice) {
    const std::vector<ProductShape> shapes = test::random_products(300);
    for (const InventedDevice& device : invented_devices()) {
        SCOPED_TRACE(device.name);
        for (const ProductShape& shape : shapes) {
            std::set<std::string> names;
            for (const Plan& plan : possible_plans(device.parameters, shape)) {
                check_plan(device.parameters, shape, shape.batch, plan);
                EXPECT_TRUE(names.insert(plan.name()).second) << test::text(shape) << ": " << plan.name();
            }
            EXPECT_TRUE(names.contains(plan_for(device.parameters, shape).name()));
        }
    }
}

TEST(Plans, AreValidForRandomConvolutionsOnEveryDevice) {
    const std::vector<ConvolutionShape> shapes = test::random_convolutions(300);
    for (const InventedDevice& device : invented_devices()) {
        SCOPED_TRACE(device.name);
        for (const ConvolutionShape& shape : shapes) {
            const std::int64_t matrices = std::max(shape.groups, shape.images);
            const bool splits = shape.groups == 1 || shape.pass == ConvolutionPass::weight_gradient;
            for (const auto& plans :
                 {possible_plans(device.parameters, shape), possible_unit_plans(device.parameters, shape)})
                for (const Plan& plan : plans) {
                    check_plan(device.parameters, shape, matrices, plan);
                    EXPECT_TRUE(splits || plan.parts == 1) << test::text(shape) << ": " << plan.name();
                }
            EXPECT_FALSE(possible_plans(device.parameters, shape).empty());
        }
    }
}

TEST(Plans, AreTheFastestByTheModel) {
    const DeviceParameters device = invented(60, 32, true);
    for (const ProductShape& shape : test::random_products(100)) {
        const double chosen = estimate(device, shape, plan_for(device, shape));
        for (const Plan& plan : possible_plans(device, shape))
            EXPECT_LE(chosen, estimate(device, shape, plan)) << test::text(shape);
    }
}

TEST(Plans, UseMatrixUnitsWhereTheDeviceHasThem) {
    const ProductShape shape{ElementType::float16, 512, 512, 512, 1};
    for (const InventedDevice& device : invented_devices()) {
        // The kernels need subgroups of at most 32.
        const bool has_units = !device.parameters.usable.without(test::without_units()).empty() &&
                               device.parameters.minimum_subgroup <= 32;
        EXPECT_EQ(has_matrix_units(device.parameters, ElementType::float16), has_units) << device.name;
        EXPECT_EQ(plan_for(device.parameters, shape).tile.on_units, has_units) << device.name;
        ProductShape wide = shape;
        wide.type = ElementType::float32;
        EXPECT_FALSE(plan_for(device.parameters, wide).tile.on_units) << device.name;
    }
    const DeviceParameters with_units = invented(60, 32, true);
    EXPECT_TRUE(plan_for(with_units, {ElementType::float16, 512, 8, 512, 1}).tile.on_units);
    EXPECT_TRUE(plan_for(with_units, {ElementType::float16, 2, 512, 512, 1}).tile.on_units);
    // Smaller than a matrix unit's tile.
    EXPECT_FALSE(plan_for(with_units, {ElementType::float16, 8, 8, 512, 1}).tile.on_units);
}

TEST(Plans, TakeTheSecondShapeOfUnitsWhereTheFirstFailedItsSelfTest) {
    DeviceParameters device = invented(60, 32, true);
    device.usable = device.usable.without(kernels::Feature::matrix_16x16x16);
    const Plan plan = plan_for(device, {ElementType::float16, 512, 512, 512, 1});
    ASSERT_TRUE(plan.tile.on_units);
    EXPECT_TRUE(plan.tile.kernel->needs.contains(kernels::Feature::matrix_8x16x16));
    // The driver's claim about bfloat16 is about the first shape only.
    EXPECT_FALSE(has_matrix_units(device, ElementType::bfloat16));
}

TEST(Plans, FillTheDevice) {
    for (const InventedDevice& device : invented_devices())
        for (const ElementType type : {ElementType::float32, ElementType::float16})
            for (const std::int64_t size : {1024, 2048, 4096}) {
                const ProductShape shape{type, size, size, size, 1};
                const Plan plan = plan_for(device.parameters, shape);
                EXPECT_GE(tiles_of(shape, plan.tile) * plan.parts, 0.4 * device.parameters.compute_units)
                    << device.name << ", " << test::text(shape) << ": " << plan.name();
            }
}

TEST(Plans, SplitKOnlyWhereTilesLeaveTheDeviceIdle) {
    for (const InventedDevice& device : invented_devices()) {
        const std::int64_t units = device.parameters.compute_units;
        for (const ElementType type : {ElementType::float32, ElementType::float16}) {
            const ProductShape narrow{type, 64, 64, 65536, 1};
            EXPECT_GE(plan_for(device.parameters, narrow).parts, units / 8) << device.name;
            const ProductShape large{type, 8192, 8192, 4096, 1};
            EXPECT_EQ(plan_for(device.parameters, large).parts, 1) << device.name;
            const ProductShape shallow{type, 64, 64, 100, 1};
            EXPECT_EQ(plan_for(device.parameters, shallow).parts, 1) << device.name;
        }
    }
}

TEST(Plans, SplitKSoThatEveryComputeUnitHasWork) {
    for (const ElementType type : {ElementType::float32, ElementType::float16})
        for (const std::uint32_t compute_units : {20u, 60u, 84u, 132u}) {
            const DeviceParameters device = invented(compute_units, 32, true);
            const ProductShape shape{type, 256, 256, 32768, 1};
            const Plan plan = plan_for(device, shape);
            EXPECT_GE(tiles_of(shape, plan.tile) * plan.parts, 0.75 * compute_units)
                << name(type) << ": " << plan.name();
        }
}

// A group of eight that is not aligned takes up to five loads instead of one.
TEST(Plans, TakeLongerWhereFactorsAreNotAligned) {
    const DeviceParameters device = invented(132, 32, true);
    ProductShape shape{ElementType::bfloat16, 6499, 4467, 514, 1};
    const double aligned = estimate(device, shape, plan_for(device, shape));
    shape.b_aligned = false;
    const double one_unaligned = estimate(device, shape, plan_for(device, shape));
    shape.a_aligned = false;
    const double both_unaligned = estimate(device, shape, plan_for(device, shape));
    EXPECT_GT(one_unaligned, 1.1 * aligned);
    EXPECT_GT(both_unaligned, 1.1 * one_unaligned);
}

TEST(Plans, DoNotDependOnAlignmentWithoutMatrixUnits) {
    const DeviceParameters device = invented(132, 32, false);
    ProductShape shape{ElementType::bfloat16, 143, 46, 588, 1};
    const double seconds = estimate(device, shape, plan_for(device, shape));
    shape.a_aligned = false;
    EXPECT_EQ(estimate(device, shape, plan_for(device, shape)), seconds);
}

TEST(Products, KnowWhetherEveryGroupOfEightIsAligned) {
    Product product{.type = ElementType::float16, .element_bytes = 2};
    product.a = {0x1000, 64, 96, 96, 1, 0};
    product.b = {0x2000, 96, 40, 40, 1, 0};
    product.c = {0x3000, 64, 40, 40, 1, 0};
    const auto loads = [](const Product& p) { return std::pair(p.shape().a_aligned, p.shape().b_aligned); };
    EXPECT_EQ(loads(product), std::pair(true, true));
    Product odd_stride = product;
    odd_stride.b.row_stride = 41;
    EXPECT_EQ(loads(odd_stride), std::pair(true, false));
    Product odd_address = product;
    odd_address.a.address += 2;
    EXPECT_EQ(loads(odd_address), std::pair(false, true));
    Product transposed = product;
    transposed.b = Matrix{0x2000, 40, 96, 96, 1, 0}.transposed();
    EXPECT_EQ(loads(transposed), std::pair(true, true));
    Product odd_batch = product;
    odd_batch.batch = 2;
    odd_batch.a.batch_stride = 64 * 96 + 1;
    EXPECT_EQ(loads(odd_batch), std::pair(false, true));
}

TEST(Plans, FillTheWorkgroupsThatRunAtOnce) {
    // An H200 has 132 compute units. REKINDLE_AUTOTUNE=1 measured these plans as the fastest there, or as
    // at most a tenth slower than the fastest.
    const DeviceParameters device = invented(132, 32, true);
    EXPECT_EQ(plan_for(device, ProductShape{ElementType::float16, 16, 8192, 8192, 1}).name(),
              "units 16x128/8");
    EXPECT_EQ(plan_for(device, ProductShape{ElementType::float16, 512, 512, 64, 96}).name(),
              "units 64x128/1");
    EXPECT_EQ(plan_for(device, ProductShape{ElementType::float16, 64, 4096, 4096, 1}).name(),
              "units 64x128/8");
}

TEST(Plans, UseLargerTilesForLargerProducts) {
    for (const InventedDevice& device : invented_devices())
        for (const ElementType type : {ElementType::float32, ElementType::float16}) {
            const Tile small = plan_for(device.parameters, {type, 96, 96, 64, 1}).tile;
            const Tile large = plan_for(device.parameters, {type, 8192, 8192, 8192, 1}).tile;
            // Where matrix units are slow and the cache is not, a compute unit is as busy with small tiles.
            if (large.on_units && device.parameters.compute_units == 20)
                continue;
            EXPECT_LT(size_of(small), size_of(large)) << device.name;
            EXPECT_GE(size_of(large), large.on_units ? 128 * 128 : 64 * 128) << device.name;
        }
}

TEST(Plans, UseLargerTilesWhereTheCacheIsSlow) {
    const DeviceParameters fast = invented(60, 32, false, 1, 4), slow = invented(60, 32, false, 1, 0.2);
    bool differs = false;
    for (std::int64_t size = 256; size <= 4096; size += 128) {
        const ProductShape shape{ElementType::float32, size, size, size, 1};
        const Tile with_fast = plan_for(fast, shape).tile, with_slow = plan_for(slow, shape).tile;
        EXPECT_GE(size_of(with_slow), size_of(with_fast)) << size;
        differs = differs || size_of(with_slow) > size_of(with_fast);
    }
    EXPECT_TRUE(differs);
}

TEST(Plans, UseSmallerTilesWhereThereAreMoreComputeUnits) {
    for (const ElementType type : {ElementType::float32, ElementType::float16}) {
        std::int64_t few = 0, many = 0;
        for (std::int64_t size = 256; size <= 2048; size += 64) {
            const ProductShape shape{type, size, size, 512, 1};
            few += size_of(plan_for(invented(20, 32, true), shape).tile);
            many += size_of(plan_for(invented(132, 32, true), shape).tile);
        }
        EXPECT_GT(few, many) << name(type);
    }
}

TEST(Estimates, FallWithMoreComputeUnitsAndFasterOnes) {
    for (const ProductShape& shape : test::random_products(100)) {
        for (const Plan& plan : possible_plans(invented(60, 32, true), shape)) {
            const double slow = estimate(invented(60, 32, true, 0.5), shape, plan),
                         fast = estimate(invented(60, 32, true), shape, plan),
                         slow_cache = estimate(invented(60, 32, true, 1, 0.5), shape, plan);
            EXPECT_GE(slow, fast) << test::text(shape);
            EXPECT_GE(slow_cache, fast) << test::text(shape);
        }
    }
}

TEST(Estimates, GrowWithTheWork) {
    const DeviceParameters device = invented(84, 32, true);
    for (const ProductShape& shape : test::random_products(100)) {
        // From k = 16 on, the planner uses matrix units, so a product can take less time than one with a
        // smaller k.
        constexpr std::int64_t longest_without_units = 15;
        ProductShape more = shape;
        more.k = shape.k <= longest_without_units ? longest_without_units : 2 * shape.k + 16;
        EXPECT_GE(estimate(device, more, plan_for(device, more)),
                  0.999 * estimate(device, shape, plan_for(device, shape)))
            << test::text(shape);
    }
}

TEST(Residency, FollowsFromRegistersThreadsAndSharedMemory) {
    DeviceParameters device = invented(60, 32, false);
    device.shared_bytes = 32 << 10;
    const GroupWork small{.threads = 64, .registers = 64, .shared_bytes = 1 << 10};
    EXPECT_EQ(resident_groups(device, small), 16u);
    GroupWork work = small;
    work.registers = 256;
    EXPECT_EQ(resident_groups(device, work), 4u);
    work = small;
    work.threads = 512;
    work.registers = 32;
    EXPECT_EQ(resident_groups(device, work), 3u);
    work = small;
    work.shared_bytes = 30 << 10;
    EXPECT_EQ(resident_groups(device, work), 2u);
    work.shared_bytes = 1 << 20;
    EXPECT_EQ(resident_groups(device, work), 1u);
}

TEST(VectorPlans, CoverKAndSplitItOnlyForFewRows) {
    for (const InventedDevice& device : invented_devices())
        for (const std::int64_t rows : {1, 40, 5000, 200000})
            for (const std::int64_t k : {0, 1, 63, 64, 5000, 10'000'000})
                for (const int layout : {0, 1, 2}) {
                    const VectorPlan plan =
                        vector_plan(device.parameters, rows, k, 1, layout == 1, layout == 2);
                    EXPECT_GE(plan.parts * plan.k_part, k);
                    EXPECT_EQ(plan.k_part % plan.lanes, 0);
                    EXPECT_LE(plan.k_part / plan.lanes, most_iterations);
                    EXPECT_EQ(plan.lanes * plan.rows, plan.rows_in_quads ? 1024 : 256);
                    if (rows == 200000 && k <= 5000) {
                        EXPECT_EQ(plan.parts, 1);
                    }
                    if (rows == 1 && k == 10'000'000) {
                        EXPECT_GE(plan.parts, device.parameters.compute_units);
                    }
                }
}

TEST(Attention, KeepsMoreRowsWhereThereAreEnoughWorkgroups) {
    for (const InventedDevice& device : invented_devices()) {
        const DeviceParameters& p = device.parameters;
        const auto chosen = [&](std::int64_t heads, std::int64_t rows, std::int64_t width) {
            return attention_tile(p, {.heads = heads, .rows = rows, .others = 512, .width = width});
        };
        EXPECT_EQ(chosen(1024, 512, 64), (AttentionTile{8})) << device.name;
        EXPECT_EQ(chosen(1024, 512, 128), (AttentionTile{8})) << device.name;
        EXPECT_EQ(chosen(1024, 512, 256), (AttentionTile{8})) << device.name;
        EXPECT_EQ(chosen(1024, 20, 64), (AttentionTile{4})) << device.name;
        EXPECT_EQ(chosen(1024, 8, 64), (AttentionTile{1})) << device.name;
        EXPECT_EQ(chosen(1, 512, 64), (AttentionTile{4})) << device.name;
    }
}

TEST(Attention, KeepsAsManyRowsAsRegistersHold) {
    for (const AttentionPass pass :
         {AttentionPass::forward, AttentionPass::of_queries, AttentionPass::of_keys})
        for (const std::int64_t width : {40, 64, 65, 128, 129, 256}) {
            const AttentionShape shape{.pass = pass, .heads = 9, .rows = 512, .others = 512, .width = width};
            std::int64_t most = 0;
            for (const AttentionTile& tile : possible_attention_tiles(shape))
                most = std::max(most, tile.rows_of_thread);
            EXPECT_EQ(most, pass == AttentionPass::of_keys && width > 128 ? 4 : 8) << width;
        }
}

TEST(Attention, IsWideOnGpusWithSubgroupsOf32And64) {
    for (const std::uint32_t largest : {32u, 64u}) {
        DeviceParameters device = invented(84, 32, false);
        device.maximum_subgroup = largest;
        const bool wide = largest == 64;
        AttentionShape shape{.heads = 1024, .rows = 512, .others = 512, .width = 64, .in_quads = true};
        EXPECT_EQ(name(attention_tile(device, shape)), wide ? "rows 8, wide" : "rows 8");
        shape.rows = 32;
        EXPECT_EQ(name(attention_tile(device, shape)), wide ? "rows 4, wide" : "rows 4");
        shape.pass = AttentionPass::of_queries;
        shape.rows = 512;
        shape.width = 128;
        EXPECT_EQ(name(attention_tile(device, shape)), "rows 8");
        shape.rows = 32;
        EXPECT_EQ(name(attention_tile(device, shape)), wide ? "rows 4, wide" : "rows 4");
        shape.has_bias = true;
        EXPECT_EQ(name(attention_tile(device, shape)), "rows 4");
        shape = {.pass = AttentionPass::of_keys, .heads = 1024, .rows = 512, .others = 512, .width = 64};
        shape.in_quads = true;
        EXPECT_EQ(name(attention_tile(device, shape)), "rows 8");
    }
    EXPECT_THROW(attention_kernel(AttentionPass::of_keys, true), std::out_of_range);
}

TEST(Convolutions, UseMatrixUnitsOnlyWhereTheyRepayTheCopy) {
    ConvolutionShape large{.type = ElementType::float16,
                           .pass = ConvolutionPass::forward,
                           .m = 12544,
                           .n = 256,
                           .k = 2304,
                           .channels = 256,
                           .taps = 9};
    const double bytes = 2.0 * 12544 * 256;
    EXPECT_TRUE(units_are_faster(invented(132, 32, true), large, bytes));
    EXPECT_FALSE(units_are_faster(invented(132, 32, true), large, 1e4 * bytes));
    EXPECT_FALSE(units_are_faster(invented(132, 64, true), large, bytes));
    EXPECT_FALSE(units_are_faster(invented(132, 32, false), large, bytes));
    ConvolutionShape small = large;
    small.m = 49;
    small.k = 72;
    small.channels = 8;
    EXPECT_FALSE(units_are_faster(invented(132, 32, true), small, 2.0 * 49 * 256));
}

TEST(Convolutions, UseWinogradOnlyWhereItsTransformsCostLess) {
    const double direct = 1e10, winograd = direct / 4;
    EXPECT_TRUE(winograd_is_faster(invented(132, 32, false), winograd, 1e8, direct));
    EXPECT_FALSE(winograd_is_faster(invented(132, 32, false), winograd, 1e10, direct));
    // The same convolution on a device whose memory is slower for its arithmetic.
    EXPECT_TRUE(winograd_is_faster(invented(132, 32, false, 1, 1), winograd, 8e8, direct));
    EXPECT_FALSE(winograd_is_faster(invented(132, 32, false, 1, 0.2), winograd, 8e8, direct));
}

} // namespace
} // namespace rekindle::products
