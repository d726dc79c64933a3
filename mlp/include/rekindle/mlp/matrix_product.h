#pragma once
/// Matrix products on a Vulkan device (kernels/matmul/matmul.slang, kernels/product/product_units.slang).

#include <rekindle/runtime/device.h>
#include <rekindle/runtime/stream.h>

#include <cstdint>

namespace rekindle::mlp {

/// A row-major matrix in a device's memory. Does not own it.
struct DeviceMatrix {
    runtime::DevicePointer first;
    std::uint32_t rows = 0, columns = 0;
    std::uint32_t stride = 0; ///< elements from the start of a row to the start of the next, >= columns
};

/// The part of C that one workgroup computes. automatic: chosen by the size of C. It does not affect the bits
/// of the result.
enum class MatrixTile { automatic, tile_32, tile_64, tile_128 };

/// Queues C = A · B in float32; each sum runs over k in order, with fused multiply-adds. An empty C: does
/// nothing; k = 0: writes zeros. C must not overlap A or B. Throws runtime::Error when the sizes do not
/// match.
void matrix_product(runtime::Stream& stream, const DeviceMatrix& a, const DeviceMatrix& b,
                    const DeviceMatrix& c, MatrixTile tile = MatrixTile::automatic);

/// Whether the device has the matrix units that matrix_product_half needs and they passed its self-test.
bool has_matrix_product_half(const runtime::Device& device);

/// The same with A and B in float16 and with sums and C in float32, on the matrix units; the device
/// determines the order of a sum. The stream must belong to `device`. Throws runtime::Unsupported when the
/// device has no such units, and runtime::Error when the sizes do not match.
void matrix_product_half(const runtime::Device& device, runtime::Stream& stream, const DeviceMatrix& a,
                         const DeviceMatrix& b, const DeviceMatrix& c);

} // namespace rekindle::mlp
