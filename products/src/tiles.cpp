#include <rekindle/kernels/families/convolution.h>
#include <rekindle/kernels/families/convolution_float16.h>
#include <rekindle/kernels/families/convolution_float64.h>
#include <rekindle/kernels/families/convolution_int64.h>
#include <rekindle/kernels/families/convolution_units_bfloat16.h>
#include <rekindle/kernels/families/product_float16.h>
#include <rekindle/kernels/families/product_float64.h>
#include <rekindle/kernels/families/product_int64.h>
#include <rekindle/kernels/families/product_units_bfloat16.h>
#include <rekindle/kernels/unit_tiles.h>
#include <rekindle/products/tiles.h>

#include <algorithm>
#include <iterator>
#include <span>

namespace rekindle::products {

namespace {

/// Variant is ProductVariant, ProductWideVariant or ConvolutionVariant.
template <class Variant>
Tile tile_of(const Variant& variant, std::uint32_t number_bytes) {
    // A slice is one iteration of the outer loop. Unless it is unrolled as a whole, it has an inner loop,
    // whose last test counts as an iteration, too.
    const std::uint32_t rounds = variant.depth / variant.unroll;
    return {.kernel = variant.kernel,
            .rows = variant.rows,
            .columns = variant.columns,
            .depth = variant.depth,
            .iterations = rounds == 1 ? 1 : rounds + 2,
            .shared_numbers = 2 * variant.depth * (variant.rows + variant.columns + 8),
            .number_bytes = number_bytes};
}

template <class Variant>
std::vector<Tile> tiles_of(std::span<const Variant> variants, std::uint32_t number_bytes, bool gathers) {
    std::vector<Tile> tiles;
    for (const Variant& variant : variants) {
        tiles.push_back(tile_of(variant, number_bytes));
        tiles.back().gathers = gathers;
    }
    return tiles;
}

/// The variants of a family for each dtype that it is compiled for.
template <class Variant>
struct ByDtype {
    std::span<const Variant> float32, float16, float64, int64;
};

template <class Variant>
std::vector<Tile> tiles_of(const DeviceParameters& device, ElementType type, const ByDtype<Variant>& variants,
                           bool gathers) {
    if (type == ElementType::float64)
        return tiles_of(variants.float64, sum_bytes(type), gathers);
    if (type == ElementType::int64)
        return tiles_of(variants.int64, sum_bytes(type), gathers);
    // The float32 kernels spend about a fifth of their time converting float16. Devices with matrix units
    // keep them, because there only small products do not run on the units.
    constexpr double least_rate = 0.8;
    if (type == ElementType::float16 && device.float16_rate >= least_rate * device.float32_rate &&
        !has_matrix_units(device, type) && std::ranges::all_of(variants.float16, [&](const Variant& one) {
            return device.usable.contains(one.kernel->needs);
        }))
        return tiles_of(variants.float16, bytes_of(type), gathers);
    return tiles_of(variants.float32, sum_bytes(type), gathers);
}

/// Variant: ProductUnitsVariant or ConvolutionUnitsVariant, or their wide counterparts.
template <class Variant>
std::vector<Tile> unit_tiles_of(const DeviceParameters& device, ElementType type,
                                std::span<const Variant> variants, bool gathers, bool wide) {
    std::vector<Tile> tiles;
    if (device.minimum_subgroup > kernels::largest_unit_subgroup)
        return tiles;
    const kernels::UnitSubgroups subgroups =
        kernels::unit_subgroups(device.minimum_subgroup, device.maximum_subgroup);
    for (const runtime::MatrixShape& shape : runtime::matrix_shapes) {
        for (const Variant& one : variants)
            if (one.unit == shape.feature && device.usable.contains(one.kernel->needs))
                tiles.push_back({.kernel = one.kernel,
                                 .rows = one.rows,
                                 .columns = one.columns,
                                 .depth = one.depth,
                                 .on_units = true,
                                 .gathers = gathers,
                                 .wide = wide,
                                 .shared_eights = kernels::eights_of_tile(one),
                                 .subgroup_size = subgroups.size,
                                 .idle_subgroups = subgroups.idle});
        // bfloat16_units refers to the first shape that the device has.
        if (!tiles.empty() || (type == ElementType::bfloat16 && device.claimed.contains(shape.feature)))
            break;
    }
    return tiles;
}

/// The kernels of a family that use matrix units, by dtype and by whether their tiles are wide.
template <class Variant, class WideVariant>
struct UnitVariants {
    std::span<const Variant> float16, bfloat16;
    std::span<const WideVariant> wide_float16, wide_bfloat16;
};

template <class Variant, class WideVariant>
std::vector<Tile> unit_tiles_of(const DeviceParameters& device, ElementType type,
                                const UnitVariants<Variant, WideVariant>& variants, bool gathers) {
    if (type != ElementType::float16 && type != ElementType::bfloat16)
        return {};
    const bool half = type == ElementType::float16;
    std::vector<Tile> tiles =
        unit_tiles_of(device, type, half ? variants.float16 : variants.bfloat16, gathers, false);
    std::ranges::copy(
        unit_tiles_of(device, type, half ? variants.wide_float16 : variants.wide_bfloat16, gathers, true),
        std::back_inserter(tiles));
    return tiles;
}

} // namespace

std::string_view name(ElementType type) noexcept {
    constexpr std::string_view names[] = {"float32", "float16", "bfloat16", "float64", "int64"};
    return names[static_cast<std::size_t>(type)];
}

std::string Tile::name() const {
    return std::string(on_units ? "units " : "") + (wide ? "wide " : "") + std::to_string(rows) + "x" +
           std::to_string(columns);
}

std::vector<Tile> product_tiles(const DeviceParameters& device, ElementType type) {
    const ByDtype<kernels::ProductVariant> variants{
        kernels::product_variants, kernels::product_variants_float16, kernels::product_variants_float64,
        kernels::product_variants_int64};
    std::vector<Tile> tiles = tiles_of(device, type, variants, false);
    if (sum_bytes(type) == 4 && !tiles.front().multiplies_float16())
        for (const kernels::ProductWideVariant& variant : kernels::product_wide_variants) {
            tiles.push_back(tile_of(variant, sum_bytes(type)));
            tiles.back().wide = true;
        }
    return tiles;
}

std::vector<Tile> convolution_tiles(const DeviceParameters& device, ElementType type) {
    const ByDtype<kernels::ConvolutionVariant> variants{
        kernels::convolution_variants, kernels::convolution_variants_float16,
        kernels::convolution_variants_float64, kernels::convolution_variants_int64};
    return tiles_of(device, type, variants, true);
}

std::vector<Tile> unit_product_tiles(const DeviceParameters& device, ElementType type) {
    const UnitVariants<kernels::ProductUnitsVariant, kernels::ProductUnitsWideVariant> variants{
        kernels::product_units_variants, kernels::product_units_variants_bfloat16,
        kernels::product_units_wide_variants, kernels::product_units_wide_variants_bfloat16};
    return unit_tiles_of(device, type, variants, false);
}

std::vector<Tile> unit_convolution_tiles(const DeviceParameters& device, ElementType type) {
    const UnitVariants<kernels::ConvolutionUnitsVariant, kernels::ConvolutionUnitsWideVariant> variants{
        kernels::convolution_units_variants, kernels::convolution_units_variants_bfloat16,
        kernels::convolution_units_wide_variants, kernels::convolution_units_wide_variants_bfloat16};
    return unit_tiles_of(device, type, variants, true);
}

bool has_matrix_units(const DeviceParameters& device, ElementType type) {
    return !unit_product_tiles(device, type).empty();
}

} // namespace rekindle::products
