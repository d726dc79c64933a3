/// im2col, col2im, and the gradient of unfold: copies windows out of the input, and sums them back into it.

#include "../../dispatch/structured.h"
#include "windows.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

namespace rvk {

namespace {

using Ints = at::IntArrayRef;

/// The columns (batch, channel · window positions, windows) with a dimension for each axis.
WindowOperand columns_of(const at::Tensor& columns, const Windows& w) {
    const std::int64_t channels = columns.size(1) / (w.size[0] * w.size[1]);
    return {columns.view({columns.size(0), channels, w.size[1], w.size[0], w.windows[1], w.windows[0]}),
            {Role::batch, Role::channel, Role::window_y, Role::window_x, Role::y, Role::x}};
}

Windows geometry(Ints image, Ints kernel, Ints dilation, Ints padding, Ints stride) {
    TORCH_CHECK(kernel.size() == 2, "It is expected kernel_size equals to 2, but got size ", kernel.size());
    TORCH_CHECK(dilation.size() == 2, "It is expected dilation equals to 2, but got size ", dilation.size());
    TORCH_CHECK(padding.size() == 2, "It is expected padding equals to 2, but got size ", padding.size());
    TORCH_CHECK(stride.size() == 2, "It is expected stride equals to 2, but got size ", stride.size());
    Windows w;
    w.inside = axes_of(image, 2, 1);
    w.size = axes_of(kernel, 2, 1);
    w.step = axes_of(stride, 2, 1);
    w.padding = axes_of(padding, 2, 0);
    w.dilation = axes_of(dilation, 2, 1);
    for (std::size_t axis = 0; axis < 2; ++axis) {
        TORCH_CHECK(w.size[axis] > 0, "kernel size should be greater than zero, but got ", kernel);
        TORCH_CHECK(w.step[axis] > 0, "stride should be greater than zero, but got ", stride);
        TORCH_CHECK(w.dilation[axis] > 0, "dilation should be greater than zero, but got ", dilation);
        TORCH_CHECK(w.padding[axis] >= 0, "padding should be non-negative, but got ", padding);
        const std::int64_t reach =
            w.inside[axis] + 2 * w.padding[axis] - w.dilation[axis] * (w.size[axis] - 1) - 1;
        w.windows[axis] = reach >= 0 ? reach / w.step[axis] + 1 : 0;
    }
    TORCH_CHECK(w.windows[0] >= 1 && w.windows[1] >= 1, "Given input with spatial size ", image,
                ", kernel_size=", kernel, ", dilation=", dilation, ", padding=", padding, ", stride=", stride,
                ", calculated shape of the array of sliding blocks as (", w.windows[1], ", ", w.windows[0],
                "), but its components must be at least one.");
    return w;
}

at::Tensor& im2col_out(const at::Tensor& self, Ints kernel, Ints dilation, Ints padding, Ints stride,
                       at::Tensor& out) {
    TORCH_CHECK(self.dim() == 3 || self.dim() == 4,
                "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size ",
                "and other non-zero dimensions for input, but got: ", self.sizes());
    TORCH_CHECK_NOT_IMPLEMENTED(!at::isIntegralType(self.scalar_type(), false), "unfold of ",
                                self.scalar_type()); // as on the CPU and with CUDA
    const at::Tensor images = self.dim() == 4 ? self : self.unsqueeze(0);
    const Windows w = geometry(images.sizes().slice(2), kernel, dilation, padding, stride);
    const std::int64_t rows = images.size(1) * w.size[0] * w.size[1], count = w.windows[0] * w.windows[1];
    const at::Tensor columns = at::empty({images.size(0), rows, count}, self.options());
    if (columns.numel() != 0)
        launch_windows(WindowKernel::take, w, columns_of(columns, w), {images, image_roles(4, 2)}, {});
    const at::Tensor result = self.dim() == 4 ? columns : columns.squeeze(0);
    at::native::resize_output(out, result.sizes());
    out.copy_(result);
    return out;
}
at::Tensor im2col(const at::Tensor& self, Ints kernel, Ints dilation, Ints padding, Ints stride) {
    at::Tensor out = at::empty({0}, self.options());
    return im2col_out(self, kernel, dilation, padding, stride, out);
}

at::Tensor& col2im_out(const at::Tensor& self, Ints output_size, Ints kernel, Ints dilation, Ints padding,
                       Ints stride, at::Tensor& out) {
    TORCH_CHECK(output_size.size() == 2, "It is expected output_size equals to 2, but got size ",
                output_size.size());
    TORCH_CHECK(self.dim() == 2 || self.dim() == 3,
                "Expected 2D or 3D (batch mode) tensor for input with possibly 0 ",
                "batch size and non-zero dimensions for input, but got: ", self.sizes());
    const at::Tensor columns = (self.dim() == 3 ? self : self.unsqueeze(0)).contiguous();
    const Windows w = geometry(output_size, kernel, dilation, padding, stride);
    const std::int64_t places = w.size[0] * w.size[1], count = w.windows[0] * w.windows[1];
    TORCH_CHECK(columns.size(1) % places == 0,
                "Expected size of input's dimension 1 to be divisible by the product of ",
                "kernel_size, but got input.size(1)=", columns.size(1), " and kernel_size=", kernel, ".");
    TORCH_CHECK(columns.size(2) == count, "Given output_size=", output_size, ", kernel_size=", kernel,
                ", dilation=", dilation, ", padding=", padding, ", stride=", stride,
                ", expected size of input's dimension 2 to match the calculated number of sliding blocks ",
                w.windows[1], " * ", w.windows[0], " = ", count, ", but got input.size(2)=", columns.size(2),
                ".");
    const std::int64_t channels = columns.size(1) / places;
    std::vector<std::int64_t> sizes{columns.size(0), channels, output_size[0], output_size[1]};
    const at::Tensor images = at::empty(sizes, self.options());
    if (images.numel() != 0)
        launch_windows(WindowKernel::sum, w, {images, image_roles(4, 2)}, columns_of(columns, w), {});
    const at::Tensor result = self.dim() == 3 ? images : images.squeeze(0);
    at::native::resize_output(out, result.sizes());
    out.copy_(result);
    return out;
}
at::Tensor col2im(const at::Tensor& self, Ints output_size, Ints kernel, Ints dilation, Ints padding,
                  Ints stride) {
    at::Tensor out = at::empty({0}, self.options());
    return col2im_out(self, output_size, kernel, dilation, padding, stride, out);
}

/// grad: expandable to the sizes of unfold's result, whose last dimension is the window.
at::Tensor unfold_backward(const at::Tensor& grad, Ints input_sizes, std::int64_t dim, std::int64_t size,
                           std::int64_t step) {
    const at::Tensor result = at::empty(input_sizes, grad.options());
    if (result.numel() == 0)
        return result;
    const auto rank = static_cast<std::int64_t>(input_sizes.size());
    if (rank == 0) // unfold gave the scalar one dimension of size 1
        return grad.reshape({}).clone();
    const std::int64_t along = dim < 0 ? dim + rank : dim;
    const auto slow = c10::multiply_integers(input_sizes.slice(0, static_cast<std::size_t>(along)));
    const auto fast = c10::multiply_integers(input_sizes.slice(static_cast<std::size_t>(along) + 1));
    Windows w;
    w.inside[0] = input_sizes[static_cast<std::size_t>(along)];
    w.windows[0] = grad.size(along);
    w.size[0] = size;
    w.step[0] = step;
    TORCH_CHECK(grad.dim() == rank + 1 && grad.size(-1) == size, "unfold_backward: expected a gradient of ",
                rank + 1, " dimensions whose last one is the window of size ", size, ", but got sizes ",
                grad.sizes());
    std::vector<std::int64_t> sizes = input_sizes.vec();
    sizes[static_cast<std::size_t>(along)] = w.windows[0];
    sizes.push_back(size);
    const at::Tensor windows = grad.expand(sizes).contiguous().view({slow, w.windows[0], fast, size});
    launch_windows(WindowKernel::sum, w,
                   {result.view({slow, w.inside[0], fast}), {Role::batch, Role::x, Role::channel}},
                   {windows, {Role::batch, Role::x, Role::channel, Role::window_x}}, {});
    return result;
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
    register_operator(m, "im2col", &im2col);
    register_operator(m, "im2col.out", &im2col_out);
    register_operator(m, "col2im", &col2im);
    register_operator(m, "col2im.out", &col2im_out);
    register_operator(m, "unfold_backward", &unfold_backward);
}

} // namespace

} // namespace rvk
