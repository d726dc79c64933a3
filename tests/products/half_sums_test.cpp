/// Kernels that multiply float16 without matrix units, and Product::half_sums, which lets them add the
/// products of a slice of k in float16.

#include "../runtime/fixture.h"
#include "devices.h"
#include "sixteen_bits.h"

#include <rekindle/kernels/ceil_div.h>
#include <rekindle/products/multiply.h>
#include <rekindle/products/tiles.h>
#include <rekindle/runtime/stream.h>

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace rekindle::products {
namespace {

using namespace runtime;

TEST(Float16Tiles, MultiplyFloat16WhereThatIsFast) {
    const auto multiplies_float16 = [](const DeviceParameters& device, ElementType type) {
        const bool products = product_tiles(device, type).front().multiplies_float16();
        EXPECT_EQ(convolution_tiles(device, type).front().multiplies_float16(), products);
        return products;
    };
    DeviceParameters device = test::invented(36, 64, false);
    EXPECT_TRUE(multiplies_float16(device, ElementType::float16));
    EXPECT_FALSE(multiplies_float16(device, ElementType::float32));
    EXPECT_FALSE(multiplies_float16(device, ElementType::bfloat16));
    device.float16_rate = 0.7 * device.float32_rate;
    EXPECT_FALSE(multiplies_float16(device, ElementType::float16));
    device = test::invented(36, 64, false);
    device.usable = device.usable.without(kernels::Feature::float16_arithmetic);
    EXPECT_FALSE(multiplies_float16(device, ElementType::float16)) << "no float16 arithmetic";
    EXPECT_FALSE(multiplies_float16(test::invented(36, 32, true), ElementType::float16)) << "matrix units";
}

/// Multiplies float16 matrices in each tile that does not use matrix units.
class HalfSums : public runtime::test::DeviceTest {
  protected:
    std::shared_ptr<Device> device = open();
    std::unique_ptr<Stream> stream = device->make_stream();
    std::vector<Tile> tiles = tiles_without_units();

    std::vector<Tile> tiles_without_units() const {
        DeviceParameters found = default_parameters(device->info(), device->usable_features());
        found.claimed = found.usable = products::test::without_units(found.usable);
        return product_tiles(found, ElementType::float16);
    }

    bool is_cpu() const { return device->info().type == DeviceType::cpu; }
    /// All tiles, but on a CPU driver only the smallest: it takes seconds to compile each of the others.
    std::vector<Tile> quick_tiles() const { return is_cpu() ? std::vector<Tile>{tiles.front()} : tiles; }

    Buffer buffer(const std::vector<float>& numbers) {
        std::vector<std::uint16_t> bits;
        for (const float number : numbers)
            bits.push_back(products::test::bits_of(ElementType::float16, number));
        Buffer made = device->allocator().allocate(2 * bits.size(), MemoryKind::device, stream.get());
        stream->upload(made.pointer(), std::as_bytes(std::span(bits)));
        return made;
    }

    /// a: [m, k], b: [k, n].
    std::vector<float> product(const Tile& tile, const std::vector<float>& a, const std::vector<float>& b,
                               std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t parts,
                               bool half_sums) {
        const Buffer on_a = buffer(a), on_b = buffer(b);
        const Buffer c = device->allocator().allocate(static_cast<std::uint64_t>(2 * m * n),
                                                      MemoryKind::device, stream.get());
        const Product work{.type = ElementType::float16,
                           .dtype = dtype_of(ElementType::float16),
                           .result_dtype = dtype_of(ElementType::float16),
                           .element_bytes = 2,
                           .a = {on_a.pointer().address, m, k, k, 1, 0},
                           .b = {on_b.pointer().address, k, n, n, 1, 0},
                           .c = {c.pointer().address, m, n, n, 1, 0},
                           .alpha = std::bit_cast<std::uint32_t>(1.0f),
                           .half_sums = half_sums};
        const Plan plan{tile, parts, 16 * kernels::ceil_div<std::int64_t>(k, 16 * parts)};
        queue_product(*device, *stream, work, plan, {reads(on_a), reads(on_b), writes(c), {}});
        std::vector<std::uint16_t> bits(static_cast<std::size_t>(m * n));
        stream->download(std::as_writable_bytes(std::span(bits)), c.pointer());
        stream->synchronize();
        std::vector<float> values;
        for (const std::uint16_t one : bits)
            values.push_back(products::test::number_of(ElementType::float16, one));
        return values;
    }
};

TEST_F(HalfSums, OfSmallIntegersAreExact) {
    for (const Tile& tile : tiles)
        for (const std::int64_t parts : {1, 3}) {
            const std::int64_t m = tile.rows + 3, n = tile.columns + 5, k = 5 * tile.depth + 7;
            std::vector<float> a, b;
            for (std::int64_t i = 0; i < m * k; ++i)
                a.push_back(static_cast<float>(i * 7 % 5 - 2));
            for (std::int64_t i = 0; i < k * n; ++i)
                b.push_back(static_cast<float>(i * 11 % 7 - 3));
            const std::vector<float> found = product(tile, a, b, m, n, k, parts, true);
            int wrong = 0;
            for (std::int64_t row = 0; row < m; ++row)
                for (std::int64_t column = 0; column < n; ++column) {
                    float sum = 0;
                    for (std::int64_t i = 0; i < k; ++i)
                        sum += a[static_cast<std::size_t>(row * k + i)] *
                               b[static_cast<std::size_t>(i * n + column)];
                    wrong += found[static_cast<std::size_t>(row * n + column)] != sum;
                }
            EXPECT_EQ(wrong, 0) << tile.name() << ", " << parts << " parts";
        }
}

/// In float16, 2048 + 1 is 2048. The sums of different slices are added in float32, so nothing is lost there.
TEST_F(HalfSums, AreRoundedWithinASliceOnly) {
    if (!tiles.front().multiplies_float16())
        GTEST_SKIP() << "the device has no float16 arithmetic";
    for (const Tile& tile : quick_tiles()) {
        const std::int64_t k = 2 * tile.depth, depth = tile.depth;
        std::vector<float> same(static_cast<std::size_t>(k), 0), other = same;
        same[0] = other[0] = 2048;
        same[1] = other[static_cast<std::size_t>(depth)] = 1;
        same[2] = -2048;
        other[1] = -2048;
        const std::vector<float> ones(static_cast<std::size_t>(k), 1);
        EXPECT_EQ(product(tile, same, ones, 1, 1, k, 1, false), std::vector<float>{1}) << tile.name();
        // At least one tile gives the exact sum with NVIDIA's driver 580. More precision than float16's is
        // allowed.
        const std::vector<float> rounded = product(tile, same, ones, 1, 1, k, 1, true);
        EXPECT_TRUE(rounded.front() == 0 || (!is_cpu() && rounded.front() == 1))
            << tile.name() << ": " << rounded.front();
        EXPECT_EQ(product(tile, other, ones, 1, 1, k, 1, true), std::vector<float>{1}) << tile.name();
    }
}

/// Subnormal factors and results must not be flushed to zero.
TEST_F(HalfSums, SubnormalFactorsCount) {
    for (const Tile& tile : quick_tiles())
        for (const bool half_sums : {false, true}) {
            const float smallest = std::ldexp(1.0f, -24);
            EXPECT_EQ(product(tile, {smallest, 3 * smallest}, {1024, 1}, 1, 1, 2, 1, half_sums),
                      std::vector<float>{1027 * smallest})
                << tile.name() << ' ' << half_sums;
        }
}

} // namespace
} // namespace rekindle::products
