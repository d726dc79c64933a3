#include "gpu/dtype.h"

#include <rekindle/kernels/families/product_units.h>
#include <rekindle/kernels/product_tiles.h>
#include <rekindle/mlp/matrix_product.h>
#include <rekindle/runtime/matrix_units.h>

#include <algorithm>
#include <array>
#include <bit>
#include <string>

namespace rekindle::mlp {

namespace {

/// The most workgroups that every device supports in one dimension of a dispatch (Vulkan's
/// maxComputeWorkGroupCount).
constexpr std::uint32_t most_groups = 65535;
/// The largest k of one launch, so that its loops are short enough for a CPU driver (kernels/README.md,
/// "Loops on lavapipe"): 16 values of k take at most five iterations. The same for all tiles, so that they
/// give the same bits.
constexpr std::uint32_t longest_sum = 1u << 17;

std::string text(const DeviceMatrix& matrix) {
    return std::to_string(matrix.rows) + " x " + std::to_string(matrix.columns) + " (stride " +
           std::to_string(matrix.stride) + ") in " + std::string(name(matrix.type));
}

void check_sizes(const DeviceMatrix& a, const DeviceMatrix& b, const DeviceMatrix& c) {
    const auto fits = [](const DeviceMatrix& m) { return m.stride >= m.columns; };
    if (a.type != b.type || a.columns != b.rows || a.rows != c.rows || b.columns != c.columns || !fits(a) ||
        !fits(b) || !fits(c))
        throw runtime::Error("matrix product: the sizes " + text(a) + ", " + text(b) + " and " + text(c) +
                             " do not match");
}

runtime::Access access(const DeviceMatrix& matrix, bool writes) {
    const std::uint64_t elements = matrix.rows == 0 || matrix.columns == 0
                                       ? 0
                                       : std::uint64_t{matrix.rows - 1} * matrix.stride + matrix.columns;
    return {matrix.first, elements * bytes_of(matrix.type), writes};
}

/// Rows [first, first + count).
DeviceMatrix rows_of(DeviceMatrix matrix, std::uint32_t first, std::uint32_t count) {
    matrix.first = matrix.first + std::uint64_t{first} * matrix.stride * bytes_of(matrix.type);
    matrix.rows = count;
    return matrix;
}
/// Columns [first, first + count).
DeviceMatrix columns_of(DeviceMatrix matrix, std::uint32_t first, std::uint32_t count) {
    matrix.first = matrix.first + std::uint64_t{first} * bytes_of(matrix.type);
    matrix.columns = count;
    return matrix;
}

/// Estimated on a slow device, so that no submit becomes too long.
double expected_seconds(const DeviceMatrix& a, const DeviceMatrix& b) {
    return 2.0 * a.rows * a.columns * b.columns / 2e11;
}

const kernels::ProductTile& tile_of(MatrixTile tile, const DeviceMatrix& c) {
    switch (tile) {
    case MatrixTile::tile_32:
        return kernels::product_tile_32;
    case MatrixTile::tile_64:
        return kernels::product_tile_64;
    case MatrixTile::tile_128:
        return kernels::product_tile_128;
    default:
        return kernels::product_tile_for(c.rows, c.columns, 1);
    }
}

/// P: ProductParameters or ProductUnitsParameters.
template <class P>
P parameters_of(const DeviceMatrix& a, const DeviceMatrix& b, const DeviceMatrix& c) {
    return {.a = a.first.address,
            .b = b.first.address,
            .c = c.first.address,
            .alpha = std::bit_cast<std::uint32_t>(1.0f),
            .m = c.rows,
            .n = c.columns,
            .k = a.columns,
            .k_part = a.columns,
            .a_row = a.stride,
            .a_step = 1,
            .b_step = b.stride,
            .b_column = 1,
            .c_row = c.stride,
            .c_column = 1};
}

/// C: ProductConstants or ProductUnitsConstants. A thread loads up to `numbers` elements at once.
template <class C>
void set_access(C& constants, const DeviceMatrix& a, const DeviceMatrix& b, const DeviceMatrix& c,
                std::uint32_t numbers) {
    const kernels::WideAccess wide{numbers, numbers * bytes_of(a.type)};
    const kernels::ResultLayout result{c.first.address, c.rows, c.columns, c.stride, 1, 0};
    constants.dtype = dtype_of(c.type);
    constants.a_sharing = kernels::sharing_of({a.first.address, a.rows, a.stride, a.columns, 1, 0}, wide);
    constants.b_sharing = kernels::sharing_of({b.first.address, b.columns, 1, b.rows, b.stride, 0}, wide);
    constants.stores_quads = result.in_quads(4 * bytes_of(c.type));
}

/// continues: C already has the sums over the preceding k.
void launch_panel(runtime::Stream& stream, const DeviceMatrix& a, const DeviceMatrix& b,
                  const DeviceMatrix& c, const kernels::ProductTile& tile, bool continues) {
    kernels::ProductParameters parameters = parameters_of<kernels::ProductParameters>(a, b, c);
    parameters.d = parameters.c;
    parameters.d_row = parameters.c_row;
    parameters.d_column = parameters.c_column;
    parameters.beta = parameters.alpha;
    kernels::ProductConstants constants{
        .dtype = 0,
        .edges = kernels::edges_of(c.rows, c.columns, a.columns, tile.rows, tile.columns, tile.depth),
        .shared_numbers = tile.shared_numbers(),
        .adds = continues};
    set_access(constants, a, b, c, 4);
    const std::array accesses{access(a, false), access(b, false), access(c, true)};
    stream.launch(
        *tile.kernel, {kernels::ceil_div(c.columns, tile.columns), kernels::ceil_div(c.rows, tile.rows)},
        std::as_bytes(std::span(&parameters, 1)), accesses, constants.list(), expected_seconds(a, b));
}

/// Splits long sums into several launches.
void launch_sums(runtime::Stream& stream, const DeviceMatrix& a, const DeviceMatrix& b, const DeviceMatrix& c,
                 const kernels::ProductTile& tile) {
    std::uint32_t first = 0;
    do {
        const std::uint32_t count = std::min(longest_sum, a.columns - first);
        launch_panel(stream, columns_of(a, first, count), rows_of(b, first, count), c, tile, first > 0);
        first += count;
    } while (first < a.columns);
}

} // namespace

std::string_view name(NumberType type) noexcept {
    switch (type) {
    case NumberType::float16:
        return "float16";
    case NumberType::bfloat16:
        return "bfloat16";
    default:
        return "float32";
    }
}

bool has_matrix_product(const runtime::Device& device) {
    return device.usable_features().contains(kernels::product_32x32.kernel.needs);
}

void matrix_product(runtime::Stream& stream, const DeviceMatrix& a, const DeviceMatrix& b,
                    const DeviceMatrix& c, MatrixTile tile) {
    check_sizes(a, b, c);
    if (c.type != a.type)
        throw runtime::Error("matrix product: a result in " + std::string(name(c.type)) + " of factors in " +
                             std::string(name(a.type)));
    if (a.type != NumberType::float32 && a.columns > longest_sum)
        throw runtime::Error("matrix product in " + std::string(name(a.type)) + ": sums of more than " +
                             std::to_string(longest_sum) + " products");
    const kernels::ProductTile& chosen = tile_of(tile, c);
    const std::uint32_t panel = most_groups * std::min(chosen.rows, chosen.columns);
    for (std::uint64_t row = 0; row < c.rows; row += panel) {
        const auto rows = static_cast<std::uint32_t>(std::min<std::uint64_t>(panel, c.rows - row));
        for (std::uint64_t column = 0; column < c.columns; column += panel) {
            const auto columns =
                static_cast<std::uint32_t>(std::min<std::uint64_t>(panel, c.columns - column));
            const auto r = static_cast<std::uint32_t>(row), k = static_cast<std::uint32_t>(column);
            launch_sums(stream, rows_of(a, r, rows), columns_of(b, k, columns),
                        columns_of(rows_of(c, r, rows), k, columns), chosen);
        }
    }
}

bool has_matrix_units(const runtime::Device& device, NumberType type) {
    const auto factor = unit_factor(type);
    return factor && runtime::unit_tile(device, *factor, {}).has_value();
}

void matrix_product_on_units(const runtime::Device& device, runtime::Stream& stream, const DeviceMatrix& a,
                             const DeviceMatrix& b, const DeviceMatrix& c) {
    check_sizes(a, b, c);
    if (!has_matrix_units(device, a.type))
        throw runtime::Unsupported(device.info().address() + " " + device.info().name +
                                   " has no matrix units for products of " + std::string(name(a.type)));
    auto tile = runtime::unit_tile(device, *unit_factor(a.type), {c.rows, c.columns});
    const std::uint32_t across = kernels::ceil_div(c.columns, tile->columns);
    if (across > most_groups)
        throw runtime::Error("matrix product on matrix units: more than " +
                             std::to_string(std::uint64_t{most_groups} * tile->columns) + " columns");
    if (across == 0)
        return;
    const std::uint32_t panel = most_groups * tile->rows;
    for (std::uint64_t row = 0; row < c.rows; row += panel) {
        const auto rows = static_cast<std::uint32_t>(std::min<std::uint64_t>(panel, c.rows - row));
        const DeviceMatrix a_rows = rows_of(a, static_cast<std::uint32_t>(row), rows);
        const DeviceMatrix c_rows = rows_of(c, static_cast<std::uint32_t>(row), rows);
        kernels::ProductUnitsConstants constants = tile->constants;
        set_access(constants, a_rows, b, c_rows, 8);
        constants.edges =
            kernels::edges_of(rows, c.columns, a.columns, tile->rows, tile->columns, tile->depth);
        const std::array accesses{access(a_rows, false), access(b, false), access(c_rows, true)};
        const auto parameters = parameters_of<kernels::ProductUnitsParameters>(a_rows, b, c_rows);
        stream.launch(*tile->kernel, {across, kernels::ceil_div(rows, tile->rows), 1},
                      std::as_bytes(std::span(&parameters, 1)), accesses, constants.list(),
                      expected_seconds(a_rows, b));
    }
}

} // namespace rekindle::mlp
