#include "self_test/known_answer.h"

#include <rekindle/kernels/ceil_div.h>
#include <rekindle/kernels/families/product_units_bfloat16.h>
#include <rekindle/kernels/families/selftest_matrix.h>
#include <rekindle/kernels/unit_tiles.h>
#include <rekindle/kernels/values.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <span>

namespace rekindle::runtime {

namespace {

std::string name_of(const MatrixShape& shape) {
    return std::to_string(shape.m) + " x " + std::to_string(shape.n) + " x " + std::to_string(shape.k);
}

/// Small integers: every product and sum is exact, in whatever order they are added.
KnownAnswer product_on_units(const MatrixShape& shape, const kernels::Kernel& kernel) {
    const auto [m, n, depth, feature] = shape;
    const std::uint32_t b_at = m * depth, c_at = b_at + depth * n;
    std::vector<float> input(c_at + m * n);
    for (std::uint32_t i = 0; i < input.size(); ++i)
        input[i] = static_cast<float>(static_cast<int>(mix(i + 4242) % 17) - 8);
    std::vector<Number> expected(std::size_t{m} * n);
    for (std::uint32_t row = 0; row < m; ++row)
        for (std::uint32_t column = 0; column < n; ++column) {
            float sum = input[c_at + row * n + column];
            for (std::uint32_t k = 0; k < depth; ++k)
                sum += input[row * depth + k] * input[b_at + k * n + column];
            expected[row * n + column].value = static_cast<double>(sum);
        }
    return {.name = "matrix units, " + name_of(shape),
            .kernel = &kernel,
            .disables = feature,
            .count = 1,
            .input = bytes_of(input),
            .output = unwritten(expected.size() * sizeof(float)),
            .mistake = must_be_near<float>(expected, {"element"})};
}

/// The type of the factors; sums are float32.
enum class UnitFactor { float16, bfloat16 };

/// number: at most 2048, for bfloat16 at most 256.
std::uint16_t factor_of(int number, UnitFactor type) {
    if (type == UnitFactor::bfloat16)
        return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(static_cast<float>(number)) >> 16);
    const auto size = static_cast<std::uint32_t>(std::abs(number));
    if (size == 0)
        return 0;
    const auto exponent = static_cast<std::uint32_t>(std::bit_width(size)) - 1;
    return static_cast<std::uint16_t>((number < 0 ? 0x8000u : 0u) | (exponent + 15) << 10 |
                                      ((size << (10 - exponent)) & 0x3ffu));
}

/// The kernel that products use, with partial tiles in all directions. Small integers, too.
/// Variant: ProductUnitsVariant or ProductUnitsWideVariant.
template <class Variant>
KnownAnswer tile_on_units(const MatrixShape& shape, UnitFactor factor, const Variant& tile,
                          const Capabilities& can, kernels::Feature disables) {
    constexpr std::uint32_t m = 72, n = 80, depth = 40;
    std::vector<int> a(std::size_t{m} * depth), b(std::size_t{depth} * n);
    for (std::uint32_t i = 0; i < a.size(); ++i)
        a[i] = static_cast<int>(mix(i + 99) % 17) - 8;
    for (std::uint32_t i = 0; i < b.size(); ++i)
        b[i] = static_cast<int>(mix(i + 7777) % 17) - 8;
    std::vector<std::uint16_t> input;
    for (const std::vector<int>* numbers : {&a, &b})
        for (const int number : *numbers)
            input.push_back(factor_of(number, factor));
    std::vector<Number> expected(std::size_t{m} * n);
    for (std::uint32_t row = 0; row < m; ++row)
        for (std::uint32_t column = 0; column < n; ++column) {
            int sum = 0;
            for (std::uint32_t k = 0; k < depth; ++k)
                sum += a[row * depth + k] * b[k * n + column];
            expected[row * n + column].value = sum;
        }
    const kernels::UnitSubgroups subgroups =
        kernels::unit_subgroups(can.minimum_subgroup, can.maximum_subgroup);
    const auto constants =
        kernels::ProductUnitsConstants{.dtype = kernels::value::dtype_float32,
                                       .shared_numbers = 1,
                                       .a_sharing = kernels::value::sharing_quads_along_k,
                                       .b_sharing = kernels::value::sharing_quads_along_outer,
                                       .stores_quads = 1,
                                       .subgroup_size = subgroups.size,
                                       .idle_subgroups = subgroups.idle,
                                       .shared_eights = kernels::eights_of_tile(tile)}
            .list();
    const std::size_t a_bytes = a.size() * sizeof(std::uint16_t);
    return {.name = std::string("tiles on matrix units, ") +
                    (factor == UnitFactor::bfloat16 ? "bfloat16, " : "") + (tile.stages > 1 ? "wide, " : "") +
                    std::to_string(tile.rows) + " x " + std::to_string(tile.columns) + ", " + name_of(shape),
            .kernel = tile.kernel,
            .constants = {constants.begin(), constants.end()},
            .disables = disables,
            .groups = {kernels::ceil_div(n, tile.columns), kernels::ceil_div(m, tile.rows), 1},
            .input = bytes_of(input),
            .output = unwritten(expected.size() * sizeof(float)),
            .parameters =
                [=](std::uint64_t from, std::uint64_t to) {
                    const kernels::ProductUnitsParameters p{.a = from,
                                                            .b = from + a_bytes,
                                                            .c = to,
                                                            .alpha = std::bit_cast<std::uint32_t>(1.0f),
                                                            .m = m,
                                                            .n = n,
                                                            .k = depth,
                                                            .k_part = 2 * tile.depth,
                                                            .a_row = depth,
                                                            .a_step = 1,
                                                            .b_step = n,
                                                            .b_column = 1,
                                                            .c_row = n,
                                                            .c_column = 1};
                    const auto bytes = std::as_bytes(std::span(&p, 1));
                    return std::vector<std::byte>(bytes.begin(), bytes.end());
                },
            .mistake = must_be_near<float>(expected, {"element"})};
}

/// The layout of Feature::matrix_quads. A different layout is not a failure.
KnownAnswer places_of_elements() {
    std::vector<Number> expected;
    for (std::uint32_t lane = 0; lane < 32; ++lane)
        for (std::uint32_t i = 0; i < 16; ++i) { // eight of sums, eight of a factor
            const std::uint32_t row = lane / 4 + i / 4 % 2 * 8;
            const std::uint32_t column = lane % 4 * 2 + i % 2 + i / 2 % 2 * 8;
            expected.push_back({static_cast<double>(row * 16 + column)});
        }
    return {.name = "places of a matrix's elements",
            .kernel = &kernels::selftest_elements.kernel,
            .disables = kernels::Feature::matrix_quads,
            .is_property = true,
            .groups = {1, 1, 1},
            .count = 1,
            .output = unwritten(expected.size() * sizeof(float)),
            .mistake = must_be_near<float>(std::move(expected), {"place"})};
}

/// Says how the layout differs from that of Feature::matrix_columns; "" if it does not. found: for each
/// lane, the indexes of its eight elements of a size x size matrix.
std::string mistake_in_columns(std::span<const float> found, std::uint32_t size) {
    std::vector<bool> seen(std::size_t{size} * size);
    for (std::uint32_t i = 0; i < found.size(); ++i) {
        const std::uint32_t lane = i / 8, element = i % 8;
        const auto text = [&](const std::string& what) {
            return "element " + std::to_string(element) + " of lane " + std::to_string(lane) + " is " + what;
        };
        if (!(found[i] >= 0 && found[i] < static_cast<float>(seen.size())))
            return text("not in the matrix");
        const auto place = static_cast<std::uint32_t>(found[i]);
        if (place % size != lane % size)
            return text("in column " + std::to_string(place % size));
        const auto row_of_first = static_cast<std::uint32_t>(found[lane / size * size * 8 + element]) / size;
        if (place / size != row_of_first)
            return text("in row " + std::to_string(place / size) + ", not " + std::to_string(row_of_first));
        if (seen[place])
            return text("in another lane, too");
        seen[place] = true;
    }
    return {};
}

/// The layout of Feature::matrix_columns. A different layout is not a failure.
KnownAnswer columns_of_lanes(const MatrixShape& shape, const kernels::Kernel& kernel,
                             const Capabilities& can) {
    const std::uint32_t size = shape.m, lanes = size * size / 8;
    const bool sized = can.minimum_subgroup != can.maximum_subgroup;
    return {.name = "columns of lanes, " + name_of(shape),
            .kernel = &kernel,
            .constants = list_of(kernels::SelftestMatrixConstants{.subgroup_size = sized ? lanes : 0}),
            .disables = kernels::Feature::matrix_columns,
            .is_property = true,
            .groups = {1, 1, 1},
            .count = 1,
            .output = unwritten(std::size_t{lanes} * 8 * sizeof(float)),
            .mistake = [size](std::span<const std::byte> output) {
                return mistake_in_columns(values_of<float>(output), size);
            }};
}

/// The variant with this shape of matrix units and this size; null if kernels.json has none.
const kernels::ProductUnitsVariant* variant_of(const MatrixShape& shape, UnitFactor factor,
                                               std::uint32_t rows, std::uint32_t columns) {
    const auto variants =
        factor == UnitFactor::bfloat16
            ? std::span<const kernels::ProductUnitsVariant>(kernels::product_units_variants_bfloat16)
            : std::span<const kernels::ProductUnitsVariant>(kernels::product_units_variants);
    const auto found = std::ranges::find_if(variants, [&](const kernels::ProductUnitsVariant& one) {
        return one.unit == shape.feature && one.rows == rows && one.columns == columns;
    });
    return found == variants.end() ? nullptr : &*found;
}

} // namespace

void add_matrix_answers(std::vector<KnownAnswer>& list, const Capabilities& can) {
    const kernels::Kernel* const of_shapes[] = {
        &kernels::selftest_product_16x16x16.kernel, &kernels::selftest_product_8x16x16.kernel,
        &kernels::selftest_product_8x8x16.kernel, &kernels::selftest_product_8x8x8.kernel};
    for (std::size_t i = 0; i < std::size(of_shapes); ++i) {
        const MatrixShape& shape = matrix_shapes[i];
        if (i != 0 && !can.features.contains(shape.feature))
            continue;
        list.push_back(product_on_units(shape, *of_shapes[i]));
        const auto add_tile = [&](UnitFactor factor, std::uint32_t rows, std::uint32_t columns,
                                  kernels::Feature disables) {
            if (const auto* const tile = variant_of(shape, factor, rows, columns))
                list.push_back(tile_on_units(shape, factor, *tile, can, disables));
        };
        add_tile(UnitFactor::float16, 64, 64, shape.feature);
        if (can.features.contains(kernels::Feature::matrix_quads))
            for (const kernels::ProductUnitsWideVariant& tile : kernels::product_units_wide_variants)
                if (tile.unit == shape.feature)
                    list.push_back(
                        tile_on_units(shape, UnitFactor::float16, tile, can, kernels::Feature::matrix_quads));
        if (can.features.contains(kernels::Feature::bfloat16_units))
            add_tile(UnitFactor::bfloat16, 64, 64, kernels::Feature::bfloat16_units);
    }
    if (can.features.contains(kernels::Feature::matrix_quads))
        list.push_back(places_of_elements());
    if (can.features.contains(kernels::Feature::matrix_columns)) {
        const kernels::Feature shapes[] = {kernels::Feature::matrix_16x16x16, kernels::Feature::matrix_8x8x8};
        const kernels::Kernel* const of_columns[] = {&kernels::selftest_columns_16x16x16.kernel,
                                                     &kernels::selftest_columns_8x8x8.kernel};
        for (std::size_t i = 0; i < std::size(shapes); ++i)
            if (can.features.contains(shapes[i]))
                list.push_back(
                    columns_of_lanes(*std::ranges::find(matrix_shapes, shapes[i], &MatrixShape::feature),
                                     *of_columns[i], can));
    }
}

} // namespace rekindle::runtime
