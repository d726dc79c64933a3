#include "verify/products.h"

#include "verify/checks.h"

#include <rekindle/kernels/ceil_div.h>
#include <rekindle/kernels/families/product.h>
#include <rekindle/products/calibration.h>
#include <rekindle/products/multiply.h>
#include <rekindle/runtime/memory.h>
#include <rekindle/runtime/stream.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <string>
#include <vector>

namespace rekindle::mlp::verify {

namespace {

/// A factor on the host, with `stride` elements from row to row.
struct Factor {
    std::uint32_t rows, columns, stride;
    std::vector<float> values;

    Factor(std::uint32_t r, std::uint32_t c, const ProductCase& product, std::uint32_t seed)
        : rows(r), columns(c), stride(c + product.padding),
          values(random_numbers(std::size_t{r} * stride, product.type, seed)) {}
    float at(std::size_t row, std::size_t column) const { return values[row * stride + column]; }
};
Factor factor_a(const ProductCase& product) {
    return {product.m, product.k, product, 1};
}
Factor factor_b(const ProductCase& product) {
    return {product.k, product.n, product, 2};
}

ElementType result_type(const ProductCase& product) {
    return product.tile.on_units ? ElementType::float32 : product.type;
}

/// For one element: the sum of the products, and the sum of their magnitudes.
struct Reference {
    double sum = 0, magnitude = 0;
};

Reference reference(const Factor& a, const Factor& b, std::size_t row, std::size_t column) {
    Reference result;
    for (std::size_t i = 0; i < a.columns; ++i) {
        const double product = double{a.at(row, i)} * b.at(i, column);
        result.sum += product;
        result.magnitude += std::abs(product);
    }
    return result;
}

void check_tile(runtime::Device& device, ElementType type, const products::Tile& tile, bool few,
                const AddRow& add) {
    double worst = 0;
    std::string where;
    const auto cases = product_cases(type, tile, few);
    for (const ProductCase& product : cases) {
        const double share = product_error(product, product_on(device, product));
        if (share > worst) {
            worst = share;
            where = "largest error at " + std::to_string(product.m) + " x " + std::to_string(product.n) +
                    " x " + std::to_string(product.k);
        }
    }
    const std::string name = std::string(products::name(type)) +
                             (tile.on_units ? " on the matrix units, tiles of " : ", tiles of ") +
                             std::to_string(tile.rows) + " x " + std::to_string(tile.columns);
    VerifyRow row =
        compared("matrix product", name + ", " + std::to_string(cases.size()) + " products", 1, worst, where);
    row.unit = "of the error bound";
    add(std::move(row));
}

/// Declares that a product writes the matrix, or that it reads it.
runtime::Access access(const DeviceNumbers& numbers, bool writes) {
    return writes ? runtime::writes(numbers.buffer()) : runtime::reads(numbers.buffer());
}

} // namespace

HostNumbers product_on(runtime::Device& device, const ProductCase& product) {
    const auto stream = device.make_stream();
    const Factor a = factor_a(product), b = factor_b(product);
    const std::uint32_t stride = product.n + product.padding;
    const ElementType type = result_type(product);
    const DeviceNumbers on_a(device, *stream, product.type, a.values, product.offset);
    const DeviceNumbers on_b(device, *stream, product.type, b.values, product.offset);
    const DeviceNumbers on_c(device, *stream, type, std::size_t{product.m} * stride, product.offset);
    const std::int64_t m = product.m, n = product.n, k = product.k;
    const products::Product work{.type = product.type,
                                 .dtype = products::dtype_of(product.type),
                                 .result_dtype = products::dtype_of(type),
                                 .element_bytes = bytes_of(product.type),
                                 .a = {on_a.first().address, m, k, a.stride, 1, 0},
                                 .b = {on_b.first().address, k, n, b.stride, 1, 0},
                                 .c = {on_c.first().address, m, n, stride, 1, 0},
                                 .alpha = std::bit_cast<std::uint32_t>(1.0f)};
    products::queue_product(device, *stream, work, product.plan(),
                            {access(on_a, false), access(on_b, false), access(on_c, true), {}});
    return on_c.download(*stream);
}

double product_error(const ProductCase& product, const HostNumbers& c) {
    const Factor a = factor_a(product), b = factor_b(product);
    const std::uint32_t stride = product.n + product.padding;
    // The sum is rounded to a result of 16 bits. All sums are multiples of 2^-18, so that even subnormal ones
    // are exact in float16.
    const double result_unit =
        result_type(product) == ElementType::float32 ? 0 : rounding_unit(result_type(product));
    Worst worst;
    for (std::size_t row = 0; row < product.m; ++row) {
        for (std::size_t column = 0; column < product.n; ++column) {
            const Reference expected = reference(a, b, row, column);
            const double sum_error = product.k * sum_unit(product.tile.on_units) * expected.magnitude;
            worst.compare(c, row * stride + column, expected.sum,
                          sum_error + result_unit * (std::abs(expected.sum) + sum_error));
        }
        for (std::size_t gap = product.n; gap < stride; ++gap)
            worst.must_be_unwritten(c, row * stride + gap);
    }
    return worst.share();
}

products::Plan ProductCase::plan() const {
    const std::int64_t depth = std::max(16u, tile.depth);
    products::Plan plan{
        tile, 1,
        std::max(kernels::ceil_div(kernels::ceil_div<std::int64_t>(k, parts), depth), std::int64_t{1}) *
            depth};
    plan.parts = std::max<std::int64_t>(kernels::ceil_div<std::int64_t>(k, plan.k_part), 1);
    return plan;
}

std::vector<ProductCase> product_cases(ElementType type, const products::Tile& tile, bool few) {
    if (few)
        return {{type, tile, 33, 31, 65, 0, 0, 1},
                {type, tile, 33, 31, 65, 3, 1, 1},
                {type, tile, 160, 256, 96, 0, 0, 1}};
    std::vector<ProductCase> cases;
    for (const auto& [m, n, k] : {std::array<std::uint32_t, 3>{1, 1, 1},
                                  {1, 67, 33},
                                  {65, 1, 40},
                                  {33, 31, 65},
                                  {129, 130, 131},
                                  {160, 256, 96}}) {
        cases.push_back({type, tile, m, n, k, 0, 0, 1});
        cases.push_back({type, tile, m, n, k, 3, 1, 1}); // most rows are not aligned to 16 bytes
    }
    cases.push_back({type, tile, 64, 128, 64, 8, 0, 1}); // with gaps, and all rows aligned
    cases.push_back({type, tile, 70, 66, 500, 0, 0, 3});
    return cases;
}

void check_products(const std::shared_ptr<runtime::Device>& device, const AddRow& add) {
    if (!device->usable_features().contains(kernels::product_32x32.kernel.needs)) {
        add(stated("matrix product", "float32, float16 and bfloat16", VerifyRow::Outcome::not_run,
                   "the device has no 16-bit or no 8-bit memory access"));
        return;
    }
    const bool is_cpu = device->info().type == runtime::DeviceType::cpu;
    const products::DeviceParameters parameters =
        products::default_parameters(device->info(), device->usable_features());
    for (const ElementType type : {ElementType::float32, ElementType::float16, ElementType::bfloat16}) {
        std::vector<products::Tile> tiles = products::product_tiles(parameters, type);
        if (is_cpu && type != ElementType::float32)
            tiles.resize(1);
        for (const products::Tile& tile : tiles)
            check_tile(*device, type, tile, is_cpu && !(type == ElementType::float32 && tile.rows == 32),
                       add);
    }
    for (const ElementType type : {ElementType::float16, ElementType::bfloat16}) {
        const std::vector<products::Tile> tiles = products::unit_product_tiles(parameters, type);
        for (const products::Tile& tile : tiles)
            check_tile(*device, type, tile, false, add);
        if (tiles.empty())
            add(stated("matrix product", std::string(products::name(type)) + " on the matrix units",
                       VerifyRow::Outcome::not_run,
                       "the device has no matrix units for " + std::string(products::name(type))));
    }
}

} // namespace rekindle::mlp::verify
