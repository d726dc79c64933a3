/// convolution_overrideable and its backward, to which PyTorch dispatches convolutions on this device: one to
/// three dimensions, transposed or not, with groups.

#include "../../dispatch/limits.h"
#include "../../dispatch/same_dtype.h"
#include "../../dispatch/structured.h"
#include "convolution_phases.h"
#include "convolution_pointwise.h"
#include "convolution_units.h"
#include "convolution_winograd.h"
#include "matrices.h"
#include "planner.h"

#include <rekindle/kernels/ceil_div.h>
#include <rekindle/kernels/families/convolution.h>
#include <rekindle/kernels/families/convolution_float64.h>
#include <rekindle/kernels/families/convolution_int64.h>

#include <ATen/ops/empty.h>
#include <ATen/ops/sum.h>
#include <algorithm>
#include <limits>

namespace rvk {

namespace {

using at::IntArrayRef;
using at::Tensor;
using Operation = ConvolutionOperation;
using Operands = ConvolutionOperands;

void fill_last(Size3& to, IntArrayRef from, std::size_t spatial) {
    for (std::size_t d = 0; d < spatial; ++d)
        to[3 - spatial + d] = from.size() == 1 ? from[0] : from[d];
}

/// input and output: sizes of the convolution that is not transposed (a transposed one swaps them).
Geometry geometry_of(IntArrayRef input, IntArrayRef weight, IntArrayRef output, IntArrayRef stride,
                     IntArrayRef padding, IntArrayRef dilation, std::int64_t groups) {
    const std::size_t spatial = weight.size() - 2;
    TORCH_CHECK_NOT_IMPLEMENTED(spatial >= 1 && spatial <= 3, "convolutions of ", spatial, " dimensions");
    Geometry g;
    g.batch = input[0];
    g.groups = groups;
    g.in_channels = weight[1];
    g.out_channels = weight[0] / groups;
    fill_last(g.input, input.slice(2), spatial);
    fill_last(g.output, output.slice(2), spatial);
    fill_last(g.kernel, weight.slice(2), spatial);
    fill_last(g.stride, stride, spatial);
    fill_last(g.padding, padding, spatial);
    fill_last(g.dilation, dilation, spatial);
    g.flatten_pixels();
    return g;
}

std::vector<std::int64_t> output_sizes(IntArrayRef input, IntArrayRef weight, IntArrayRef stride,
                                       IntArrayRef padding, IntArrayRef dilation) {
    std::vector<std::int64_t> sizes{input[0], weight[0]};
    for (std::size_t d = 2; d < input.size(); ++d)
        sizes.push_back(
            (input[d] + 2 * padding[d - 2] - (dilation[d - 2] * (weight[d] - 1) + 1)) / stride[d - 2] + 1);
    return sizes;
}

std::vector<std::int64_t> transposed_output_sizes(IntArrayRef input, IntArrayRef weight, IntArrayRef stride,
                                                  IntArrayRef padding, IntArrayRef dilation,
                                                  IntArrayRef output_padding, std::int64_t groups) {
    std::vector<std::int64_t> sizes{input[0], weight[1] * groups};
    for (std::size_t d = 2; d < input.size(); ++d)
        sizes.push_back((input[d] - 1) * stride[d - 2] - 2 * padding[d - 2] +
                        dilation[d - 2] * (weight[d] - 1) + output_padding[d - 2] + 1);
    return sizes;
}

using products::Plan;
using products::Tile;

/// The kernels that use no tiles.
struct DirectKernels {
    const kernels::Kernel &direct, &weight_direct;
};
DirectKernels direct_kernels_of(NumberFamily family) {
    switch (family) {
    case NumberFamily::float64:
        return {kernels::convolution_direct_float64.kernel,
                kernels::convolution_weight_direct_float64.kernel};
    case NumberFamily::integer:
        return {kernels::convolution_direct_int64.kernel, kernels::convolution_weight_direct_int64.kernel};
    default:
        return {kernels::convolution_direct.kernel, kernels::convolution_weight_direct.kernel};
    }
}

/// The workgroups of `columns` x `rows` tiles: tile columns in x and tile rows in y; beyond 32,768, the
/// columns continue in y (`tile_at` in convolution.slang).
Groups tile_groups(std::int64_t columns, std::int64_t rows, std::int64_t z) {
    const std::int64_t column_rows = kernels::ceil_div(columns, groups_per_row);
    TORCH_CHECK_NOT_IMPLEMENTED(rows * column_rows <= most_groups && z <= most_groups, "convolutions of ",
                                columns, " x ", rows, " x ", z, " tiles");
    if (columns <= groups_per_row)
        return {static_cast<std::uint32_t>(columns), static_cast<std::uint32_t>(rows),
                static_cast<std::uint32_t>(z)};
    return {static_cast<std::uint32_t>(groups_per_row), static_cast<std::uint32_t>(rows * column_rows),
            static_cast<std::uint32_t>(z)};
}

std::uint32_t checked(std::int64_t value, const char* what) {
    TORCH_CHECK_NOT_IMPLEMENTED(value >= 0 && value <= std::numeric_limits<std::int32_t>::max(),
                                "convolutions with ", value, " ", what);
    return static_cast<std::uint32_t>(value);
}
std::uint32_t pack_16_bits(std::int64_t lower, std::int64_t upper) {
    TORCH_CHECK_NOT_IMPLEMENTED(lower < 65536 && upper < 65536,
                                "convolutions with a kernel, stride, dilation or padding of ",
                                std::max(lower, upper));
    return static_cast<std::uint32_t>(lower | (upper << 16));
}

/// With one_tap, k in convolution.slang runs over this many channels before the next tap.
constexpr std::int64_t channels_of_block = 16;
/// From this many multiply-adds on, the time to reorder the weight is negligible.
constexpr std::int64_t products_worth_reordering = std::int64_t{1} << 29;

/// Pixels, with the padding, that the input gradient tells apart in one dimension if there are strides (Phase
/// in convolution_geometry.slang).
constexpr std::int64_t most_pixels_with_stride = std::int64_t{1} << 30;

/// The most elements of a phase to compute at once, in scratch memory, before they are copied to their
/// places.
constexpr std::int64_t most_phase_elements = std::int64_t{1} << 26;

/// The product C = A * B that convolution.slang computes. Operands are contiguous.
struct Work {
    const Geometry& g;
    Operation operation;
    NumberFamily family;
    at::ScalarType dtype;
    std::int64_t m, n, k;
    Size3 grid, image;
    std::int64_t channels; ///< of the image, in one group

    Work(const Geometry& geometry, Operation op, at::ScalarType type, c10::Device device)
        : g(geometry), operation(op), family(number_family(type, device)), dtype(type) {
        const std::int64_t taps = volume(g.kernel);
        const bool backward = op == Operation::input_gradient;
        image = backward ? g.output : g.input;
        grid = backward ? g.input : g.output;
        channels = backward ? g.out_channels : g.in_channels;
        const std::int64_t pixels = g.batch * volume(grid), gathered = channels * taps;
        const bool of_weight = op == Operation::weight_gradient;
        m = backward ? g.in_channels : g.out_channels;
        n = of_weight ? gathered : pixels;
        k = of_weight ? pixels : gathered;
    }

    kernels::ConvolutionParameters parameters(const Operands& operands, std::int64_t k_part) const {
        kernels::ConvolutionParameters p{};
        p.image = address(operands.image);
        p.other = address(operands.other);
        p.result = address(operands.result);
        p.bias = operands.bias.defined() ? address(operands.bias) : 0;
        p.m = checked(m, "channels");
        p.n = checked(n, "columns");
        p.k = checked(k, "products in a sum");
        p.k_part = checked(k_part, "products in a part");
        p.channels = checked(channels, "channels");
        p.groups = checked(g.groups, "groups");
        p.image_depth = checked(image[0], "planes");
        p.image_height = checked(image[1], "rows");
        p.image_width = checked(image[2], "pixels in a row");
        p.grid_depth = checked(grid[0], "planes");
        p.grid_height = checked(grid[1], "rows");
        p.grid_width = checked(grid[2], "pixels in a row");
        p.kernel_depth = checked(g.kernel[0], "planes of the kernel");
        p.kernel_height_width = pack_16_bits(g.kernel[1], g.kernel[2]);
        p.stride_depth_height = pack_16_bits(g.stride[0], g.stride[1]);
        p.stride_width_dilation_depth = pack_16_bits(g.stride[2], g.dilation[0]);
        p.dilation_height_width = pack_16_bits(g.dilation[1], g.dilation[2]);
        p.padding_depth_height = pack_16_bits(g.padding[0], g.padding[1]);
        p.padding_width = checked(g.padding[2], "pixels of padding");
        const Size3& counted = operation == Operation::weight_gradient ? grid : g.kernel;
        const Quotient depth(counted[0]), height(counted[1]), width(counted[2]);
        p.depth_multiplier = depth.multiplier;
        p.height_multiplier = height.multiplier;
        p.width_multiplier = width.multiplier;
        p.shifts = depth.shift | (height.shift << 8) | (width.shift << 16);
        checked(channels * volume(image), "elements in an image");
        return p;
    }

    std::uint64_t quad_bytes() const { return dtype == at::kFloat ? 16 : 8; }
    bool quads(const Tensor& tensor, std::int64_t run) const {
        return run % 4 == 0 && address(tensor) % quad_bytes() == 0;
    }

    /// Whether 32 bits hold the distance in bytes of any two elements.
    static bool is_near(const Tensor& tensor) {
        return tensor.nbytes() <= std::numeric_limits<std::uint32_t>::max();
    }

    /// What distinguishes launches besides the sizes.
    struct Variant {
        bool edges = true, in_parts = false, one_tap = false;
        bool without_tiles = false;
        std::uint32_t shared_numbers = 1;
        std::uint32_t row_taps = 1; ///< without tiles
        bool half_sums = false;
    };
    Variant variant_of(const Plan& plan, bool edges) const {
        return {.edges = edges,
                .in_parts = plan.parts > 1,
                .one_tap = one_tap(plan.tile.columns),
                .shared_numbers = plan.tile.shared_numbers,
                .half_sums = plan.tile.multiplies_float16() && may_sum_in_half()};
    }
    void launch(const kernels::Kernel& kernel, Groups groups, const Operands& operands, std::int64_t k_part,
                const Variant& variant) const {
        const kernels::ConvolutionParameters p = parameters(operands, k_part);
        if (operation == Operation::input_gradient && !g.unit_stride() && !variant.without_tiles)
            for (int i = 0; i < 3; ++i)
                TORCH_CHECK_NOT_IMPLEMENTED(grid[i] + g.padding[i] <= most_pixels_with_stride,
                                            "input gradients with a stride and ", grid[i],
                                            " pixels in a row");
        const bool by_pixels = operation == Operation::weight_gradient;
        const bool rows_of_k = operation == Operation::forward || variant.one_tap;
        // With 16 rows, a thread loads less than a quad (four numbers) of the other operand per slice.
        const bool quads_of_other = &kernel == &kernels::convolution_16x128.kernel ? false
                                    : by_pixels ? quads(operands.other, volume(grid))
                                    : rows_of_k ? quads(operands.other, k)
                                                : false;
        const std::int64_t adjacent = variant.without_tiles ? grid[2] : by_pixels ? n : volume(grid);
        const kernels::ConvolutionConstants constants{
            .dtype = dtype_code(dtype),
            .edges = variant.edges ? 3u : 0u,
            .half_sums = variant.half_sums,
            .shared_numbers = variant.shared_numbers,
            .operation = static_cast<std::uint32_t>(operation),
            .dimensions = g.dimensions(),
            .pointwise = g.pointwise(),
            .unit_stride = g.unit_stride(),
            .a_sharing = quads_of_other ? 0u : 2u,
            .one_tap = variant.one_tap,
            .in_parts = variant.in_parts,
            .has_bias = operands.bias.defined(),
            .stores_quads =
                !variant.in_parts && (!by_pixels || g.pointwise()) && quads(operands.result, adjacent),
            .near = !variant.without_tiles && !variant.one_tap && is_near(operands.image) &&
                    is_near(operands.other),
            .adjacent_taps = variant.without_tiles && g.stride[2] == 1 && g.dilation[2] == 1,
            .row_taps = variant.row_taps};
        std::array accesses{reads(operands.image), reads(operands.other), writes(operands.result), Access{}};
        if (operands.bias.defined())
            accesses[3] = reads(operands.bias);
        rvk::launch(operands.result.device().index(), kernel, groups, std::as_bytes(std::span(&p, 1)),
                    std::span(accesses).first(operands.bias.defined() ? 4 : 3), constants);
    }

    /// Whether all columns of a tile (weight gradient) or all k of a slice (other operations, if reordering
    /// the weight for this pays off) belong to a single kernel tap.
    bool one_tap(std::int64_t tile_columns) const {
        if (operation == Operation::weight_gradient)
            return g.pointwise() || channels % tile_columns == 0;
        return !g.pointwise() && channels % channels_of_block == 0 && m * n * k >= products_worth_reordering;
    }
    Tensor reordered_weight(const Tensor& weight) const;
    bool is_direct() const;
    /// Number of quads (four adjacent pixels of a row) in the grid.
    std::int64_t pixel_quads() const { return n / grid[2] * kernels::ceil_div<std::int64_t>(grid[2], 4); }
    products::ConvolutionShape shape() const {
        return {.type = element_type(dtype),
                .pass = operation,
                .m = m,
                .n = n,
                .k = k,
                .groups = g.groups,
                .channels = channels,
                .taps = volume(g.kernel),
                .images = operation == Operation::weight_gradient ? 1 : g.batch};
    }
    void run(const Operands& operands) const;
    void run_groups(const Operands& operands) const;
    Plan tuned_plan(const Plan& plan, const Operands& operands) const;
    void run_plan(const Plan& plan, const Operands& operands) const;
    void run_directly(const Operands& operands) const;
    void run_in_parts(const Operands& operands, const Plan& plan, Groups groups, bool edges) const;
};

/// The weight as matrices [groups, m, k], with k in the order that one_tap requires.
Tensor Work::reordered_weight(const Tensor& weight) const {
    const std::int64_t blocks = channels / channels_of_block, taps = volume(g.kernel);
    if (operation == Operation::forward)
        return weight.view({g.groups, m, blocks, channels_of_block, taps}).transpose(3, 4).contiguous();
    return weight.view({g.groups, blocks, channels_of_block, m, taps}).permute({0, 3, 1, 4, 2}).contiguous();
}

void Work::run_directly(const Operands& operands) const {
    const DirectKernels family_kernels = direct_kernels_of(family);
    Variant variant{.edges = false, .without_tiles = true};
    if (operation != Operation::weight_gradient) {
        const Groups groups = tile_groups(kernels::ceil_div(pixel_quads(), 256), m, g.groups);
        launch(family_kernels.direct, groups, operands, k, variant);
        return;
    }
    // A workgroup that computes several taps reads the gradient once for all of them; it does so only if
    // there are enough workgroups to fill the GPU.
    const std::int64_t width = g.kernel[2], lines = channels * g.kernel[0] * g.kernel[1];
    const std::int64_t per_line = lines * m * g.groups >= 256 ? kernels::ceil_div(width, 8) : width;
    variant.row_taps = static_cast<std::uint32_t>(kernels::ceil_div(width, per_line));
    variant.shared_numbers = 256 * variant.row_taps;
    const std::int64_t per_row = kernels::ceil_div<std::int64_t>(width, variant.row_taps);
    launch(family_kernels.weight_direct, tile_groups(lines * per_row, m, g.groups), operands, k, variant);
}

void Work::run_in_parts(const Operands& operands, const Plan& plan, Groups groups, bool edges) const {
    const Tile& tile = plan.tile;
    const std::int64_t parts = plan.parts;
    const auto device = operands.result.device();
    const Tensor memory =
        at::empty({g.groups * parts, m, n}, at::TensorOptions().device(device).dtype(sum_type(family)));
    groups.z = static_cast<std::uint32_t>(g.groups * parts);
    launch(*tile.kernel, groups, {operands.image, operands.other, memory, {}}, plan.k_part,
           variant_of(plan, edges));
    const std::uint64_t first = address(operands.result);
    if (operation == Operation::weight_gradient) {
        const Matrices result{first, m, n, n, 1, m * n, writes(operands.result)};
        combine_parts({device, dtype, g.groups}, {memory, parts, parts * m * n, m * n, n}, result);
        return;
    }
    // There is only one group of channels here. The columns of the sums are the pixels of all images, while
    // each image of the result is a separate matrix.
    const std::int64_t pixels = volume(grid);
    const Matrices result{first, m, pixels, pixels, 1, m * pixels, writes(operands.result)};
    std::optional<Matrices> bias;
    if (operands.bias.defined())
        bias = Matrices{address(operands.bias), m, pixels, 1, 0, 0, reads(operands.bias)};
    combine_parts({device, dtype, g.batch}, {memory, parts, pixels, m * n, n}, result, 1, bias, 1);
}

/// Whether the kernels without tiles suit this convolution and their loops are short enough.
bool Work::is_direct() const {
    if (m > 2 || g.groups > most_groups)
        return false;
    if (operation == Operation::weight_gradient)
        return n <= 1024 && k <= most_iterations * 256;
    // Four nested loops share the limit.
    return k <= most_iterations / 4 && kernels::ceil_div(n, 256) <= most_groups / 2 * groups_per_row;
}

void Work::run(const Operands& given) const {
    if (given.result.numel() == 0)
        return;
    if (is_direct()) {
        run_directly(given);
        return;
    }
    const Plan plan = planner(given.result.device().index()).plan(shape());
    const std::int64_t needed = kernels::ceil_div(k, products::longest_k(plan.tile));
    if (needed > 1 && g.groups > 1 &&
        (operation != Operation::weight_gradient || g.groups * needed > most_groups)) {
        run_groups(given);
        return;
    }
    const std::int64_t matrices =
        operation == Operation::weight_gradient ? g.groups : std::max(g.groups, g.batch);
    TORCH_CHECK_NOT_IMPLEMENTED(matrices * plan.parts <= most_groups || needed <= 1,
                                "convolutions with sums of ", k, " products for ", matrices, " matrices");
    run_plan(tuned_plan(plan, given), given);
}

void Work::run_plan(const Plan& plan, const Operands& given) const {
    const Tile& tile = plan.tile;
    Operands operands = given;
    if (operation != Operation::weight_gradient && one_tap(tile.columns))
        operands.other = reordered_weight(given.other);
    const auto columns = kernels::ceil_div<std::int64_t>(n, tile.columns),
               rows = kernels::ceil_div<std::int64_t>(m, tile.rows);
    const Groups groups = tile_groups(columns, rows, g.groups);
    // With small tiles, the checks cost too little to justify another pipeline.
    const bool edges = tile.rows == 32 || m % tile.rows != 0 || n % tile.columns != 0 || k % tile.depth != 0;
    if (plan.parts > 1)
        run_in_parts(operands, plan, groups, edges);
    else
        launch(*tile.kernel, groups, operands, plan.k_part, variant_of(plan, edges));
}

/// Returns the plan that measures fastest.
Plan Work::tuned_plan(const Plan& plan, const Operands& operands) const {
    if (family != NumberFamily::float32 || !is_tuned({operands.result}))
        return plan;
    const std::vector<Plan> plans = products::plans_to_try(
        plan, products::possible_plans(planner(operands.result.device().index()).device(), shape()));
    return plans[tuned({key_of(shape()),
                        products::names_of(plans),
                        [&](std::size_t i) { run_plan(plans[i], operands); },
                        {operands.result},
                        sum_tolerance(dtype, k)})];
}

/// Computes one group of channels at a time, for long sums.
void Work::run_groups(const Operands& given) const {
    Geometry one = g;
    one.groups = 1;
    const bool of_weight = operation == Operation::weight_gradient;
    const auto group = [&](const Tensor& tensor, std::int64_t dim, std::int64_t number) {
        const std::int64_t size = tensor.size(dim) / g.groups;
        return tensor.narrow(dim, number * size, size);
    };
    for (std::int64_t number = 0; number < g.groups; ++number) {
        const Tensor result = group(given.result, of_weight ? 0 : 1, number);
        Operands operands{group(given.image, 1, number).contiguous(),
                          group(given.other, of_weight ? 1 : 0, number).contiguous(), result.contiguous(),
                          given.bias.defined() ? group(given.bias, 0, number) : Tensor()};
        Work(one, operation, dtype, given.result.device()).run(operands);
        if (!operands.result.is_same(result))
            result.copy_(operands.result);
    }
}

/// Chooses among matrix units, Winograd's algorithm, a product of matrices, and convolution.slang, for which
/// it makes operands contiguous.
void run(const Geometry& g, Operation operation, const Operands& given) {
    const Tensor& result = given.result;
    if (units_suit(g, operation, result.scalar_type(), result.device())) {
        convolve_on_units(g, operation, given);
        return;
    }
    if (winograd_suits(g, operation, result.scalar_type(), result.device())) {
        convolve_with_winograd(g, operation, given);
        return;
    }
    const bool of_weight = operation == Operation::weight_gradient;
    if (!of_weight && g.groups == 1 && g.per_pixel() && !result.is_contiguous() &&
        is_by_pixels(given.image)) {
        multiply_pixels(g, operation, given);
        return;
    }
    const Operands operands{given.image.contiguous(), given.other.contiguous(),
                            result.is_contiguous() ? result : at::empty(result.sizes(), result.options()),
                            given.bias};
    Work(g, operation, result.scalar_type(), result.device()).run(operands);
    if (!operands.result.is_same(result))
        result.copy_(operands.result);
}

/// Splits the batch into pieces with at most most_groups tiles of 32 pixels (or of one image), which keeps
/// pixel indices within 31 bits. The kernels on matrix units can index
/// larger batches; units_suit() checks their limits.
void run_batches(Geometry g, Operation operation, const Operands& operands) {
    const Tensor& result = operands.result;
    const std::int64_t pixels = std::max(volume(g.output), volume(g.input));
    const std::int64_t most_pixels = most_groups * 32;
    const std::int64_t most_batch =
        std::max<std::int64_t>(most_pixels / std::max<std::int64_t>(pixels, 1), 1);
    if (g.batch <= most_batch || operation == Operation::weight_gradient ||
        (!g.per_pixel() && units_suit(g, operation, result.scalar_type(), result.device()))) {
        run(g, operation, operands);
        return;
    }
    const std::int64_t batch = g.batch;
    for (std::int64_t first = 0; first < batch; first += most_batch) {
        g.batch = std::min(most_batch, batch - first);
        Operands piece = operands;
        piece.image = operands.image.narrow(0, first, g.batch);
        piece.result = operands.result.narrow(0, first, g.batch);
        run(g, operation, piece);
    }
}

/// Converts once to the memory format that the kernels for this operation expect, because several launches
/// read it.
Tensor in_order_of(const Geometry& g, Operation operation, const Tensor& image) {
    if (winograd_suits(g, operation, image.scalar_type(), image.device()))
        return image;
    return units_suit(g, operation, image.scalar_type(), image.device()) ? in_channels_last(image)
                                                                         : image.contiguous();
}

/// Computes the input gradient of a strided convolution phase by phase.
void run_phases(const Geometry& g, const std::vector<JoinedPhases>& phases, const Operands& operands) {
    const Tensor& result = operands.result;
    if (!phases_cover_input(g)) {
        if (operands.bias.defined()) {
            std::vector<std::int64_t> sizes(static_cast<std::size_t>(result.dim()), 1);
            sizes[1] = operands.bias.numel();
            result.copy_(operands.bias.view(sizes).expand_as(result));
        } else {
            result.zero_();
        }
    }
    const Tensor image = in_order_of(phases.front().geometry, Operation::input_gradient, operands.image);
    for (const JoinedPhases& some : phases) {
        Geometry dense = some.geometry;
        const std::int64_t channels = dense.groups * dense.in_channels, pixels = volume(dense.input);
        const std::int64_t most_batch = std::max<std::int64_t>(most_phase_elements / (channels * pixels), 1);
        Operands piece{
            {}, weight_of_phases(some, g, operands.other), {}, bias_of_phases(some, operands.bias)};
        for (std::int64_t first = 0; first < g.batch; first += most_batch) {
            dense.batch = std::min(most_batch, g.batch - first);
            piece.image = image.narrow(0, first, dense.batch);
            piece.result = at::empty({dense.batch, channels, pixels}, result.options());
            run_batches(dense, Operation::input_gradient, piece);
            place_phases(some, g, piece.result, result.narrow(0, first, dense.batch));
        }
    }
}

void run_input_gradient(const Geometry& g, const Operands& operands) {
    if (const auto phases = phases_of(g); !phases.empty())
        run_phases(g, phases, operands);
    else
        run_batches(g, Operation::input_gradient, operands);
}

/// As in cuDNN: channels_last if the input or the weight has it.
at::MemoryFormat format_of(const Tensor& input, const Tensor& weight) {
    const auto channels_last =
        input.dim() == 5 ? at::MemoryFormat::ChannelsLast3d : at::MemoryFormat::ChannelsLast;
    return input.suggest_memory_format() == channels_last || weight.suggest_memory_format() == channels_last
               ? channels_last
               : at::MemoryFormat::Contiguous;
}

/// Rejects integer dtypes except int64, as PyTorch does on the CPU.
void require_convolved(at::ScalarType dtype) {
    TORCH_CHECK(!at::isIntegralType(dtype, true) || dtype == at::kLong,
                "\"convolution\" not implemented for '", dtype, "'");
}

Tensor convolution(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias,
                   IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, bool transposed,
                   IntArrayRef output_padding, std::int64_t groups) {
    require_convolved(input.scalar_type());
    require_same_dtype(input, "input", weight, "weight");
    require_same_dtype(input, "input", bias.value_or(Tensor()), "bias");
    number_family(input.scalar_type(), input.device());
    const auto sizes = transposed ? transposed_output_sizes(input.sizes(), weight.sizes(), stride, padding,
                                                            dilation, output_padding, groups)
                                  : output_sizes(input.sizes(), weight.sizes(), stride, padding, dilation);
    const Tensor result = at::empty(sizes, input.options().memory_format(format_of(input, weight)));
    const Operands operands{input, weight, result, bias && bias->defined() ? bias->contiguous() : Tensor()};
    if (transposed)
        run_input_gradient(
            geometry_of(sizes, weight.sizes(), input.sizes(), stride, padding, dilation, groups), operands);
    else
        run_batches(geometry_of(input.sizes(), weight.sizes(), sizes, stride, padding, dilation, groups),
                    Operation::forward, operands);
    return result;
}

std::tuple<Tensor, Tensor, Tensor>
convolution_backward(const Tensor& grad_output, const Tensor& input, const Tensor& weight, IntArrayRef stride,
                     IntArrayRef padding, IntArrayRef dilation, bool transposed,
                     IntArrayRef /*output_padding*/, std::int64_t groups, std::array<bool, 3> output_mask) {
    require_convolved(input.scalar_type());
    require_same_dtype(input, "input", weight, "weight");
    require_same_dtype(grad_output, "grad_output", input, "input");
    number_family(input.scalar_type(), input.device());
    // The geometry is that of the convolution that is not transposed: its input is the larger side.
    const auto larger = transposed ? grad_output.sizes() : input.sizes();
    const auto smaller = transposed ? input.sizes() : grad_output.sizes();
    const Geometry g = geometry_of(larger, weight.sizes(), smaller, stride, padding, dilation, groups);
    const auto format = format_of(input, weight);
    const Tensor gradient = output_mask[1] && !suits_products_of_images(g, input, grad_output)
                                ? in_order_of(g, Operation::weight_gradient, grad_output)
                                : grad_output;
    Tensor of_input, of_weight, of_bias;
    if (output_mask[0]) {
        of_input = at::empty(input.sizes(), input.options().memory_format(format));
        const Operands operands{gradient, weight, of_input, {}};
        if (transposed)
            run_batches(g, Operation::forward, operands);
        else
            run_input_gradient(g, operands);
    }
    if (output_mask[1]) {
        of_weight = at::empty(weight.sizes(), weight.options().memory_format(format));
        run_batches(g, Operation::weight_gradient,
                    {transposed ? gradient : input, transposed ? input : gradient, of_weight, {}});
    }
    if (output_mask[2]) {
        std::vector<std::int64_t> dimensions{0};
        for (std::int64_t d = 2; d < grad_output.dim(); ++d)
            dimensions.push_back(d);
        of_bias = at::sum(grad_output, dimensions);
    }
    return {of_input, of_weight, of_bias};
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
    register_operator(m, "convolution_overrideable", &convolution);
    register_operator(m, "convolution_backward_overrideable", &convolution_backward);
}

} // namespace

} // namespace rvk
