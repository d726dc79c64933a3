#pragma once
/// The tiles of kernels/product/ that a device can run.

#include <rekindle/kernels/kernel.h>
#include <rekindle/kernels/values.h>
#include <rekindle/products/device_parameters.h>

#include <cstdint>
#include <string>
#include <vector>

namespace rekindle::products {

/// The type of the operands. int64 stands for every integer type: their sums are int64.
enum class ElementType { float32, float16, bfloat16, float64, int64 };
std::string_view name(ElementType type) noexcept;
constexpr std::uint32_t bytes_of(ElementType type) {
    switch (type) {
    case ElementType::float32:
        return 4;
    case ElementType::float16:
    case ElementType::bfloat16:
        return 2;
    default:
        return 8;
    }
}
/// The value of the kernels' constant `dtype`.
constexpr std::uint32_t dtype_of(ElementType type) {
    switch (type) {
    case ElementType::float16:
        return kernels::value::dtype_float16;
    case ElementType::bfloat16:
        return kernels::value::dtype_bfloat16;
    case ElementType::float64:
        return kernels::value::dtype_float64;
    case ElementType::int64:
        return kernels::value::dtype_int64;
    default:
        return kernels::value::dtype_float32;
    }
}
/// Bytes of a sum of products of such numbers.
constexpr std::uint32_t sum_bytes(ElementType type) {
    return type == ElementType::float64 || type == ElementType::int64 ? 8 : 4;
}

/// A kernel whose workgroups compute tiles of rows x columns of a matrix, in slices of `depth` along k.
struct Tile {
    const kernels::Kernel* kernel = nullptr;
    std::uint32_t rows = 0, columns = 0, depth = 0;
    std::uint32_t iterations = 1; ///< of a thread's loops per slice
    bool on_units = false;        ///< on matrix units
    bool gathers = false;         ///< for convolutions: one factor is gathered from an image
    bool wide = false;            ///< each thread has 128 sums (kernels/product/README.md)

    /// Values of specialization constants; the last three are those of kernels on matrix units.
    std::uint32_t shared_numbers = 1;
    std::uint32_t shared_eights = 1, subgroup_size = 0, idle_subgroups = 1;
    std::uint32_t number_bytes = 4; ///< size of a number in shared memory; unused on matrix units

    std::uint32_t shared_bytes() const {
        return on_units ? 16 * shared_eights : shared_numbers * number_bytes;
    }
    /// Whether the kernel multiplies float16 numbers directly, without matrix units. Only such kernels use
    /// the constant half_sums.
    bool multiplies_float16() const { return !on_units && number_bytes == 2; }
    /// For example "128x128", "wide 128x128", "units 64x64" or "units wide 128x128"; unique among the tiles
    /// of one list.
    std::string name() const;
};

/// Whether the device has matrix units for such factors, and kernels for them. False for types of more than
/// 16 bits.
bool has_matrix_units(const DeviceParameters& device, ElementType type);

/// The tiles of matrix products without matrix units, at most 32 KiB of shared memory each; at least one. On
/// devices without matrix units, float16 gets the kernels that multiply it directly, unless the device's
/// float16_rate shows that they are slow.
std::vector<Tile> product_tiles(const DeviceParameters& device, ElementType type);
/// The tiles of matrix products on matrix units, in the first of runtime::matrix_shapes that the device has
/// and that passed its self-test; empty without matrix units for this type.
std::vector<Tile> unit_product_tiles(const DeviceParameters& device, ElementType type);
/// The same for convolutions.
std::vector<Tile> convolution_tiles(const DeviceParameters& device, ElementType type);
std::vector<Tile> unit_convolution_tiles(const DeviceParameters& device, ElementType type);

} // namespace rekindle::products
