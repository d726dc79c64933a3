#include "../runtime/fixture.h"
#include "verify/products.h"

#include <rekindle/kernels/ceil_div.h>
#include <rekindle/products/multiply.h>
#include <rekindle/products/planner.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <iostream>

namespace rekindle::mlp::verify {
namespace {

using runtime::MemoryKind;

using products::Plan;
using products::Tile;

class MatrixProduct : public runtime::test::DeviceTest {
  protected:
    std::shared_ptr<runtime::Device> device = open();
    std::unique_ptr<runtime::Stream> stream = device->make_stream();

    runtime::Buffer buffer(std::span<const float> values) {
        runtime::Buffer buffer =
            device->allocator().allocate(values.size_bytes(), MemoryKind::device, stream.get());
        if (!values.empty())
            stream->upload(buffer.pointer(), std::as_bytes(values));
        return buffer;
    }
    std::vector<float> values(const runtime::Buffer& from, std::size_t count) {
        std::vector<float> values(count);
        stream->download(std::as_writable_bytes(std::span(values)), from.pointer());
        return values;
    }
    /// C = A * B in float32, without gaps.
    void multiply(const runtime::Buffer& a, const runtime::Buffer& b, const runtime::Buffer& c,
                  std::int64_t m, std::int64_t n, std::int64_t k, const Plan& plan) {
        const products::Product product{.dtype = products::dtype_of(ElementType::float32),
                                        .result_dtype = products::dtype_of(ElementType::float32),
                                        .element_bytes = 4,
                                        .a = {a.pointer().address, m, k, k, 1, 0},
                                        .b = {b.pointer().address, k, n, n, 1, 0},
                                        .c = {c.pointer().address, m, n, n, 1, 0},
                                        .alpha = std::bit_cast<std::uint32_t>(1.0f)};
        products::queue_product(*device, *stream, product, plan,
                                {runtime::reads(a), runtime::reads(b), runtime::writes(c), {}});
    }
    products::DeviceParameters parameters() const {
        return products::default_parameters(device->info(), device->usable_features());
    }
    Tile tile_32(ElementType type = ElementType::float32) const {
        return products::product_tiles(parameters(), type).front();
    }
};

std::string text(const ProductCase& product) {
    return std::string(products::name(product.type)) + " " + std::to_string(product.m) + " x " +
           std::to_string(product.n) + " x " + std::to_string(product.k) + ", padding " +
           std::to_string(product.padding) + ", " + product.plan().name();
}

TEST_F(MatrixProduct, MatchesSumsInDoubleInEveryTile) {
    for (const Tile& tile : products::product_tiles(parameters(), ElementType::float32))
        for (const ProductCase& product : product_cases(ElementType::float32, tile))
            EXPECT_LE(product_error(product, product_on(*device, product)), 1) << text(product);
}

TEST_F(MatrixProduct, MatchesSumsInDoubleWith16Bits) {
    for (const ElementType type : {ElementType::float16, ElementType::bfloat16})
        for (const ProductCase& product : product_cases(type, tile_32(type)))
            EXPECT_LE(product_error(product, product_on(*device, product)), 1) << text(product);
}

TEST_F(MatrixProduct, MatchesOnMatrixUnits) {
    for (const ElementType type : {ElementType::float16, ElementType::bfloat16}) {
        const std::vector<Tile> tiles = products::unit_product_tiles(parameters(), type);
        if (tiles.empty())
            std::cout << "not run: the device has no matrix units for " << products::name(type) << '\n';
        for (const Tile& tile : tiles)
            for (const ProductCase& product : product_cases(type, tile))
                EXPECT_LE(product_error(product, product_on(*device, product)), 1) << text(product);
    }
    EXPECT_FALSE(products::has_matrix_units(parameters(), ElementType::float32));
}

TEST_F(MatrixProduct, WrongElementsAreFound) {
    for (const ElementType type : {ElementType::float32, ElementType::float16, ElementType::bfloat16}) {
        const ProductCase product{type, tile_32(type), 33, 31, 65, 3, 1, 1};
        const HostNumbers right = product_on(*device, product);
        ASSERT_LE(product_error(product, right), 1);
        const std::size_t element = 5 * 34 + 7, gap = 5 * 34 + 32;
        HostNumbers wrong = right;
        wrong.values[element] *= type == ElementType::float32 ? 1.0001f : 1.03f;
        EXPECT_GT(product_error(product, wrong), 1) << products::name(type);
        wrong = right;
        std::swap(wrong.values[element], wrong.values[element + 1]);
        EXPECT_GT(product_error(product, wrong), 1) << products::name(type);
        wrong = right;
        wrong.values[element] = NAN;
        EXPECT_EQ(product_error(product, wrong), INFINITY) << products::name(type);
        wrong = right;
        wrong.written[element] = false;
        EXPECT_EQ(product_error(product, wrong), INFINITY) << products::name(type);
        wrong = right;
        ASSERT_FALSE(wrong.written[gap]);
        wrong.written[gap] = true;
        EXPECT_EQ(product_error(product, wrong), INFINITY) << products::name(type);
    }
}

TEST_F(MatrixProduct, TilesGiveTheSameBits) {
    constexpr std::uint32_t m = 70, n = 90, k = 50;
    std::vector<float> a(m * k), b(k * n);
    for (std::size_t i = 0; i < a.size(); ++i)
        a[i] = std::sin(static_cast<float>(i));
    for (std::size_t i = 0; i < b.size(); ++i)
        b[i] = std::cos(static_cast<float>(i));
    const runtime::Buffer on_a = buffer(a), on_b = buffer(b);
    std::vector<std::vector<float>> results;
    for (const Tile& tile : products::product_tiles(parameters(), ElementType::float32)) {
        const runtime::Buffer c = device->allocator().allocate(m * n * 4, MemoryKind::device, stream.get());
        multiply(on_a, on_b, c, m, n, k, {tile, 1, 64});
        results.push_back(values(c, m * n));
    }
    ASSERT_EQ(results.size(), 6u);
    for (const std::vector<float>& result : results)
        EXPECT_EQ(result, results.front());
}

TEST_F(MatrixProduct, SumsLongerThanADriversLoopLimit) {
    constexpr std::uint32_t m = 2, n = 3, k = 1'100'001; // 68,751 slices of 16
    std::vector<float> a(m * k), b(k * n, 1.0f);
    for (std::size_t i = 0; i < a.size(); ++i)
        a[i] = i < k ? 1.0f : static_cast<float>(i % 3) - 1.0f;
    float second = 0;
    for (std::size_t i = k; i < a.size(); ++i)
        second += a[i];
    const runtime::Buffer on_a = buffer(a), on_b = buffer(b);
    const runtime::Buffer c = device->allocator().allocate(m * n * 4, MemoryKind::device, stream.get());
    // Other tiles take minutes on a CPU driver.
    const std::int64_t k_part = products::longest_k(tile_32());
    ASSERT_LT(k_part, k);
    multiply(on_a, on_b, c, m, n, k, {tile_32(), kernels::ceil_div<std::int64_t>(k, k_part), k_part});
    const std::vector<float> expected{k, k, k, second, second, second};
    EXPECT_EQ(values(c, m * n), expected);
}

TEST_F(MatrixProduct, EmptyInnerDimensionGivesZeros) {
    const std::vector<float> before(12, 7.0f);
    const runtime::Buffer a = buffer(before), c = buffer(before);
    multiply(a, a, c, 3, 4, 0, {tile_32(), 1, 16});
    EXPECT_EQ(values(c, 12), std::vector<float>(12, 0.0f));
}

TEST_F(MatrixProduct, NanStaysInItsRowsAndColumns) {
    constexpr std::uint32_t size = 40;
    std::vector<float> a(size * size, 1.0f), b(size * size, 1.0f);
    a[3 * size + 5] = NAN;
    const runtime::Buffer on_a = buffer(a), on_b = buffer(b), c = buffer(b);
    multiply(on_a, on_b, c, size, size, size, {tile_32(), 1, 48});
    const std::vector<float> found = values(c, size * size);
    for (std::size_t i = 0; i < found.size(); ++i)
        EXPECT_EQ(std::isnan(found[i]), i / size == 3) << i;
}

TEST_F(MatrixProduct, PlansOfTheDeviceComputeTheProduct) {
    constexpr std::int64_t m = 40, n = 30, k = 1000;
    const products::Planner planner = products::Planner::calibrated(*device, log.callback());
    const products::ProductShape shape{ElementType::float32, m, n, k, 1};
    const Plan plan = planner.plan(shape);
    EXPECT_GE(plan.parts * plan.k_part, k);
    const runtime::Buffer a = buffer(std::vector<float>(m * k, 2.0f)),
                          b = buffer(std::vector<float>(k * n, 0.5f));
    const runtime::Buffer c = buffer(std::vector<float>(m * n));
    multiply(a, b, c, m, n, k, plan);
    EXPECT_EQ(values(c, m * n), std::vector<float>(m * n, float{k})) << plan.name();
}

TEST_F(MatrixProduct, RefusesSizesThatKernelsCannotCount) {
    const runtime::Buffer a = buffer(std::vector<float>(4));
    EXPECT_THROW(multiply(a, a, a, 1, 1, std::int64_t{1} << 31, {tile_32(), 1, 16}), runtime::Unsupported);
}

} // namespace
} // namespace rekindle::mlp::verify
