#include "verify/products.h"

#include "verify/checks.h"

#include <rekindle/mlp/matrix_product.h>
#include <rekindle/runtime/memory.h>
#include <rekindle/runtime/stream.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace rekindle::mlp::verify {

namespace {

constexpr std::uint32_t unwritten = 0x7fc0dead; ///< a NaN with a distinctive bit pattern
constexpr double float32_unit = 0x1p-24;        ///< the largest relative error of one rounding

/// Between -2 and 2; float32 with all its digits, so that a device that drops some is detected.
std::vector<float> factors(std::size_t count, ProductType type, std::uint32_t seed) {
    std::mt19937 random(seed);
    std::vector<float> values(count);
    for (float& value : values)
        value = type == ProductType::float16
                    ? static_cast<float>(static_cast<int>(random() % 1025) - 512) / 256.0f
                    : static_cast<float>(random()) / 1073741824.0f - 2.0f;
    return values;
}

/// For a number that float16 represents exactly as a normal number or zero.
std::uint16_t to_half(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t magnitude = bits & 0x7fffffffu;
    const std::uint32_t sign = bits >> 16 & 0x8000u;
    return static_cast<std::uint16_t>(magnitude == 0 ? sign : sign | ((magnitude >> 13) - (112u << 10)));
}

/// A matrix on the host, with `stride` elements from row to row.
struct HostMatrix {
    std::uint32_t rows, columns, stride;
    std::vector<float> values;

    HostMatrix(std::uint32_t r, std::uint32_t c, const ProductCase& product, std::uint32_t seed)
        : rows(r), columns(c), stride(c + product.padding),
          values(factors(std::size_t{r} * stride, product.type, seed)) {}
    float at(std::size_t row, std::size_t column) const { return values[row * stride + column]; }
};

/// In device memory, `offset` elements after the start of a block.
struct DeviceCopy {
    runtime::Buffer buffer;
    DeviceMatrix matrix;
};

DeviceCopy upload(runtime::Device& device, runtime::Stream& stream, const HostMatrix& host, ProductType type,
                  std::uint32_t offset) {
    const std::uint64_t element = type == ProductType::float16 ? 2 : 4;
    DeviceCopy copy;
    copy.buffer = device.allocator().allocate((host.values.size() + offset) * element,
                                              runtime::MemoryKind::device, &stream);
    copy.matrix = {copy.buffer.pointer() + offset * element, host.rows, host.columns, host.stride};
    if (host.values.empty())
        return copy;
    if (type == ProductType::float32) {
        stream.upload(copy.matrix.first, std::as_bytes(std::span(host.values)));
    } else {
        std::vector<std::uint16_t> halves(host.values.size());
        std::transform(host.values.begin(), host.values.end(), halves.begin(), to_half);
        stream.upload(copy.matrix.first, std::as_bytes(std::span(halves)));
    }
    return copy;
}

struct Reference {
    double sum, magnitude; ///< of one element: the sum of the products, and of their magnitudes
};

Reference reference(const HostMatrix& a, const HostMatrix& b, std::size_t row, std::size_t column) {
    Reference result{0, 0};
    for (std::size_t i = 0; i < a.columns; ++i) {
        const double product = double{a.at(row, i)} * b.at(i, column);
        result.sum += product;
        result.magnitude += std::abs(product);
    }
    return result;
}

/// The largest fraction of the allowed error; infinite if something was written outside C or not at all.
double worst_share(const HostMatrix& a, const HostMatrix& b, std::span<const float> c, std::uint32_t stride,
                   double unit) {
    double worst = 0;
    for (std::size_t row = 0; row < a.rows; ++row)
        for (std::size_t column = 0; column < stride; ++column) {
            const float found = c[row * stride + column];
            if (column >= b.columns) {
                if (std::bit_cast<std::uint32_t>(found) != unwritten)
                    return INFINITY;
                continue;
            }
            const Reference expected = reference(a, b, row, column);
            const double error = std::abs(double{found} - expected.sum);
            const double allowed = a.columns * unit * expected.magnitude;
            const double share = error == 0 ? 0 : error / allowed;
            if (!(share <= worst)) // also true for NaN
                worst = std::isnan(share) ? INFINITY : share;
        }
    return worst;
}

} // namespace

double product_error(runtime::Device& device, const ProductCase& product) {
    const auto stream = device.make_stream();
    const HostMatrix a(product.m, product.k, product, 1);
    const HostMatrix b(product.k, product.n, product, 2);
    const DeviceCopy on_device_a = upload(device, *stream, a, product.type, product.offset);
    const DeviceCopy on_device_b = upload(device, *stream, b, product.type, product.offset);
    const std::uint32_t stride = product.n + product.padding;
    const std::uint64_t elements = std::uint64_t{product.m} * stride;
    const runtime::Buffer c = device.allocator().allocate((elements + product.offset) * 4,
                                                          runtime::MemoryKind::device, stream.get());
    const DeviceMatrix on_device_c{c.pointer() + std::uint64_t{product.offset} * 4, product.m, product.n,
                                   stride};
    if (elements != 0)
        stream->fill(on_device_c.first, elements * 4, unwritten);
    if (product.type == ProductType::float16)
        matrix_product_half(device, *stream, on_device_a.matrix, on_device_b.matrix, on_device_c);
    else
        matrix_product(*stream, on_device_a.matrix, on_device_b.matrix, on_device_c, product.tile);
    std::vector<float> found(elements);
    if (elements != 0)
        stream->download(std::as_writable_bytes(std::span(found)), on_device_c.first);
    stream->synchronize();
    // Matrix units may truncate instead of rounding, and may add in their own order.
    const double unit = product.type == ProductType::float16 ? 4 * float32_unit : float32_unit;
    return worst_share(a, b, found, stride, unit);
}

std::vector<ProductCase> product_cases(ProductType type, MatrixTile tile) {
    std::vector<ProductCase> cases;
    for (const auto& [m, n, k] : {std::array<std::uint32_t, 3>{1, 1, 1},
                                  {1, 67, 33},
                                  {65, 1, 40},
                                  {33, 31, 65},
                                  {129, 130, 131},
                                  {160, 256, 96}}) {
        cases.push_back({type, tile, m, n, k, 0, 0});
        cases.push_back({type, tile, m, n, k, 3, 1}); // most rows do not begin at a multiple of 16 bytes
    }
    cases.push_back({type, tile, 64, 128, 64, 8, 0}); // with gaps, and all rows at multiples of 16 bytes
    return cases;
}

void check_products(const std::shared_ptr<runtime::Device>& device, const AddRow& add) {
    const auto check = [&](const std::string& name, ProductType type, MatrixTile tile) {
        double worst = 0;
        std::string where;
        const auto cases = product_cases(type, tile);
        for (const ProductCase& product : cases) {
            const double share = product_error(*device, product);
            if (share > worst) {
                worst = share;
                where = "largest error at " + std::to_string(product.m) + " x " + std::to_string(product.n) +
                        " x " + std::to_string(product.k);
            }
        }
        VerifyRow row = compared("matrix product", name + ", " + std::to_string(cases.size()) + " products",
                                 1, worst, where);
        row.unit = "of the error bound";
        add(std::move(row));
    };
    check("float32, tiles of 32", ProductType::float32, MatrixTile::tile_32);
    check("float32, tiles of 64", ProductType::float32, MatrixTile::tile_64);
    check("float32, tiles of 128", ProductType::float32, MatrixTile::tile_128);
    if (has_matrix_product_half(*device)) {
        check("float16 on the matrix units", ProductType::float16, MatrixTile::automatic);
        return;
    }
    add(stated("matrix product", "float16 on the matrix units", VerifyRow::Outcome::not_run,
               "the device has no matrix units for float16"));
}

} // namespace rekindle::mlp::verify
