#include "../runtime/fixture.h"
#include "verify/products.h"

#include <rekindle/mlp/matrix_product.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>

namespace rekindle::mlp::verify {
namespace {

using runtime::MemoryKind;

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
};

std::string text(const ProductCase& product) {
    return std::string(name(product.type)) + " " + std::to_string(product.m) + " x " +
           std::to_string(product.n) + " x " + std::to_string(product.k) + ", padding " +
           std::to_string(product.padding) + ", tile " + std::to_string(static_cast<int>(product.tile));
}

TEST_F(MatrixProduct, MatchesSumsInDoubleInEveryTile) {
    for (const MatrixTile tile : {MatrixTile::tile_32, MatrixTile::tile_64, MatrixTile::tile_128})
        for (const ProductCase& product : product_cases(NumberType::float32, false, tile))
            EXPECT_LE(product_error(product, product_on(*device, product)), 1) << text(product);
}

TEST_F(MatrixProduct, MatchesSumsInDoubleWith16Bits) {
    for (const NumberType type : {NumberType::float16, NumberType::bfloat16})
        for (const ProductCase& product : product_cases(type, false, MatrixTile::tile_32))
            EXPECT_LE(product_error(product, product_on(*device, product)), 1) << text(product);
}

TEST_F(MatrixProduct, MatchesOnMatrixUnits) {
    for (const NumberType type : {NumberType::float16, NumberType::bfloat16}) {
        if (!has_matrix_units(*device, type)) {
            EXPECT_THROW(product_on(*device, {type, true, MatrixTile::automatic, 16, 16, 16}),
                         runtime::Unsupported);
            continue;
        }
        for (const ProductCase& product : product_cases(type, true, MatrixTile::automatic))
            EXPECT_LE(product_error(product, product_on(*device, product)), 1) << text(product);
    }
    EXPECT_FALSE(has_matrix_units(*device, NumberType::float32));
}

TEST_F(MatrixProduct, WrongElementsAreFound) {
    for (const NumberType type : {NumberType::float32, NumberType::float16, NumberType::bfloat16}) {
        const ProductCase product{type, false, MatrixTile::tile_32, 33, 31, 65, 3, 1};
        const HostNumbers right = product_on(*device, product);
        ASSERT_LE(product_error(product, right), 1);
        const std::size_t element = 5 * 34 + 7, gap = 5 * 34 + 32;
        HostNumbers wrong = right;
        wrong.values[element] *= type == NumberType::float32 ? 1.0001f : 1.03f;
        EXPECT_GT(product_error(product, wrong), 1) << name(type);
        wrong = right;
        std::swap(wrong.values[element], wrong.values[element + 1]);
        EXPECT_GT(product_error(product, wrong), 1) << name(type);
        wrong = right;
        wrong.values[element] = NAN;
        EXPECT_EQ(product_error(product, wrong), INFINITY) << name(type);
        wrong = right;
        wrong.written[element] = false;
        EXPECT_EQ(product_error(product, wrong), INFINITY) << name(type);
        wrong = right;
        ASSERT_FALSE(wrong.written[gap]);
        wrong.written[gap] = true;
        EXPECT_EQ(product_error(product, wrong), INFINITY) << name(type);
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
    for (const MatrixTile tile :
         {MatrixTile::tile_32, MatrixTile::tile_64, MatrixTile::tile_128, MatrixTile::automatic}) {
        const runtime::Buffer c = device->allocator().allocate(m * n * 4, MemoryKind::device, stream.get());
        matrix_product(*stream, {on_a.pointer(), m, k, k}, {on_b.pointer(), k, n, n}, {c.pointer(), m, n, n},
                       tile);
        results.push_back(values(c, m * n));
    }
    for (const std::vector<float>& result : results)
        EXPECT_EQ(result, results.front());
}

TEST_F(MatrixProduct, SumsLongerThanADriversLoopLimit) {
    constexpr std::uint32_t m = 2, n = 3, k = 1'100'001; // 68,751 slices of 16, in nine launches
    std::vector<float> a(m * k), b(k * n, 1.0f);
    for (std::size_t i = 0; i < a.size(); ++i)
        a[i] = i < k ? 1.0f : static_cast<float>(i % 3) - 1.0f;
    float second = 0;
    for (std::size_t i = k; i < a.size(); ++i)
        second += a[i];
    const runtime::Buffer on_a = buffer(a), on_b = buffer(b);
    const runtime::Buffer c = device->allocator().allocate(m * n * 4, MemoryKind::device, stream.get());
    matrix_product(*stream, {on_a.pointer(), m, k, k}, {on_b.pointer(), k, n, n}, {c.pointer(), m, n, n},
                   MatrixTile::tile_32); // larger ones take minutes on a CPU driver
    const std::vector<float> expected{k, k, k, second, second, second};
    EXPECT_EQ(values(c, m * n), expected);
}

TEST_F(MatrixProduct, EmptyInnerDimensionGivesZerosAndEmptyResultsDoNothing) {
    const std::vector<float> before(12, 7.0f);
    const runtime::Buffer a = buffer({}), c = buffer(before);
    matrix_product(*stream, {a.pointer(), 3, 0, 0}, {a.pointer(), 0, 4, 4}, {c.pointer(), 3, 4, 4});
    EXPECT_EQ(values(c, 12), std::vector<float>(12, 0.0f));
    const runtime::Buffer kept = buffer(before);
    matrix_product(*stream, {a.pointer(), 0, 5, 5}, {kept.pointer(), 5, 0, 4}, {kept.pointer(), 0, 0, 4});
    EXPECT_EQ(values(kept, 12), before);
}

TEST_F(MatrixProduct, NanStaysInItsRowsAndColumns) {
    constexpr std::uint32_t size = 40;
    std::vector<float> a(size * size, 1.0f), b(size * size, 1.0f);
    a[3 * size + 5] = NAN;
    const runtime::Buffer on_a = buffer(a), on_b = buffer(b), c = buffer(b);
    matrix_product(*stream, {on_a.pointer(), size, size, size}, {on_b.pointer(), size, size, size},
                   {c.pointer(), size, size, size});
    const std::vector<float> found = values(c, size * size);
    for (std::size_t i = 0; i < found.size(); ++i)
        EXPECT_EQ(std::isnan(found[i]), i / size == 3) << i;
}

TEST_F(MatrixProduct, RefusesMismatchedSizes) {
    const runtime::DevicePointer p{256};
    EXPECT_THROW(matrix_product(*stream, {p, 2, 3, 3}, {p, 4, 5, 5}, {p, 2, 5, 5}), runtime::Error);
    EXPECT_THROW(matrix_product(*stream, {p, 2, 3, 3}, {p, 3, 5, 5}, {p, 2, 4, 4}), runtime::Error);
    EXPECT_THROW(matrix_product(*stream, {p, 2, 3, 2}, {p, 3, 5, 5}, {p, 2, 5, 5}), runtime::Error);
    constexpr auto half = NumberType::float16;
    EXPECT_THROW(matrix_product(*stream, {p, 2, 3, 3, half}, {p, 3, 5, 5, half}, {p, 2, 5, 5}),
                 runtime::Error);
    EXPECT_THROW(matrix_product(*stream, {p, 2, 3, 3, half}, {p, 3, 5, 5}, {p, 2, 5, 5}), runtime::Error);
    constexpr std::uint32_t long_k = (1u << 17) + 1; // would round between the parts
    EXPECT_THROW(
        matrix_product(*stream, {p, 2, long_k, long_k, half}, {p, long_k, 5, 5, half}, {p, 2, 5, 5, half}),
        runtime::Error);
}

} // namespace
} // namespace rekindle::mlp::verify
