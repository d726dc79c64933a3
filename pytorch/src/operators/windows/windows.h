#pragma once
/// Windows that move over the last dimensions of a tensor (kernels/windows/pooling.slang).

#include "../../dispatch/launch.h"

#include <ATen/core/Tensor.h>
#include <array>
#include <cstdint>
#include <vector>

namespace rvk {

/// The geometry, by axis: x (the last dimension), y, z. Axes that a tensor lacks have size 1 and one window
/// of size 1.
struct Windows {
    using Axes = std::array<std::int64_t, 3>;
    Axes inside{1, 1, 1};  ///< size of the input that windows move over
    Axes windows{1, 1, 1}; ///< number of windows
    Axes size{1, 1, 1}, step{1, 1, 1}, padding{0, 0, 0}, dilation{1, 1, 1};
    bool adaptive = false; ///< windows divide the input evenly; size, step, padding and dilation are ignored
};

/// From PyTorch's lists, which have the last dimension last. A single number applies to all axes; axes that
/// the tensor lacks get `missing`.
Windows::Axes axes_of(at::IntArrayRef numbers, std::size_t axes, std::int64_t missing);

/// The role of a tensor's dimension in the kernels.
enum class Role : std::int64_t { batch, channel, x, y, z, window_x, window_y, window_z };
/// The roles of (batch,) channel and `axes` spatial dimensions, in the tensor's order.
std::vector<Role> image_roles(std::int64_t dimensions, std::size_t axes);

/// A tensor and the roles of its dimensions.
struct WindowOperand {
    at::Tensor tensor;
    std::vector<Role> roles;
};

enum class WindowKernel { maximum, gradient, sum, take };
/// Runs the kernel for each element of the result. indices: int64, undefined if the kernel uses none. Throws
/// c10::NotImplementedError for unsupported dtypes and for axes of 2^31 positions or more.
void launch_windows(WindowKernel kernel, const Windows& windows, const WindowOperand& result,
                    const WindowOperand& source, const WindowOperand& indices);

} // namespace rvk
