/// In float32, every tile computes the same bits, whatever the memory layout of the factors.

#include "../runtime/fixture.h"
#include "devices.h"

#include <rekindle/kernels/ceil_div.h>
#include <rekindle/products/multiply.h>
#include <rekindle/products/planner.h>
#include <rekindle/runtime/stream.h>

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace rekindle::products {
namespace {

using namespace runtime;

/// The memory layout of a matrix: by rows or by columns, with `padding` numbers after each.
struct Order {
    bool by_rows;
    std::int64_t padding;
};

class FloatTiles : public runtime::test::DeviceTest {
  protected:
    std::shared_ptr<Device> device = open();
    std::unique_ptr<Stream> stream = device->make_stream();

    static std::vector<float> numbers(std::int64_t count, std::uint32_t seed) {
        std::vector<float> made;
        for (std::int64_t i = 0; i < count; ++i) {
            seed = seed * 1664525 + 1013904223;
            made.push_back(static_cast<float>(seed >> 8) / 8388608.0f - 1);
        }
        return made;
    }

    /// C = 0.75 A B + 0.5 C for a batch of two matrices.
    std::vector<float> product(const Tile& tile, Order a_order, Order b_order, std::int64_t m, std::int64_t n,
                               std::int64_t k, std::int64_t parts) {
        constexpr std::int64_t batch = 2;
        const std::int64_t a_stride = (a_order.by_rows ? k : m) + a_order.padding,
                           b_stride = (b_order.by_rows ? n : k) + b_order.padding;
        const std::int64_t a_size = a_stride * (a_order.by_rows ? m : k),
                           b_size = b_stride * (b_order.by_rows ? k : n);
        const auto buffer = [&](std::int64_t count, std::uint32_t seed) {
            const std::vector<float> values = numbers(count, seed);
            Buffer made = device->allocator().allocate(4 * values.size(), MemoryKind::device, stream.get());
            stream->upload(made.pointer(), std::as_bytes(std::span(values)));
            return made;
        };
        const Buffer a = buffer(batch * a_size, 1), b = buffer(batch * b_size, 2),
                     c = buffer(batch * m * n, 3);
        products::Product work{.type = ElementType::float32,
                               .dtype = dtype_of(ElementType::float32),
                               .result_dtype = dtype_of(ElementType::float32),
                               .element_bytes = 4,
                               .batch = batch,
                               .a = {a.pointer().address, m, k, a_order.by_rows ? a_stride : 1,
                                     a_order.by_rows ? 1 : a_stride, a_size},
                               .b = {b.pointer().address, k, n, b_order.by_rows ? b_stride : 1,
                                     b_order.by_rows ? 1 : b_stride, b_size},
                               .c = {c.pointer().address, m, n, n, 1, m * n},
                               .alpha = std::bit_cast<std::uint32_t>(0.75f),
                               .beta = std::bit_cast<std::uint32_t>(0.5f)};
        work.d = work.c;
        const std::int64_t depth = 16 * kernels::ceil_div<std::int64_t>(k, 16 * parts);
        queue_product(*device, *stream, work, {tile, kernels::ceil_div(k, depth), depth},
                      {reads(a), reads(b), writes(c), reads(c)});
        std::vector<float> values(static_cast<std::size_t>(batch * m * n));
        stream->download(std::as_writable_bytes(std::span(values)), c.pointer());
        stream->synchronize();
        return values;
    }
};

TEST_F(FloatTiles, AgreeInEveryBit) {
    const std::vector<Tile> tiles =
        product_tiles(default_parameters(device->info(), device->usable_features()), ElementType::float32);
    ASSERT_GT(tiles.size(), 1u);
    ASSERT_TRUE(tiles.back().wide);
    // Kernels load the factors in quads along k, in quads along the other index, or, because of the padding,
    // one number at a time. A CPU driver takes seconds to compile each combination, so it runs only some of
    // them.
    const Order rows{true, 0}, columns{false, 0}, padded_rows{true, 1}, padded_columns{false, 1};
    std::vector<std::pair<Order, Order>> orders{
        {rows, columns}, {rows, rows}, {columns, rows}, {padded_columns, padded_columns}};
    if (device->info().type != DeviceType::cpu)
        orders.insert(
            orders.end(),
            {{columns, columns}, {padded_rows, rows}, {columns, padded_rows}, {padded_rows, padded_rows}});
    for (const auto& [a, b] : orders)
        for (const std::int64_t parts : {1, 2}) {
            if (parts > 1 && (!b.by_rows || b.padding > 0))
                continue;
            const std::int64_t m = 132, n = 140, k = 52;
            const std::vector<float> expected = product(tiles.front(), a, b, m, n, k, parts);
            EXPECT_EQ(product(tiles.back(), a, b, m, n, k, parts), expected)
                << a.by_rows << a.padding << b.by_rows << b.padding << ", " << parts << " parts";
        }
    EXPECT_EQ(product(tiles.back(), rows, rows, 128, 256, 64, 1),
              product(tiles.front(), rows, rows, 128, 256, 64, 1))
        << "whole tiles";
}

/// The planner chooses a wide tile for a large product if the device multiplies faster with it.
TEST(WideTiles, AreChosenByTheDevicesRate) {
    DeviceParameters device = test::invented(132, 32, false);
    const ProductShape shape{.type = ElementType::float32, .m = 4096, .n = 4096, .k = 4096};
    EXPECT_TRUE(Planner(device).plan(shape).tile.wide);
    device.wide_rate = 0.9 * device.float32_rate;
    EXPECT_FALSE(Planner(device).plan(shape).tile.wide);
    DeviceInfo cpu;
    cpu.type = DeviceType::cpu;
    EXPECT_FALSE(Planner(default_parameters(cpu, {})).plan(shape).tile.wide)
        << "CPU drivers take seconds to compile it";
}

} // namespace
} // namespace rekindle::products
