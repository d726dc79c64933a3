
#include <rekindle/kernels/ceil_div.h>
#include <rekindle/kernels/families/matmul.h>
#include <rekindle/kernels/families/product_units.h>
#include <rekindle/kernels/values.h>
#include <rekindle/mlp/matrix_product.h>
#include <rekindle/runtime/matrix_units.h>

#include <algorithm>
#include <array>
#include <bit>
#include <string>

namespace rekindle::mlp {

namespace {

/// Workgroups that every device supports in one dimension of a dispatch (Vulkan's maxComputeWorkGroupCount).
constexpr std::uint32_t most_groups = 65535;
/// For one launch, so that its loops are short enough for a CPU driver (kernels/README.md, "Loops on
/// lavapipe"): a slice is eight or more.
constexpr std::uint32_t longest_sum = 1u << 18;

std::string text(const DeviceMatrix& matrix) {
    return std::to_string(matrix.rows) + " x " + std::to_string(matrix.columns) + " (stride " +
           std::to_string(matrix.stride) + ")";
}

void check_sizes(const DeviceMatrix& a, const DeviceMatrix& b, const DeviceMatrix& c) {
    const auto fits = [](const DeviceMatrix& m) { return m.stride >= m.columns; };
    if (a.columns != b.rows || a.rows != c.rows || b.columns != c.columns || !fits(a) || !fits(b) || !fits(c))
        throw runtime::Error("matrix product: the sizes " + text(a) + ", " + text(b) + " and " + text(c) +
                             " do not match");
}

runtime::Access access(const DeviceMatrix& matrix, std::uint64_t element_bytes, bool writes) {
    const std::uint64_t elements = matrix.rows == 0 || matrix.columns == 0
                                       ? 0
                                       : std::uint64_t{matrix.rows - 1} * matrix.stride + matrix.columns;
    return {matrix.first, elements * element_bytes, writes};
}

/// Rows [first, first + count).
DeviceMatrix rows_of(const DeviceMatrix& matrix, std::uint32_t first, std::uint32_t count,
                     std::uint64_t element_bytes) {
    return {matrix.first + std::uint64_t{first} * matrix.stride * element_bytes, count, matrix.columns,
            matrix.stride};
}
/// Columns [first, first + count).
DeviceMatrix columns_of(const DeviceMatrix& matrix, std::uint32_t first, std::uint32_t count,
                        std::uint64_t element_bytes) {
    return {matrix.first + first * element_bytes, matrix.rows, count, matrix.stride};
}

/// An estimate for a slow device, so that no submit becomes too long.
double expected_seconds(const DeviceMatrix& a, const DeviceMatrix& b) {
    return 2.0 * a.rows * a.columns * b.columns / 2e11;
}

MatrixTile chosen_tile(const DeviceMatrix& c) {
    const std::uint64_t elements = std::uint64_t{c.rows} * c.columns;
    if (elements >= std::uint64_t{1024} * 1024)
        return MatrixTile::tile_128;
    return elements >= std::uint64_t{256} * 256 ? MatrixTile::tile_64 : MatrixTile::tile_32;
}

struct Tiling {
    const kernels::TypedKernel<kernels::MatmulParameters>& kernel;
    std::uint32_t size, shared_floats;
};

Tiling tiling(MatrixTile tile) {
    switch (tile) {
    case MatrixTile::tile_32:
        return {kernels::matmul_32, 32, 2 * 16 * (2 * 32 + 4)};
    case MatrixTile::tile_64:
        return {kernels::matmul_64, 64, 2 * 16 * (2 * 64 + 4)};
    default:
        return {kernels::matmul_128, 128, 2 * 8 * (2 * 128 + 4)};
    }
}

void launch_panel(runtime::Stream& stream, const DeviceMatrix& a, const DeviceMatrix& b,
                  const DeviceMatrix& c, const Tiling& tiling, bool continues) {
    const auto aligned = [](const DeviceMatrix& m) { return m.first.address % 16 == 0 && m.stride % 4 == 0; };
    const bool vectors = aligned(a) && aligned(b) && aligned(c) && a.columns % 4 == 0 && c.columns % 4 == 0;
    const kernels::MatmulParameters parameters{.a = a.first.address,
                                               .b = b.first.address,
                                               .c = c.first.address,
                                               .m = c.rows,
                                               .n = c.columns,
                                               .k = a.columns,
                                               .a_stride = a.stride,
                                               .b_stride = b.stride,
                                               .c_stride = c.stride};
    const kernels::MatmulConstants constants{
        .vectors = vectors, .continues = continues, .shared_floats = tiling.shared_floats};
    const std::array accesses{access(a, 4, false), access(b, 4, false), access(c, 4, true)};
    stream.launch(tiling.kernel,
                  {kernels::ceil_div(c.columns, tiling.size), kernels::ceil_div(c.rows, tiling.size)},
                  parameters, accesses, constants, expected_seconds(a, b));
}

/// Uses as many launches as the length of the sums requires.
void launch_sums(runtime::Stream& stream, const DeviceMatrix& a, const DeviceMatrix& b, const DeviceMatrix& c,
                 const Tiling& tiling) {
    std::uint32_t first = 0;
    do {
        const std::uint32_t count = std::min(longest_sum, a.columns - first);
        launch_panel(stream, columns_of(a, first, count, 4), rows_of(b, first, count, 4), c, tiling,
                     first > 0);
        first += count;
    } while (first < a.columns);
}

/// How the units' kernels load a row-major matrix whose columns are the direction of k, or not.
std::uint32_t sharing_of(const DeviceMatrix& matrix, bool along_k) {
    const bool eights = matrix.first.address % 16 == 0 && matrix.stride % 8 == 0 && matrix.columns % 8 == 0;
    if (along_k)
        return eights ? kernels::value::sharing_quads_along_k : kernels::value::sharing_lanes_along_k;
    return eights ? kernels::value::sharing_quads_along_outer : kernels::value::sharing_lanes_along_outer;
}

kernels::ProductUnitsParameters parameters_of(const DeviceMatrix& a, const DeviceMatrix& b,
                                              const DeviceMatrix& c) {
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

} // namespace

void matrix_product(runtime::Stream& stream, const DeviceMatrix& a, const DeviceMatrix& b,
                    const DeviceMatrix& c, MatrixTile tile) {
    check_sizes(a, b, c);
    const Tiling chosen = tiling(tile == MatrixTile::automatic ? chosen_tile(c) : tile);
    const std::uint32_t panel = most_groups * chosen.size;
    for (std::uint64_t row = 0; row < c.rows; row += panel) {
        const auto rows = static_cast<std::uint32_t>(std::min<std::uint64_t>(panel, c.rows - row));
        for (std::uint64_t column = 0; column < c.columns; column += panel) {
            const auto columns =
                static_cast<std::uint32_t>(std::min<std::uint64_t>(panel, c.columns - column));
            const auto r = static_cast<std::uint32_t>(row), k = static_cast<std::uint32_t>(column);
            launch_sums(stream, rows_of(a, r, rows, 4), columns_of(b, k, columns, 4),
                        columns_of(rows_of(c, r, rows, 4), k, columns, 4), chosen);
        }
    }
}

bool has_matrix_product_half(const runtime::Device& device) {
    return runtime::unit_tile(device, runtime::UnitFactor::float16, {}).has_value();
}

void matrix_product_half(const runtime::Device& device, runtime::Stream& stream, const DeviceMatrix& a,
                         const DeviceMatrix& b, const DeviceMatrix& c) {
    check_sizes(a, b, c);
    auto tile = runtime::unit_tile(device, runtime::UnitFactor::float16, {c.rows, c.columns});
    if (!tile)
        throw runtime::Unsupported(device.info().address() + " " + device.info().name +
                                   " has no matrix units for products of float16");
    const std::uint32_t across = kernels::ceil_div(c.columns, tile->columns);
    if (across > most_groups)
        throw runtime::Error("matrix product in float16: more than " +
                             std::to_string(std::uint64_t{most_groups} * tile->columns) + " columns");
    if (across == 0)
        return;
    kernels::ProductUnitsConstants& constants = tile->constants;
    constants.dtype = kernels::value::dtype_float32; // of C
    constants.a_sharing = sharing_of(a, true);
    constants.b_sharing = sharing_of(b, false);
    constants.stores_quads = c.first.address % 16 == 0 && c.stride % 4 == 0 && c.columns % 4 == 0;
    const std::uint32_t panel = most_groups * tile->rows;
    for (std::uint64_t row = 0; row < c.rows; row += panel) {
        const auto rows = static_cast<std::uint32_t>(std::min<std::uint64_t>(panel, c.rows - row));
        const DeviceMatrix a_rows = rows_of(a, static_cast<std::uint32_t>(row), rows, 2);
        const DeviceMatrix c_rows = rows_of(c, static_cast<std::uint32_t>(row), rows, 4);
        const std::array accesses{access(a_rows, 2, false), access(b, 2, false), access(c_rows, 4, true)};
        const kernels::ProductUnitsParameters parameters = parameters_of(a_rows, b, c_rows);
        stream.launch(*tile->kernel, {across, kernels::ceil_div(rows, tile->rows), 1},
                      std::as_bytes(std::span(&parameters, 1)), accesses, constants.list(),
                      expected_seconds(a_rows, b));
    }
}

} // namespace rekindle::mlp
