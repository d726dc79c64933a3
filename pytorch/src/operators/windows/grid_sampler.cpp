/// Samples images at the points of a grid, and computes the gradients of both
/// (kernels/windows/sampler.slang). For the image's gradient, a kernel lists each point's contributions,
/// which are then added in the order of the points.

#include "../../dispatch/limits.h"
#include "../../dispatch/structured.h"
#include "../indexing/index_operation.h"

#include <rekindle/kernels/families/sampler.h>
#include <rekindle/kernels/families/sampler_float64.h>

#include <ATen/native/GridSamplerUtils.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <algorithm>
#include <limits>
#include <vector>

namespace rvk {

namespace {

constexpr std::int64_t nowhere = std::numeric_limits<std::int64_t>::max();

struct Sampling {
    std::int64_t interpolation, padding;
    bool align_corners;
};

std::int64_t taps_of_axis(const Sampling& sampling) {
    constexpr std::array<std::int64_t, 3> taps{2, 1, 4};
    return taps.at(static_cast<std::size_t>(sampling.interpolation));
}

/// The most channels for which a thread's loops over channels and taps stay within most_iterations.
std::int64_t most_channels(const Sampling& sampling, std::int64_t axes) {
    std::int64_t iterations = 0;
    for (std::int64_t axis = 0; axis < axes; ++axis)
        iterations = taps_of_axis(sampling) * (1 + iterations);
    return most_iterations / (2 + iterations);
}

/// One launch of a kernel of the family: the operands' strides, and one item per point of the grid.
class Sampler {
  public:
    /// Kernels need the image's sizes even if they do not read its elements.
    Sampler(const Sampling& sampling, at::IntArrayRef image_sizes, const at::Tensor& grid)
        : sampling_(sampling), axes_(grid.dim() - 2), grid_(grid) {
        words_.fill(0);
        for (std::int64_t axis = 0; axis < 3; ++axis) {
            const bool given = axis < axes_;
            words_[static_cast<std::size_t>(axis)] = given ? grid.size(grid.dim() - 2 - axis) : 1;
            words_[static_cast<std::size_t>(3 + axis)] =
                given ? image_sizes[image_sizes.size() - 1 - static_cast<std::size_t>(axis)] : 1;
        }
        put(16, grid, true);
        p_.grid = address(grid);
        p_.nowhere = nowhere;
        p_.count = static_cast<std::uint32_t>(grid.numel() / grid.size(-1));
        p_.channels = static_cast<std::uint32_t>(image_sizes[1]);
        accesses_.push_back(reads(grid));
        TORCH_CHECK_NOT_IMPLEMENTED(grid.numel() < 0xff000000, "grids of 2^32 elements");
    }
    void image(const at::Tensor& image) {
        put(6, image, false);
        p_.image = address(image);
        accesses_.push_back(reads(image));
    }
    void result(const at::Tensor& result, bool written) {
        put(11, result, false);
        p_.result = address(result);
        accesses_.push_back(written ? writes(result) : reads(result));
    }
    void grid_gradient(const at::Tensor& gradient) {
        put(21, gradient, true);
        p_.gradient = address(gradient);
        accesses_.push_back(writes(gradient));
    }
    void contributions(const at::Tensor& values, const at::Tensor& targets) {
        p_.gradient = address(values);
        p_.targets = address(targets);
        accesses_.push_back(writes(values));
        accesses_.push_back(writes(targets));
    }
    template <class Single, class Double>
    void launch(const Single& single, const Double& twice) {
        if (p_.count == 0)
            return;
        const auto dtype = grid_.scalar_type();
        TORCH_CHECK_NOT_IMPLEMENTED(at::isFloatingType(dtype), "grid_sampler of ", dtype);
        require_float64(dtype, grid_.device());
        const UploadedBlock layout(grid_.device().index(), std::span<const std::int64_t>(words_));
        p_.layout = layout.address();
        const kernels::SamplerConstants constants{.dtype = dtype_code(dtype),
                                                  .axes = static_cast<std::uint32_t>(axes_),
                                                  .interpolation =
                                                      static_cast<std::uint32_t>(sampling_.interpolation),
                                                  .padding = static_cast<std::uint32_t>(sampling_.padding),
                                                  .align_corners = sampling_.align_corners};
        const Groups groups = linear_groups(p_.count, 256);
        rvk::launch(grid_.device(), dtype == at::kDouble ? twice : single, groups, p_, accesses_, constants);
    }

  private:
    /// Stores the strides of batch, channel (or coordinate, which is the grid's last dimension), x, y, z.
    void put(std::size_t first, const at::Tensor& tensor, bool channels_last) {
        words_[first] = tensor.stride(0);
        words_[first + 1] = tensor.stride(channels_last ? -1 : 1);
        for (std::int64_t axis = 0; axis < axes_; ++axis)
            words_[first + 2 + static_cast<std::size_t>(axis)] =
                tensor.stride(tensor.dim() - 1 - axis - (channels_last ? 1 : 0));
    }

    Sampling sampling_;
    std::int64_t axes_;
    at::Tensor grid_;
    std::array<std::int64_t, 26> words_{};
    kernels::SamplerParameters p_{};
    c10::SmallVector<Access, 6> accesses_;
};

at::Tensor sample(const at::Tensor& image, const at::Tensor& grid, const Sampling& sampling) {
    TORCH_CHECK_NOT_IMPLEMENTED(image.scalar_type() == grid.scalar_type(),
                                "grid_sampler of different dtypes");
    if (const std::int64_t most = most_channels(sampling, grid.dim() - 2); image.size(1) > most) {
        std::vector<at::Tensor> pieces;
        for (const at::Tensor& piece : image.split(most, 1))
            pieces.push_back(sample(piece, grid, sampling));
        return at::cat(pieces, 1);
    }
    auto sizes = grid.sizes().vec();
    sizes.pop_back();
    sizes.insert(sizes.begin() + 1, image.size(1));
    at::Tensor result = at::empty(sizes, image.options());
    if (result.numel() == 0)
        return result;
    Sampler sampler(sampling, image.sizes(), grid);
    sampler.image(image);
    sampler.result(result, true);
    sampler.launch(kernels::sampler_read, kernels::sampler_read_float64);
    return result;
}

at::Tensor image_gradient(const at::Tensor& grad_output, const at::Tensor& image, const at::Tensor& grid,
                          const Sampling& sampling) {
    at::Tensor gradient = at::zeros(image.sizes(), image.options());
    if (grad_output.numel() == 0 || gradient.numel() == 0)
        return gradient;
    const std::int64_t axes = grid.dim() - 2, batch = image.size(0), channels = image.size(1);
    std::int64_t taps = 1;
    for (std::int64_t axis = 0; axis < axes; ++axis)
        taps *= taps_of_axis(sampling);
    const std::int64_t places = image.numel() / (batch * channels),
                       items = grid.numel() / (batch * axes) * taps;
    const at::Tensor values = at::empty({batch, items, channels}, grad_output.options());
    const at::Tensor targets = at::empty({batch, items}, grad_output.options().dtype(at::kLong));
    Sampler sampler(sampling, image.sizes(), grid);
    sampler.result(grad_output, false);
    sampler.contributions(values, targets);
    sampler.launch(kernels::sampler_spread, kernels::sampler_spread_float64);

    const auto bytes = static_cast<std::int64_t>(image.element_size()),
               index = std::int64_t{sizeof(std::int64_t)};
    IndexOperation operation(image.device(), bytes);
    IndexOperation::Dimension images{batch, channels * places * bytes, items * channels * bytes, places};
    images.index_strides[0] = items * index;
    IndexOperation::Dimension contributions{items, 0, channels * bytes, 0};
    contributions.index_strides[0] = index;
    operation.add_outer(images);
    operation.add_outer(contributions);
    operation.add_inner({channels, places * bytes, bytes});
    operation.add_selector(targets, places, bytes, 1);
    operation.set_keys(batch * places);
    operation.ignore(nowhere);
    operation.accumulate(gradient, values, image.scalar_type(), IndexReduction::sum);
    return gradient;
}

std::tuple<at::Tensor, at::Tensor> sample_backward(const at::Tensor& grad_output, const at::Tensor& image,
                                                   const at::Tensor& grid, const Sampling& sampling,
                                                   std::array<bool, 2> wanted);

/// Processes `most` channels at a time and adds the resulting gradients of the grid.
std::tuple<at::Tensor, at::Tensor> sample_backward_in_pieces(const at::Tensor& grad_output,
                                                             const at::Tensor& image, const at::Tensor& grid,
                                                             const Sampling& sampling,
                                                             std::array<bool, 2> wanted, std::int64_t most) {
    const at::ScalarType type = image.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
    const at::Tensor places = grid.to(type), of_grid = at::zeros(grid.sizes(), places.options());
    std::vector<at::Tensor> of_images;
    for (std::int64_t first = 0; first < image.size(1); first += most) {
        const std::int64_t channels = std::min(most, image.size(1) - first);
        const auto [of_image, of_places] =
            sample_backward(grad_output.narrow(1, first, channels).to(type),
                            image.narrow(1, first, channels).to(type), places, sampling, wanted);
        if (wanted[0])
            of_images.push_back(of_image);
        of_grid.add_(of_places);
    }
    return {wanted[0] ? at::cat(of_images, 1).to(image.scalar_type()) : at::Tensor(),
            of_grid.to(grid.scalar_type())};
}

std::tuple<at::Tensor, at::Tensor> sample_backward(const at::Tensor& grad_output, const at::Tensor& image,
                                                   const at::Tensor& grid, const Sampling& sampling,
                                                   std::array<bool, 2> wanted) {
    TORCH_CHECK_NOT_IMPLEMENTED(image.scalar_type() == grid.scalar_type(),
                                "grid_sampler of different dtypes");
    if (const std::int64_t most = most_channels(sampling, grid.dim() - 2); image.size(1) > most)
        return sample_backward_in_pieces(grad_output, image, grid, sampling, wanted, most);
    at::Tensor of_image;
    if (wanted[0])
        of_image = image_gradient(grad_output, image, grid, sampling);
    at::Tensor of_grid = at::empty(grid.sizes(), grid.options());
    if (of_grid.numel() == 0)
        return {of_image, of_grid};
    if (sampling.interpolation ==
        static_cast<std::int64_t>(at::native::detail::GridSamplerInterpolation::Nearest))
        return {of_image, of_grid.zero_()};
    Sampler sampler(sampling, image.sizes(), grid);
    sampler.image(image);
    sampler.result(grad_output, false);
    sampler.grid_gradient(of_grid);
    sampler.launch(kernels::sampler_grid, kernels::sampler_grid_float64);
    return {of_image, of_grid};
}

at::Tensor grid_sampler_2d(const at::Tensor& image, const at::Tensor& grid, std::int64_t interpolation,
                           std::int64_t padding, bool align_corners) {
    at::native::check_grid_sampler_common(image, grid);
    at::native::check_grid_sampler_2d(image, grid);
    return sample(image, grid, {interpolation, padding, align_corners});
}
at::Tensor grid_sampler_3d(const at::Tensor& image, const at::Tensor& grid, std::int64_t interpolation,
                           std::int64_t padding, bool align_corners) {
    at::native::check_grid_sampler_common(image, grid);
    at::native::check_grid_sampler_3d(image, grid, interpolation);
    return sample(image, grid, {interpolation, padding, align_corners});
}
std::tuple<at::Tensor, at::Tensor> grid_sampler_2d_backward(const at::Tensor& grad_output,
                                                            const at::Tensor& image, const at::Tensor& grid,
                                                            std::int64_t interpolation, std::int64_t padding,
                                                            bool align_corners, std::array<bool, 2> wanted) {
    at::native::check_grid_sampler_common(image, grid);
    at::native::check_grid_sampler_2d(image, grid);
    return sample_backward(grad_output, image, grid, {interpolation, padding, align_corners}, wanted);
}
std::tuple<at::Tensor, at::Tensor> grid_sampler_3d_backward(const at::Tensor& grad_output,
                                                            const at::Tensor& image, const at::Tensor& grid,
                                                            std::int64_t interpolation, std::int64_t padding,
                                                            bool align_corners, std::array<bool, 2> wanted) {
    at::native::check_grid_sampler_common(image, grid);
    at::native::check_grid_sampler_3d(image, grid, interpolation);
    return sample_backward(grad_output, image, grid, {interpolation, padding, align_corners}, wanted);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
    register_operator(m, "grid_sampler_2d", &grid_sampler_2d);
    register_operator(m, "grid_sampler_3d", &grid_sampler_3d);
    register_operator(m, "grid_sampler_2d_backward", &grid_sampler_2d_backward);
    register_operator(m, "grid_sampler_3d_backward", &grid_sampler_3d_backward);
}

} // namespace

} // namespace rvk
