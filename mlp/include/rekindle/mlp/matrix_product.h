#pragma once
/// Matrix products on a Vulkan device (kernels/matmul.slang, kernels/matmul_cooperative.slang).

#include <rekindle/runtime/device.h>
#include <rekindle/runtime/stream.h>

#include <cstdint>

namespace rekindle::mlp {

/// A row-major matrix in a device's memory. Does not own it.
struct DeviceMatrix {
    runtime::DevicePointer first;
    std::uint32_t rows = 0, columns = 0;
    std::uint32_t stride = 0; ///< elements between the beginnings of two rows, >= columns
};

/// The part of C that one workgroup makes. automatic: by the size of C. The bits of the result do not depend
/// on it.
enum class MatrixTile { automatic, tile_32, tile_64, tile_128 };

/// Queues C = A · B in float32; each sum runs over k in order, with fused multiply-adds. An empty C: nothing;
/// k = 0: zeros. C may not overlap A or B. Throws runtime::Error when the sizes do not fit each other.
void matrix_product(runtime::Stream& stream, const DeviceMatrix& a, const DeviceMatrix& b,
                    const DeviceMatrix& c, MatrixTile tile = MatrixTile::automatic);

/// Whether the device has the matrix units that matrix_product_half needs, and its self-test found them
/// right.
bool has_matrix_product_half(const runtime::Device& device);

/// The same with A and B in float16 and sums and C in float32, on the matrix units; the order of a sum is the
/// device's. The stream is one of `device`. Throws runtime::Unsupported when the device has no such units,
/// and runtime::Error when k is 0 or the sizes do not fit each other.
void matrix_product_half(const runtime::Device& device, runtime::Stream& stream, const DeviceMatrix& a,
                         const DeviceMatrix& b, const DeviceMatrix& c);

} // namespace rekindle::mlp
