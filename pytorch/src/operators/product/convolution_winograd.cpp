#include "convolution_winograd.h"

#include "matrices.h"
#include "planner.h"

#include <rekindle/kernels/families/winograd.h>

#include <ATen/ops/empty.h>
#include <algorithm>
#include <limits>

namespace rvk {

namespace {

using at::Tensor;
using kernels::ceil_div;
using Operation = ConvolutionOperation;

constexpr std::int64_t tile_size = 4, points = 36;
constexpr std::int64_t most_numbers_of_tiles = std::int64_t{1} << 25;
constexpr std::int64_t most_numbers_of_weight = std::int64_t{1} << 26;
constexpr std::int64_t least_channels = 64, least_tiles = 64;

/// The size of the image that is divided into tiles: the result, or the output's gradient for the weight
/// gradient.
const Size3& grid_of(const Geometry& g, Operation operation) {
    return operation == Operation::input_gradient ? g.input : g.output;
}

struct Tiling {
    std::int64_t rows, columns, images;
    Tiling(const Geometry& g, Operation operation)
        : rows(ceil_div(grid_of(g, operation)[1], tile_size)),
          columns(ceil_div(grid_of(g, operation)[2], tile_size)), images(g.batch) {}
    std::int64_t in_image() const { return rows * columns; }
    std::int64_t count() const { return images * in_image(); }
};

/// Tiles that are processed together; tiles are numbered across all images.
struct Chunk {
    const Tiling& tiling;
    std::int64_t first, count;
};

/// Splits the tiles into chunks of about the same size, a multiple of 64 so that rows of matrices are
/// aligned.
template <class F>
void for_each_chunk(const Geometry& g, Operation operation, F&& process) {
    const Tiling tiling(g, operation);
    const std::int64_t most =
        std::max(most_numbers_of_tiles / (points * (g.in_channels + g.out_channels)), least_tiles);
    const std::int64_t chunks = ceil_div(tiling.count(), most);
    const std::int64_t size = ceil_div(ceil_div(tiling.count(), chunks), least_tiles) * least_tiles;
    for (std::int64_t first = 0; first < tiling.count(); first += size)
        process(Chunk{tiling, first, std::min(size, tiling.count() - first)});
}

/// Whether the transforms cost less than the multiplications that they save.
bool is_faster(const Geometry& g, Operation operation, c10::Device device) {
    const auto tiles = static_cast<double>(Tiling(g, operation).count());
    const auto in = static_cast<double>(g.in_channels), out = static_cast<double>(g.out_channels);
    const auto pixels = static_cast<double>(g.batch * volume(grid_of(g, operation)));
    const double numbers = points * (tiles * (in + out) + in * out), bytes_per_number = 8; // written and read
    return products::winograd_is_faster(planner(device.index()).device(), points * tiles * in * out,
                                        numbers * bytes_per_number,
                                        pixels * static_cast<double>(volume(g.kernel)) * in * out);
}

/// An image, a result or its gradient: [images, channels, pixels...].
struct Pixels {
    Tensor tensor;
    std::int64_t channels, height, width;
    std::int64_t row_stride, column_stride;
    bool channels_inner;

    Pixels(const Tensor& given, const Size3& size) : tensor(given), height(size[1]), width(size[2]) {
        set_strides();
        constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
        if ((height - 1) * row_stride + (width - 1) * column_stride > most) {
            tensor = given.contiguous();
            set_strides();
        }
    }
    void set_strides() {
        const bool flat = tensor.dim() == 3;
        channels = tensor.size(1);
        column_stride = tensor.stride(-1);
        row_stride = height == 1 ? 0 : flat ? width * column_stride : tensor.stride(-2);
        if (width == 1 && !flat)
            column_stride = 0;
        channels_inner = tensor.stride(1) == 1;
    }

    /// Uninitialized memory for the transformed numbers of a chunk.
    Tensor transformed(const Chunk& chunk) const {
        return channels_inner ? at::empty({points, chunk.count, channels}, tensor.options())
                              : at::empty({points, channels, chunk.count}, tensor.options());
    }
    /// 36 matrices [channels, tiles].
    Matrices matrices(const Tensor& numbers) const {
        return channels_inner ? Matrices::of(numbers).transposed() : Matrices::of(numbers);
    }
};

void set_quotients(kernels::WinogradParameters& p, std::int64_t inner, std::int64_t image_tiles,
                   std::int64_t tile_columns) {
    const Quotient by_inner(inner), by_image(image_tiles), by_row(tile_columns);
    p.inner_multiplier = by_inner.multiplier;
    p.image_multiplier = by_image.multiplier;
    p.row_multiplier = by_row.multiplier;
    p.shifts = by_inner.shift | (by_image.shift << 8) | (by_row.shift << 16);
}

struct Padding {
    std::int64_t height = 0, width = 0;
};

kernels::WinogradParameters parameters_of(const Pixels& pixels, const Chunk& chunk, const Tensor& transformed,
                                          Padding padding) {
    kernels::WinogradParameters p{};
    p.tensor = address(pixels.tensor);
    p.transformed = address(transformed);
    p.outer_stride = static_cast<std::uint64_t>(pixels.tensor.stride(0));
    p.channel_stride = static_cast<std::uint64_t>(pixels.tensor.stride(1));
    p.row_stride = narrow(pixels.row_stride);
    p.column_stride = narrow(pixels.column_stride);
    p.count = narrow(pixels.channels * chunk.count);
    p.inner = narrow(pixels.channels_inner ? pixels.channels : chunk.count);
    p.first_tile = narrow(chunk.first);
    p.height = narrow(pixels.height);
    p.width = narrow(pixels.width);
    p.padding_height = static_cast<std::int32_t>(padding.height);
    p.padding_width = static_cast<std::int32_t>(padding.width);
    p.image_tiles = narrow(chunk.tiling.in_image());
    p.tile_columns = narrow(chunk.tiling.columns);
    set_quotients(p, p.inner, p.image_tiles, p.tile_columns);
    return p;
}

/// Transforms a chunk's windows or tiles.
Tensor transform(const kernels::TypedKernel<kernels::WinogradParameters>& kernel, const Pixels& pixels,
                 const Chunk& chunk, Padding padding) {
    Tensor result = pixels.transformed(chunk);
    const kernels::WinogradParameters p = parameters_of(pixels, chunk, result, padding);
    launch(result.device(), kernel, linear_groups(p.count, 256), p, {reads(pixels.tensor), writes(result)},
           {.channels_inner = pixels.channels_inner});
    return result;
}

void make_result(const Pixels& result, const Chunk& chunk, const Tensor& sums, const Tensor& bias) {
    kernels::WinogradParameters p = parameters_of(result, chunk, sums, {});
    std::array accesses{reads(sums), writes(result.tensor), Access{}};
    if (bias.defined()) {
        p.bias = address(bias);
        accesses[2] = reads(bias);
    }
    launch(sums.device(), kernels::winograd_result, linear_groups(p.count, 256), p,
           std::span(accesses).first(bias.defined() ? 3 : 2),
           {.channels_inner = result.channels_inner, .has_bias = bias.defined()});
}

/// Parameters for a weight [out_channels, in_channels, (1,) 3, 3] and 36 transformed matrices [out_channels,
/// in_channels].
kernels::WinogradParameters parameters_of(const Tensor& weight, const Tensor& transformed) {
    kernels::WinogradParameters p{};
    p.tensor = address(weight);
    p.transformed = address(transformed);
    p.outer_stride = static_cast<std::uint64_t>(weight.stride(0));
    p.channel_stride = static_cast<std::uint64_t>(weight.stride(1));
    p.row_stride = narrow(weight.stride(-2));
    p.column_stride = narrow(weight.stride(-1));
    p.count = narrow(weight.size(0) * weight.size(1));
    p.inner = narrow(weight.size(1));
    set_quotients(p, p.inner, 1, 1);
    return p;
}
Tensor transformed_weight(const Tensor& given, bool rotated) {
    const bool fits = 2 * (given.stride(-2) + given.stride(-1)) <= std::numeric_limits<std::int32_t>::max();
    const Tensor weight = fits ? given : given.contiguous();
    Tensor result = at::empty({points, weight.size(0), weight.size(1)}, weight.options());
    const kernels::WinogradParameters p = parameters_of(weight, result);
    launch(result.device(), kernels::winograd_weight, linear_groups(p.count, 256), p,
           {reads(weight), writes(result)}, {.rotated = rotated});
    return result;
}

ProductSizes product_sizes(const Tensor& tensor) {
    return {tensor.device(), tensor.scalar_type(), points};
}

void convolve(const Geometry& g, Operation operation, const ConvolutionOperands& operands) {
    const bool backward = operation == Operation::input_gradient;
    const Tensor weight = transformed_weight(operands.other, backward);
    const Matrices factor = backward ? Matrices::of(weight).transposed() : Matrices::of(weight);
    const Pixels image(operands.image, backward ? g.output : g.input);
    const Pixels result(operands.result, grid_of(g, operation));
    const Padding padding =
        backward ? Padding{2 - g.padding[1], 2 - g.padding[2]} : Padding{g.padding[1], g.padding[2]};
    for_each_chunk(g, operation, [&](const Chunk& chunk) {
        const Tensor windows = transform(kernels::winograd_image, image, chunk, padding);
        const Tensor sums = result.transformed(chunk);
        const Matrices b = image.matrices(windows), c = result.matrices(sums);
        // Transposed, so that the rows that the kernels write are contiguous.
        if (result.channels_inner)
            multiply_matrices(product_sizes(sums), b.transposed(), factor.transposed(), c.transposed());
        else
            multiply_matrices(product_sizes(sums), factor, b, c);
        make_result(result, chunk, sums, operands.bias);
    });
}

void find_weight_gradient(const Geometry& g, const ConvolutionOperands& operands) {
    const Pixels image(operands.image, g.input), gradient(operands.other, g.output);
    const Tensor& result = operands.result;
    const Tensor sums = at::empty({points, g.out_channels, g.in_channels}, result.options());
    const Matrices c = Matrices::of(sums);
    for_each_chunk(g, Operation::weight_gradient, [&](const Chunk& chunk) {
        const Tensor windows = transform(kernels::winograd_image, image, chunk, {g.padding[1], g.padding[2]});
        const Tensor tiles = transform(kernels::winograd_gradient, gradient, chunk, {});
        multiply_matrices(product_sizes(sums), gradient.matrices(tiles), image.matrices(windows).transposed(),
                          c, 1, c, chunk.first == 0 ? 0 : 1);
    });
    const kernels::WinogradParameters p = parameters_of(result, sums);
    launch(result.device(), kernels::winograd_weight_gradient, linear_groups(p.count, 256), p,
           {reads(sums), writes(result)});
}

} // namespace

bool winograd_suits(const Geometry& g, Operation operation, at::ScalarType dtype, c10::Device device) {
    constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
    const Size3 one{1, 1, 1};
    if (dtype != at::kFloat || g.groups != 1 || g.kernel != Size3{1, 3, 3} || g.stride != one ||
        g.dilation != one || g.padding[0] != 0 || g.input[0] != 1 || g.output[0] != 1)
        return false;
    const std::int64_t tiles = Tiling(g, operation).count();
    const bool fits = g.in_channels * volume(g.input) <= most && g.out_channels * volume(g.output) <= most &&
                      tiles <= most && std::max(g.padding[1], g.padding[2]) < most / 2 &&
                      points * g.in_channels * g.out_channels <= most_numbers_of_weight;
    return fits && tiles >= least_tiles && std::min(g.in_channels, g.out_channels) >= least_channels &&
           is_faster(g, operation, device);
}

void convolve_with_winograd(const Geometry& g, Operation operation, const ConvolutionOperands& operands) {
    if (operation == Operation::weight_gradient)
        find_weight_gradient(g, operands);
    else
        convolve(g, operation, operands);
}

} // namespace rvk
