/// Products and convolutions on matrix units, launched directly so that these kernels ran if a test passes.
/// Factors are small integers, so that every sum is exact; memory outside the operands is NaN, so that
/// reading it shows.

#include "../runtime/fixture.h"
#include "sixteen_bits.h"

#include <rekindle/kernels/ceil_div.h>
#include <rekindle/kernels/families/convolution_units.h>
#include <rekindle/kernels/families/product_units.h>
#include <rekindle/products/loading.h>
#include <rekindle/products/tiles.h>
#include <rekindle/runtime/stream.h>

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <tuple>
#include <vector>

namespace rekindle::products {
namespace {

using kernels::ceil_div;
using namespace runtime;
namespace value = kernels::value;
using test::bits_of;
using test::nan_of;

/// Integers, and the same in 16 bits in a larger memory.
struct Operand {
    std::vector<int> numbers;
    std::vector<std::uint16_t> memory;

    /// place(i): where number i lies.
    template <class Place>
    Operand(ElementType type, std::size_t count, std::size_t room, unsigned seed, const Place& place)
        : numbers(count), memory(room, nan_of(type)) {
        std::mt19937 engine(seed);
        for (std::size_t i = 0; i < count; ++i) {
            numbers[i] = static_cast<int>(engine() % 5) - 2;
            memory[place(i)] = bits_of(type, static_cast<float>(numbers[i]));
        }
    }
};

class UnitKernels : public runtime::test::DeviceTest {
  protected:
    std::shared_ptr<Device> device = open();
    std::unique_ptr<Stream> stream = device->make_stream();
    DeviceParameters parameters = default_parameters(device->info(), device->usable_features());

    template <class T>
    Buffer buffer(std::span<const T> values) {
        Buffer memory = device->allocator().allocate(values.size_bytes(), MemoryKind::device, stream.get());
        stream->upload(memory.pointer(), std::as_bytes(values));
        return memory;
    }

    /// CPU drivers take minutes to compile one of these kernels: there only the smallest tile runs, with
    /// edges.
    bool everything() const { return device->info().type != DeviceType::cpu; }
    bool runs(std::uint32_t rows, std::uint32_t columns) const {
        return everything() || (rows == 64 && columns == 64);
    }

    /// The types for which the device has units; says so where it has none.
    std::vector<ElementType> types() {
        std::vector<ElementType> found;
        for (const ElementType type : {ElementType::float16, ElementType::bfloat16}) {
            if (has_matrix_units(parameters, type))
                found.push_back(type);
            else
                std::printf("not run: %s has no matrix units for %s\n", device->info().name.c_str(),
                            type == ElementType::float16 ? "float16" : "bfloat16");
        }
        return found;
    }
};

/// The result in memory. It has the factors' type if the kernel can store eight adjacent elements at once,
/// otherwise float32.
struct Result {
    ElementType type;
    bool eights, quads; ///< whether the kernel can store eight or four adjacent elements at once
    std::vector<float> memory;

    /// row: how many elements a row has. in_parts: the result consists of the float32 sums of each part.
    Result(ElementType factors, std::size_t numbers, std::size_t row, bool in_parts)
        : type(factors), eights(!in_parts && row % 8 == 0), quads(row % 4 == 0), memory(numbers, -1.0f) {}

    std::uint32_t dtype() const { return eights ? dtype_of(type) : value::dtype_float32; }
    float number(std::size_t i) const {
        if (!eights)
            return memory[i];
        std::uint16_t bits = 0;
        std::memcpy(&bits, reinterpret_cast<const std::byte*>(memory.data()) + 2 * i, sizeof bits);
        return test::number_of(type, bits);
    }
    /// The number that the kernel stores for an exact sum: rounded to nearest in bfloat16. The sum must be
    /// small enough for float16 to represent it.
    float stored(int integer) const {
        const auto number = static_cast<float>(integer);
        const auto bits = std::bit_cast<std::uint32_t>(number);
        return eights && type == ElementType::bfloat16
                   ? std::bit_cast<float>((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000u)
                   : number;
    }
};

/// A factor of a product: `outer` rows of A or columns of B, each of `k` numbers.
struct Layout {
    bool along_k;
    std::uint32_t padding;    ///< numbers from the end of one row in memory to the beginning of the next
    std::uint32_t spread = 1; ///< distance between adjacent numbers of a row

    std::uint32_t outer_stride(std::uint32_t k) const { return spread * (along_k ? k + padding : 1); }
    std::uint32_t k_stride(std::uint32_t outer) const { return spread * (along_k ? 1 : outer + padding); }
};

struct Product {
    std::uint32_t m, n, k;
    Layout a, b;
    std::uint32_t parts = 1;

    std::string text() const {
        return std::to_string(m) + " x " + std::to_string(n) + " x " + std::to_string(k) +
               (a.along_k ? ", A along k" : ", A along rows") +
               (b.along_k ? ", B along k" : ", B along columns") + ", padding " + std::to_string(a.padding) +
               ", spread " + std::to_string(a.spread) + ", parts " + std::to_string(parts);
    }
};

/// Parameters: whether A is contiguous along k, and whether B is.
class UnitProducts : public UnitKernels, public testing::WithParamInterface<std::tuple<bool, bool>> {
  protected:
    static Operand operand(ElementType type, std::uint32_t outer, std::uint32_t k, const Layout& layout,
                           unsigned seed) {
        const std::size_t room = layout.along_k ? std::size_t{outer} * (k + layout.padding)
                                                : std::size_t{k} * (outer + layout.padding);
        return Operand(type, std::size_t{outer} * k, room * layout.spread, seed, [&](std::size_t i) {
            return i / k * layout.outer_stride(k) + i % k * layout.k_stride(outer);
        });
    }

    void check(ElementType type, const Tile& tile, const Product& p) {
        SCOPED_TRACE(std::string(tile.kernel->name) + ", " + p.text());
        const Operand a = operand(type, p.m, p.k, p.a, 1), b = operand(type, p.n, p.k, p.b, 2);
        const std::size_t size = std::size_t{p.m} * p.n;
        Result c(type, size * p.parts, p.n, p.parts > 1);
        const Buffer a_memory = buffer(std::span(a.memory)), b_memory = buffer(std::span(b.memory)),
                     c_memory = buffer(std::span<const float>(c.memory));
        kernels::ProductUnitsParameters sizes{};
        sizes.a = a_memory.pointer().address;
        sizes.b = b_memory.pointer().address;
        sizes.c = c_memory.pointer().address;
        sizes.alpha = std::bit_cast<std::uint32_t>(1.0f);
        sizes.m = p.m;
        sizes.n = p.n;
        sizes.k = p.k;
        sizes.k_part = ceil_div(ceil_div(p.k, p.parts), tile.depth) * tile.depth;
        sizes.a_row = p.a.outer_stride(p.k);
        sizes.a_step = p.a.k_stride(p.m);
        sizes.b_column = p.b.outer_stride(p.k);
        sizes.b_step = p.b.k_stride(p.n);
        sizes.c_row = p.n;
        sizes.c_column = 1;
        kernels::ProductUnitsConstants constants{};
        constants.shared_numbers = 1;
        constants.shared_eights = tile.shared_eights;
        constants.subgroup_size = tile.subgroup_size;
        constants.idle_subgroups = tile.idle_subgroups;
        constants.dtype = c.dtype();
        constants.stores_eights = c.eights;
        constants.stores_quads = c.quads;
        constants.a_sharing = sharing_of({sizes.a, p.m, sizes.a_row, p.k, sizes.a_step, 0}, unit_access);
        constants.b_sharing = sharing_of({sizes.b, p.n, sizes.b_column, p.k, sizes.b_step, 0}, unit_access);
        constants.one_slice = sizes.k_part <= tile.depth && (p.parts - 1) * sizes.k_part < p.k;
        constants.in_parts = p.parts > 1;
        constants.edges = edges_of(p.m, p.n, p.k, tile.rows, tile.columns, tile.depth);
        const std::array accesses{reads(a_memory), reads(b_memory), writes(c_memory)};
        stream->launch(*tile.kernel, {ceil_div(p.n, tile.columns), ceil_div(p.m, tile.rows), p.parts},
                       std::as_bytes(std::span(&sizes, 1)), accesses, constants.list());
        stream->download(std::as_writable_bytes(std::span(c.memory)), c_memory.pointer());
        for (std::size_t i = 0; i < size; ++i) {
            int expected = 0;
            for (std::uint32_t k = 0; k < p.k; ++k)
                expected += a.numbers[i / p.n * p.k + k] * b.numbers[i % p.n * p.k + k];
            float sum = 0;
            for (std::uint32_t part = 0; part < p.parts; ++part)
                sum += c.number(part * size + i);
            ASSERT_EQ(sum, c.stored(expected)) << "row " << i / p.n << ", column " << i % p.n;
        }
    }
};

INSTANTIATE_TEST_SUITE_P(Layouts, UnitProducts, testing::Combine(testing::Bool(), testing::Bool()));

TEST_P(UnitProducts, AreExactInEveryTile) {
    const auto [a_along_k, b_along_k] = GetParam();
    const std::vector<ElementType> found = types();
    if (found.empty())
        GTEST_SKIP() << "the device has no matrix units";
    for (const ElementType type : found)
        for (const Tile& tile : unit_product_tiles(parameters, type)) {
            if (!runs(tile.rows, tile.columns))
                continue;
            const auto with = [&, a_along = a_along_k, b_along = b_along_k](
                                  std::uint32_t m, std::uint32_t n, std::uint32_t k, std::uint32_t padding,
                                  std::uint32_t parts = 1, std::uint32_t spread = 1) {
                check(type, tile, {m, n, k, {a_along, padding, spread}, {b_along, padding, spread}, parts});
            };
            const std::uint32_t rows = tile.rows, columns = tile.columns, depth = tile.depth;
            with(rows + 8, columns + 24, 2 * depth + 24, 16); // edges, and a rest of k
            with(8, 16, depth - 8, 0);                        // few rows, and less than a slice
            with(rows + 3, columns + 1, 2 * depth + 3, 0);    // unaligned, with odd row lengths
            if (!everything())
                continue;
            with(rows, columns, depth, 0);                // one whole slice
            with(3, columns + 8, 2 * depth, 0);           // few rows
            with(rows + 8, 5, depth + 8, 0, 2);           // few columns
            with(2, columns + 1, 3 * depth, 0);           // few rows, unaligned
            with(rows + 8, columns, 2 * depth, 0, 2);     // in parts of one slice
            with(rows + 5, columns - 1, depth - 3, 3);    // unaligned, one incomplete slice
            with(rows, columns, 3 * depth, 8);            // whole slices
            with(rows - 8, columns, 3 * depth + 8, 0, 2); // in parts, one with a rest
            with(37, 45, depth + 7, 3);                   // unaligned; incomplete slices end within a group
            with(rows, columns, 2 * depth, 2);            // unaligned, with even row lengths and no edges
            with(rows - 1, columns - 7, 3 * depth, 5, 2); // unaligned, in parts
            with(9, 17, 5, 1);                            // fewer than eight k
            with(37, 45, depth + 7, 3, 1, 2);             // numbers are not adjacent
        }
}

/// A convolution as convolution_units.slang defines it.
struct Convolution {
    std::uint32_t form;
    int batch, image_height, image_width, channels,
        rows; ///< rows: of the matrix, or channels of the gradient
    int grid_height, grid_width, kernel_height, kernel_width;
    int first_y, first_x, stride, tap_y, tap_x;
    int parts = 1;

    int pixels() const { return batch * grid_height * grid_width; }
    int gathered() const { return channels * kernel_height * kernel_width; }
    bool of_weight() const { return form == value::convolution_form_of_weight; }
    int m() const { return form == value::convolution_form_by_pixels ? pixels() : rows; }
    int n() const {
        return of_weight() ? gathered() : form == value::convolution_form_by_pixels ? rows : pixels();
    }
    int k() const { return of_weight() ? pixels() : gathered(); }

    /// The image under tap `tap` (a position in the kernel and a channel) of a pixel's window.
    int image_at(const std::vector<int>& image, int pixel, int tap) const {
        const int in_grid = pixel % (grid_height * grid_width), kernel = tap / channels;
        const int y = in_grid / grid_width * stride + first_y + kernel / kernel_width * tap_y;
        const int x = in_grid % grid_width * stride + first_x + kernel % kernel_width * tap_x;
        if (y < 0 || y >= image_height || x < 0 || x >= image_width)
            return 0;
        const int line = pixel / (grid_height * grid_width) * image_height + y;
        return image[static_cast<std::size_t>((line * image_width + x) * channels + tap % channels)];
    }
};

/// The parameters by which the kernel divides (quotient.slang).
struct Divisor {
    std::uint32_t multiplier, shift;
    explicit Divisor(int divisor)
        : shift(static_cast<std::uint32_t>(std::bit_width(static_cast<unsigned>(divisor - 1)))) {
        multiplier =
            static_cast<std::uint32_t>(ceil_div(std::int64_t{1} << (31 + shift), std::int64_t{divisor}));
    }
};

class UnitConvolutions : public UnitKernels {
  protected:
    static kernels::ConvolutionUnitsParameters sizes_of(const Convolution& c) {
        const auto narrow = [](int value) { return static_cast<std::uint32_t>(value); };
        const Divisor eights(c.channels / 8), kernel(c.kernel_width), height(c.grid_height),
            width(c.grid_width);
        kernels::ConvolutionUnitsParameters p{};
        p.m = narrow(c.m());
        p.n = narrow(c.n());
        p.k = narrow(c.k());
        p.image_eights = narrow(c.channels / 8);
        p.matrix_eights = narrow((c.of_weight() ? c.rows : c.k()) / 8);
        p.image_height = narrow(c.image_height);
        p.image_width = narrow(c.image_width);
        p.grid_height = narrow(c.grid_height);
        p.grid_width = narrow(c.grid_width);
        p.kernel_width = narrow(c.kernel_width);
        p.first_y = c.first_y;
        p.first_x = c.first_x;
        p.stride_y = p.stride_x = narrow(c.stride);
        p.tap_y = c.tap_y;
        p.tap_x = c.tap_x;
        p.eights_multiplier = eights.multiplier;
        p.kernel_multiplier = kernel.multiplier;
        p.height_multiplier = height.multiplier;
        p.width_multiplier = width.multiplier;
        p.shifts = eights.shift | kernel.shift << 8 | height.shift << 16 | width.shift << 24;
        return p;
    }

    /// The sum at (row, column) of C.
    static int expected(const Convolution& c, const Operand& image, const Operand& matrix, int row,
                        int column) {
        int sum = 0;
        for (int k = 0; k < c.k(); ++k) {
            if (c.of_weight())
                sum += matrix.numbers[static_cast<std::size_t>(k * c.rows + row)] *
                       c.image_at(image.numbers, k, column);
            else if (c.form == value::convolution_form_by_pixels)
                sum += c.image_at(image.numbers, row, k) *
                       matrix.numbers[static_cast<std::size_t>(column * c.k() + k)];
            else
                sum += matrix.numbers[static_cast<std::size_t>(row * c.k() + k)] *
                       c.image_at(image.numbers, column, k);
        }
        return sum;
    }

    /// The index of (row, column) of C in memory.
    static std::size_t place(const Convolution& c, int row, int column) {
        const int in_grid = c.grid_height * c.grid_width;
        if (c.form == value::convolution_form_by_channels && c.parts == 1)
            return static_cast<std::size_t>((column / in_grid * c.rows + row) * in_grid + column % in_grid);
        return static_cast<std::size_t>(row * c.n() + column);
    }

    void check(ElementType type, const Tile& tile, const Convolution& c) {
        SCOPED_TRACE(std::string(tile.kernel->name) + ", form " + std::to_string(c.form) + ", " +
                     std::to_string(c.m()) + " x " + std::to_string(c.n()) + " x " + std::to_string(c.k()) +
                     ", parts " + std::to_string(c.parts));
        const auto same = [](std::size_t i) { return i; };
        const auto sized = [&](int numbers, unsigned seed) {
            return Operand(type, static_cast<std::size_t>(numbers), static_cast<std::size_t>(numbers), seed,
                           same);
        };
        const Operand image = sized(c.batch * c.image_height * c.image_width * c.channels, 3),
                      matrix = sized(c.rows * (c.of_weight() ? c.pixels() : c.k()), 4);
        const std::size_t size = static_cast<std::size_t>(c.m()) * static_cast<std::size_t>(c.n());
        const std::size_t row = c.form == value::convolution_form_by_channels && c.parts == 1
                                    ? static_cast<std::size_t>(c.grid_height * c.grid_width)
                                    : static_cast<std::size_t>(c.n());
        Result result(type, size * static_cast<std::size_t>(c.parts), row, c.parts > 1);
        const Buffer image_memory = buffer(std::span(image.memory)),
                     matrix_memory = buffer(std::span(matrix.memory)),
                     result_memory = buffer(std::span<const float>(result.memory));
        kernels::ConvolutionUnitsParameters p = sizes_of(c);
        p.image = image_memory.pointer().address;
        p.matrix = matrix_memory.pointer().address;
        p.result = result_memory.pointer().address;
        p.k_part = ceil_div(ceil_div(p.k, static_cast<std::uint32_t>(c.parts)), tile.depth) * tile.depth;
        const kernels::ConvolutionUnitsConstants constants{
            .dtype = result.dtype(),
            .edges = p.m % tile.rows != 0 || p.n % tile.columns != 0,
            .shared_numbers = 1,
            .subgroup_size = tile.subgroup_size,
            .idle_subgroups = tile.idle_subgroups,
            .one_slice = p.k_part <= tile.depth && c.parts == 1,
            .stores_eights = result.eights,
            .shared_eights = tile.shared_eights,
            .form = c.form,
            .whole_slices = p.k % tile.depth == 0,
            .in_parts = c.parts > 1,
            .has_bias = 0,
            .stores_quads = result.quads};
        const std::array accesses{reads(image_memory), reads(matrix_memory), writes(result_memory)};
        stream->launch(
            *tile.kernel,
            {ceil_div(p.n, tile.columns), ceil_div(p.m, tile.rows), static_cast<std::uint32_t>(c.parts)},
            std::as_bytes(std::span(&p, 1)), accesses, constants.list());
        stream->download(std::as_writable_bytes(std::span(result.memory)), result_memory.pointer());
        for (int i = 0; i < c.m(); ++i)
            for (int j = 0; j < c.n(); ++j) {
                float sum = 0;
                for (std::size_t part = 0; part < static_cast<std::size_t>(c.parts); ++part)
                    sum += result.number(part * size + place(c, i, j));
                ASSERT_EQ(sum, result.stored(expected(c, image, matrix, i, j)))
                    << "row " << i << ", column " << j;
            }
    }
};

constexpr std::uint32_t forms[] = {value::convolution_form_by_pixels, value::convolution_form_by_channels,
                                   value::convolution_form_of_weight};

TEST_F(UnitConvolutions, AreExactInEveryTileAndForm) {
    const std::vector<ElementType> found = types();
    if (found.empty())
        GTEST_SKIP() << "the device has no matrix units";
    for (const ElementType type : found) {
        for (const Tile& tile : unit_convolution_tiles(parameters, type)) {
            if (!runs(tile.rows, tile.columns))
                continue;
            for (const std::uint32_t form : forms) {
                // 3 x 3, padding 1: k ends within a slice, and slices of pixels cross rows and images.
                check(type, tile, {form, 3, 7, 5, 24, 40, 7, 5, 3, 3, -1, -1, 1, 1, 1});
                // 1 x 1: k is a single slice, except in the gradient of the weight. A CPU driver takes half a
                // minute to compile a pipeline.
                if (everything() || form == value::convolution_form_by_pixels)
                    check(type, tile, {form, 1, 10, 10, 64, 24, 10, 10, 1, 1, 0, 0, 1, 1, 1, 1});
                if (!everything())
                    continue;
                // The input gradient reads taps in the other direction.
                check(type, tile, {form, 1, 9, 6, 8, 16, 9, 6, 3, 3, 1, 1, 1, -1, -1, 2});
                // Strides and dilation, rows that are longer than a slice, whole slices of k.
                check(type, tile, {form, 2, 3, 143, 64, 8, 1, 70, 2, 1, 0, -1, 2, 2, 1});
                check(type, tile, {form, 1, 16, 16, 16, 64, 16, 16, 1, 1, 0, 0, 1, 1, 1, 2});
            }
        }
    }
}

} // namespace
} // namespace rekindle::products
