#include "windows.h"

#include "../../dispatch/limits.h"

#include <rekindle/kernels/families/pooling.h>
#include <rekindle/kernels/families/pooling_float64.h>

#include <ATen/ops/empty.h>
#include <algorithm>
#include <numeric>

namespace rvk {

namespace {

using Words = std::array<std::int64_t, 64>;
constexpr std::size_t first_of_step = 58, end_of_step = 61;
constexpr std::size_t strides_of_result = 16, strides_of_source = 24, strides_of_indices = 32;

void put_strides(Words& words, std::size_t first, const WindowOperand& operand) {
    if (!operand.tensor.defined())
        return;
    for (std::size_t d = 0; d < operand.roles.size(); ++d)
        words[first + static_cast<std::size_t>(operand.roles[d])] =
            operand.tensor.stride(static_cast<std::int64_t>(d));
}

Words layout_of(const Windows& w, const WindowOperand& result, const WindowOperand& source,
                const WindowOperand& indices, std::uint32_t& dimensions) {
    Words words{};
    const at::Tensor& out = result.tensor;
    std::vector<std::int64_t> order(static_cast<std::size_t>(out.dim()));
    std::iota(order.rbegin(), order.rend(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::int64_t a, std::int64_t b) { return out.stride(a) < out.stride(b); });
    for (const std::int64_t d : order) {
        if (out.size(d) == 1)
            continue;
        words[dimensions] = out.size(d);
        words[8 + dimensions] = static_cast<std::int64_t>(result.roles[static_cast<std::size_t>(d)]);
        ++dimensions;
    }
    put_strides(words, strides_of_result, result);
    put_strides(words, strides_of_source, source);
    put_strides(words, strides_of_indices, indices);
    std::size_t at = 40;
    for (const Windows::Axes* axes : {&w.inside, &w.windows, &w.size, &w.step, &w.padding, &w.dilation})
        for (const std::int64_t number : *axes)
            words[at++] = number;
    return words;
}

/// Whether 32-bit numbers suffice for positions, including the padding and a window that extends past the
/// end.
bool is_narrow(const Windows& w) {
    for (std::size_t axis = 0; axis < w.inside.size(); ++axis) {
        const double around =
            w.adaptive ? 0.0
                       : 2.0 * static_cast<double>(w.padding[axis]) +
                             static_cast<double>(w.size[axis]) * static_cast<double>(w.dilation[axis]);
        const double places = static_cast<double>(std::max(w.inside[axis], w.windows[axis])) + around;
        if (places >= 0x1p31 || w.step[axis] >= std::int64_t{1} << 31)
            return false;
    }
    return true;
}

bool is_computed(WindowKernel kernel, at::ScalarType dtype) {
    if (at::isFloatingType(dtype))
        return true;
    return kernel == WindowKernel::maximum && at::isIntegralType(dtype, /*includeBool=*/false);
}

} // namespace

Windows::Axes axes_of(at::IntArrayRef numbers, std::size_t axes, std::int64_t missing) {
    Windows::Axes all{missing, missing, missing};
    for (std::size_t axis = 0; axis < axes; ++axis)
        all[axis] = numbers.size() == 1 ? numbers[0] : numbers[axes - 1 - axis];
    return all;
}

std::vector<Role> image_roles(std::int64_t dimensions, std::size_t axes) {
    std::vector<Role> roles;
    const std::int64_t leading = dimensions - static_cast<std::int64_t>(axes);
    for (std::int64_t d = 0; d < leading; ++d)
        roles.push_back(d + 1 == leading ? Role::channel : Role::batch);
    for (std::size_t axis = axes; axis-- > 0;)
        roles.push_back(
            static_cast<Role>(static_cast<std::int64_t>(Role::x) + static_cast<std::int64_t>(axis)));
    return roles;
}

namespace {

/// The most elements of a window, or windows over an element, that a thread processes along each axis.
Windows::Axes longest_walk(WindowKernel kernel, const Windows& w) {
    Windows::Axes counts{1, 1, 1};
    if (kernel == WindowKernel::take)
        return counts;
    for (std::size_t axis = 0; axis < counts.size(); ++axis) {
        const bool places = kernel == WindowKernel::maximum;
        if (w.adaptive) {
            const std::int64_t all = places ? w.inside[axis] : w.windows[axis],
                               among = places ? w.windows[axis] : w.inside[axis];
            counts[axis] = std::min(all / among + 2, all);
        } else {
            counts[axis] =
                places ? w.size[axis]
                       : std::min((w.size[axis] - 1) * w.dilation[axis] / w.step[axis] + 1, w.windows[axis]);
        }
    }
    return counts;
}

/// Calls run(first, end) for ranges of the loops over three axes that are short enough for one launch, in the
/// order of the loops.
template <class F>
void for_each_step(const Windows::Axes& counts, F&& run) {
    constexpr std::int64_t most = most_iterations / 3; // three nested loops share the limit
    const auto share = [](std::int64_t count, std::int64_t of) {
        return std::clamp<std::int64_t>(of, 1, count);
    };
    const std::int64_t x = share(counts[0], most);
    const std::int64_t y = x < counts[0] ? 1 : share(counts[1], most / x);
    const std::int64_t z = y < counts[1] || x < counts[0] ? 1 : share(counts[2], most / (x * y));
    for (std::int64_t k = 0; k < counts[2]; k += z)
        for (std::int64_t j = 0; j < counts[1]; j += y)
            for (std::int64_t i = 0; i < counts[0]; i += x)
                run(Windows::Axes{i, j, k}, Windows::Axes{i + x, j + y, k + z});
}

bool is_one_step(const Windows::Axes& counts) {
    int steps = 0;
    for_each_step(counts, [&](const auto&, const auto&) { ++steps; });
    return steps == 1;
}

/// Several launches accumulate in the result; for 16-bit dtypes, this needs float32.
bool sums_in_float32(WindowKernel kernel, at::ScalarType dtype) {
    return kernel != WindowKernel::maximum && (dtype == at::kHalf || dtype == at::kBFloat16);
}

void launch_step(WindowKernel kernel, const kernels::PoolingParameters& p, at::ScalarType dtype,
                 c10::Device device, std::span<const Access> accesses,
                 const kernels::PoolingConstants& constants) {
    const Groups groups = linear_groups(p.count, 256);
    const auto run = [&](const auto& single, const auto& twice) {
        launch(device, dtype == at::kDouble ? twice : single, groups, p, accesses, constants);
    };
    switch (kernel) {
    case WindowKernel::maximum:
        return run(kernels::pooling_maximum, kernels::pooling_maximum_float64);
    case WindowKernel::gradient:
        return run(kernels::pooling_gradient, kernels::pooling_gradient_float64);
    case WindowKernel::sum:
        return run(kernels::window_sum, kernels::window_sum_float64);
    case WindowKernel::take:
        return run(kernels::window_take, kernels::window_take_float64);
    }
}

} // namespace

void launch_windows(WindowKernel kernel, const Windows& windows, const WindowOperand& result,
                    const WindowOperand& source, const WindowOperand& indices) {
    const at::Tensor& out = result.tensor;
    if (out.numel() == 0)
        return;
    const auto dtype = source.tensor.scalar_type();
    TORCH_CHECK_NOT_IMPLEMENTED(is_computed(kernel, dtype) && out.scalar_type() == dtype, "windows over ",
                                dtype);
    require_float64(dtype, out.device());
    TORCH_CHECK_NOT_IMPLEMENTED(out.numel() < 0xff000000, "windows of 2^32 elements");
    TORCH_CHECK_NOT_IMPLEMENTED(is_narrow(windows), "windows over 2^31 positions");
    const Windows::Axes counts = longest_walk(kernel, windows);
    const bool in_steps = !is_one_step(counts);
    if (in_steps && sums_in_float32(kernel, dtype)) {
        const at::Tensor sums = at::empty(out.sizes(), out.options().dtype(at::kFloat));
        launch_windows(kernel, windows, {sums, result.roles}, {source.tensor.to(at::kFloat), source.roles},
                       indices);
        out.copy_(sums);
        return;
    }
    kernels::PoolingParameters p{};
    Words words = layout_of(windows, result, source, indices, p.dimensions);
    p.result = address(out);
    p.source = address(source.tensor);
    p.count = static_cast<std::uint32_t>(out.numel());
    c10::SmallVector<Access, 3> accesses{writes(out), reads(source.tensor)};
    if (indices.tensor.defined()) {
        p.indices = address(indices.tensor);
        accesses.push_back(kernel == WindowKernel::maximum ? writes(indices.tensor) : reads(indices.tensor));
    }
    const kernels::PoolingConstants constants{
        .in_steps = in_steps ? 1u : 0u, .dtype = dtype_code(dtype), .adaptive = windows.adaptive ? 1u : 0u};
    for_each_step(counts, [&](const Windows::Axes& first, const Windows::Axes& end) {
        std::ranges::copy(first, words.begin() + first_of_step);
        std::ranges::copy(end, words.begin() + end_of_step);
        const UploadedBlock layout(out.device().index(), std::span<const std::int64_t>(words));
        p.layout = layout.address();
        launch_step(kernel, p, dtype, out.device(), accesses, constants);
    });
}

} // namespace rvk
