#include "verify/products.h"

#include "verify/checks.h"

#include <rekindle/runtime/memory.h>
#include <rekindle/runtime/stream.h>

#include <array>
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

NumberType result_type(const ProductCase& product) {
    return product.on_units ? NumberType::float32 : product.type;
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

/// The kernels of one row of the table.
struct ProductKernels {
    std::string name;
    NumberType type;
    bool on_units = false;
    MatrixTile tile = MatrixTile::automatic;
    bool few = false; ///< see product_cases
};

std::vector<ProductKernels> all_product_kernels(bool is_cpu) {
    std::vector<ProductKernels> kernels;
    for (const NumberType type : {NumberType::float32, NumberType::float16, NumberType::bfloat16}) {
        const std::string name(mlp::name(type));
        const bool first = type == NumberType::float32;
        kernels.push_back({name + ", tiles of 32", type, false, MatrixTile::tile_32, is_cpu && !first});
        if (is_cpu && !first)
            continue;
        kernels.push_back({name + ", tiles of 64", type, false, MatrixTile::tile_64, is_cpu});
        kernels.push_back({name + ", tiles of 128", type, false, MatrixTile::tile_128, is_cpu});
    }
    for (const NumberType type : {NumberType::float16, NumberType::bfloat16})
        kernels.push_back({std::string(mlp::name(type)) + " on the matrix units", type, true});
    return kernels;
}

void check_kernels(runtime::Device& device, const ProductKernels& kernels, const AddRow& add) {
    double worst = 0;
    std::string where;
    const auto cases = product_cases(kernels.type, kernels.on_units, kernels.tile, kernels.few);
    for (const ProductCase& product : cases) {
        const double share = product_error(product, product_on(device, product));
        if (share > worst) {
            worst = share;
            where = "largest error at " + std::to_string(product.m) + " x " + std::to_string(product.n) +
                    " x " + std::to_string(product.k);
        }
    }
    VerifyRow row = compared(
        "matrix product", kernels.name + ", " + std::to_string(cases.size()) + " products", 1, worst, where);
    row.unit = "of the error bound";
    add(std::move(row));
}

} // namespace

HostNumbers product_on(runtime::Device& device, const ProductCase& product) {
    const auto stream = device.make_stream();
    const Factor a = factor_a(product), b = factor_b(product);
    const std::uint32_t stride = product.n + product.padding;
    const NumberType type = result_type(product);
    const DeviceNumbers on_a(device, *stream, product.type, a.values, product.offset);
    const DeviceNumbers on_b(device, *stream, product.type, b.values, product.offset);
    const DeviceNumbers on_c(device, *stream, type, std::size_t{product.m} * stride, product.offset);
    const DeviceMatrix ma{on_a.first(), a.rows, a.columns, a.stride, product.type};
    const DeviceMatrix mb{on_b.first(), b.rows, b.columns, b.stride, product.type};
    const DeviceMatrix mc{on_c.first(), product.m, product.n, stride, type};
    if (product.on_units)
        matrix_product_on_units(device, *stream, ma, mb, mc);
    else
        matrix_product(*stream, ma, mb, mc, product.tile);
    return on_c.download(*stream);
}

double product_error(const ProductCase& product, const HostNumbers& c) {
    const Factor a = factor_a(product), b = factor_b(product);
    const std::uint32_t stride = product.n + product.padding;
    // The sum is rounded to a result of 16 bits. All numbers are multiples of 2^-18, which float16 represents
    // down to zero.
    const double result_unit =
        result_type(product) == NumberType::float32 ? 0 : rounding_unit(result_type(product));
    Worst worst;
    for (std::size_t row = 0; row < product.m; ++row) {
        for (std::size_t column = 0; column < product.n; ++column) {
            const Reference expected = reference(a, b, row, column);
            const double of_sum = product.k * sum_unit(product.on_units) * expected.magnitude;
            worst.compare(c, row * stride + column, expected.sum,
                          of_sum + result_unit * (std::abs(expected.sum) + of_sum));
        }
        for (std::size_t gap = product.n; gap < stride; ++gap)
            worst.must_be_unwritten(c, row * stride + gap);
    }
    return worst.share();
}

std::vector<ProductCase> product_cases(NumberType type, bool on_units, MatrixTile tile, bool few) {
    if (few)
        return {{type, on_units, tile, 33, 31, 65, 0, 0},
                {type, on_units, tile, 33, 31, 65, 3, 1},
                {type, on_units, tile, 160, 256, 96, 0, 0}};
    std::vector<ProductCase> cases;
    for (const auto& [m, n, k] : {std::array<std::uint32_t, 3>{1, 1, 1},
                                  {1, 67, 33},
                                  {65, 1, 40},
                                  {33, 31, 65},
                                  {129, 130, 131},
                                  {160, 256, 96}}) {
        cases.push_back({type, on_units, tile, m, n, k, 0, 0});
        cases.push_back({type, on_units, tile, m, n, k, 3, 1}); // most rows are not aligned to 16 bytes
    }
    cases.push_back({type, on_units, tile, 64, 128, 64, 8, 0}); // with gaps, and all rows aligned
    return cases;
}

void check_products(const std::shared_ptr<runtime::Device>& device, const AddRow& add) {
    if (!has_matrix_product(*device)) {
        add(stated("matrix product", "float32, float16 and bfloat16", VerifyRow::Outcome::not_run,
                   "the device has no 16-bit or no 8-bit memory access"));
        return;
    }
    for (const ProductKernels& kernels :
         all_product_kernels(device->info().type == runtime::DeviceType::cpu)) {
        if (!kernels.on_units || has_matrix_units(*device, kernels.type))
            check_kernels(*device, kernels, add);
        else
            add(stated("matrix product", kernels.name, VerifyRow::Outcome::not_run,
                       "the device has no matrix units for " + std::string(mlp::name(kernels.type))));
    }
}

} // namespace rekindle::mlp::verify
