#pragma once
/// Matrix products on a Vulkan device (kernels/product/product.slang and product_units.slang).

#include <rekindle/runtime/device.h>
#include <rekindle/runtime/stream.h>

#include <cstdint>
#include <string_view>

namespace rekindle::mlp {

/// The type of a matrix's elements.
enum class NumberType { float32, float16, bfloat16 };
/// "float32", "float16" or "bfloat16".
std::string_view name(NumberType type) noexcept;
constexpr std::uint64_t bytes_of(NumberType type) noexcept {
    return type == NumberType::float32 ? 4 : 2;
}

/// A row-major matrix in a device's memory. Does not own it.
struct DeviceMatrix {
    runtime::DevicePointer first;
    std::uint32_t rows = 0, columns = 0;
    std::uint32_t stride = 0; ///< elements from the start of a row to the start of the next, >= columns
    NumberType type = NumberType::float32;
};

/// The part of C that one workgroup computes. automatic: chosen by the size of C. The result has the same
/// bits with every tile.
enum class MatrixTile { automatic, tile_32, tile_64, tile_128 };

/// Whether the device has the 16-bit and 8-bit memory accesses that the kernels of matrix_product need.
bool has_matrix_product(const runtime::Device& device);

/// Queues C = A · B for matrices of one type. Each sum is float32 and runs over k in order, with fused
/// multiply-adds; float32 matrices with larger k are summed in parts of 131,072, which are added in order. If
/// C is empty, does nothing; if k = 0, writes zeros. C must not overlap A or B. Throws runtime::Unsupported
/// without has_matrix_product, and runtime::Error when the sizes or types do not match or when k is above
/// 131,072 with 16-bit numbers.
void matrix_product(runtime::Stream& stream, const DeviceMatrix& a, const DeviceMatrix& b,
                    const DeviceMatrix& c, MatrixTile tile = MatrixTile::automatic);

/// Whether the device has matrix units for factors of this type and they passed its self-test.
bool has_matrix_units(const runtime::Device& device, NumberType type);

/// The same on the matrix units, with A and B of one 16-bit type and C of any type; the device determines the
/// order of a sum. The stream must belong to `device`. Throws runtime::Unsupported when the device has no
/// such units, and runtime::Error when the sizes or types do not match.
void matrix_product_on_units(const runtime::Device& device, runtime::Stream& stream, const DeviceMatrix& a,
                             const DeviceMatrix& b, const DeviceMatrix& c);

} // namespace rekindle::mlp
