/// Max and average pooling, with strided windows and with windows that divide their input (adaptive).

#include "../../dispatch/structured.h"
#include "resample.h"
#include "windows.h"

#include <ATen/native/AdaptivePooling.h>
#include <ATen/native/Pool.h>
#include <ATen/ops/adaptive_max_pool2d_backward_meta.h>
#include <ATen/ops/adaptive_max_pool2d_meta.h>
#include <ATen/ops/adaptive_max_pool3d_backward_meta.h>
#include <ATen/ops/adaptive_max_pool3d_meta.h>
#include <ATen/ops/avg_pool2d_backward_meta.h>
#include <ATen/ops/avg_pool2d_meta.h>
#include <ATen/ops/avg_pool3d_backward_meta.h>
#include <ATen/ops/avg_pool3d_meta.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/max_pool2d_with_indices_backward_meta.h>
#include <ATen/ops/max_pool2d_with_indices_meta.h>
#include <ATen/ops/zeros.h>

namespace rvk {

namespace {

using Ints = at::IntArrayRef;

std::int64_t size_from_last(const at::Tensor& tensor, std::size_t axis) {
    return tensor.size(tensor.dim() - 1 - static_cast<std::int64_t>(axis));
}
Windows::Axes sizes_of(const at::Tensor& tensor, std::size_t axes) {
    Windows::Axes sizes{1, 1, 1};
    for (std::size_t axis = 0; axis < axes; ++axis)
        sizes[axis] = size_from_last(tensor, axis);
    return sizes;
}

Windows stepping(const at::Tensor& inside, const at::Tensor& pooled, std::size_t axes, Ints kernel,
                 Ints stride, Ints padding, Ints dilation) {
    Windows w;
    w.inside = sizes_of(inside, axes);
    w.windows = sizes_of(pooled, axes);
    w.size = axes_of(kernel, axes, 1);
    w.step = axes_of(stride.empty() ? kernel : stride, axes, 1);
    w.padding = axes_of(padding, axes, 0);
    w.dilation = axes_of(dilation, axes, 1);
    return w;
}
Windows dividing(const at::Tensor& inside, const at::Tensor& pooled, std::size_t axes) {
    Windows w;
    w.inside = sizes_of(inside, axes);
    w.windows = sizes_of(pooled, axes);
    w.adaptive = true;
    return w;
}

// --- max pooling

void maximum(const Windows& w, std::size_t axes, const at::Tensor& self, const at::Tensor& out,
             const at::Tensor& indices) {
    const auto roles = image_roles(self.dim(), axes);
    launch_windows(WindowKernel::maximum, w, {out, roles}, {self, roles}, {indices, roles});
}
void maximum_backward(const Windows& w, std::size_t axes, const at::Tensor& grad_output,
                      const at::Tensor& indices, const at::Tensor& grad_input) {
    const auto roles = image_roles(grad_input.dim(), axes);
    launch_windows(WindowKernel::gradient, w, {grad_input, roles}, {grad_output, roles}, {indices, roles});
}

struct MaxPool2d : at::meta::structured_max_pool2d_with_indices {
    void impl(const at::Tensor& self, Ints kernel, Ints stride, Ints padding, Ints dilation, bool,
              const at::Tensor& out, const at::Tensor& indices) {
        maximum(stepping(self, out, 2, kernel, stride, padding, dilation), 2, self, out, indices);
    }
};
struct MaxPool2dBackward : at::meta::structured_max_pool2d_with_indices_backward {
    void impl(const at::Tensor& grad_output, const at::Tensor& self, Ints kernel, Ints stride, Ints padding,
              Ints dilation, bool, const at::Tensor& indices, const at::Tensor& grad_input) {
        maximum_backward(stepping(self, grad_output, 2, kernel, stride, padding, dilation), 2, grad_output,
                         indices, grad_input);
    }
};
template <class Meta, std::size_t axes>
struct AdaptiveMaxPool : Meta {
    void impl(const at::Tensor& self, Ints, const at::Tensor& out, const at::Tensor& indices) {
        TORCH_CHECK_NOT_IMPLEMENTED(at::isFloatingType(self.scalar_type()), "adaptive pooling of ",
                                    self.scalar_type());
        maximum(dividing(self, out, axes), axes, self, out, indices);
    }
};
template <class Meta, std::size_t axes>
struct AdaptiveMaxPoolBackward : Meta {
    void impl(const at::Tensor& grad_output, const at::Tensor& self, const at::Tensor& indices,
              const at::Tensor& grad_input) {
        maximum_backward(dividing(self, grad_output, axes), axes, grad_output, indices, grad_input);
    }
};

at::MemoryFormat format_of(const at::Tensor& self) {
    return self.dim() == 5 && self.is_contiguous(at::MemoryFormat::ChannelsLast3d)
               ? at::MemoryFormat::ChannelsLast3d
               : at::MemoryFormat::Contiguous;
}
/// Resizes a result, and gives it the input's memory format if it has five dimensions.
void resize_like_input(at::Tensor& out, Ints sizes, const at::Tensor& self) {
    if (at::native::resize_output(out, sizes) && sizes.size() == 5)
        out.unsafeGetTensorImpl()->empty_tensor_restride(format_of(self));
}

/// Sizes of the result of max_pool3d, checked as PyTorch does.
std::vector<std::int64_t> pooled_sizes(const at::Tensor& self, Ints kernel, Ints stride, Ints padding,
                                       Ints dilation, bool ceil_mode) {
    const auto one_or_three = [](Ints numbers) { return numbers.size() == 1 || numbers.size() == 3; };
    TORCH_CHECK(one_or_three(kernel),
                "max_pool3d: kernel_size must either be a single int, or a tuple of three ints");
    TORCH_CHECK(stride.empty() || one_or_three(stride),
                "max_pool3d: stride must either be omitted, a single int, or a tuple of three ints");
    TORCH_CHECK(one_or_three(padding),
                "max_pool3d: padding must either be a single int, or a tuple of three ints");
    TORCH_CHECK(one_or_three(dilation),
                "max_pool3d: dilation must be either a single int, or a tuple of three ints");
    const auto k = axes_of(kernel, 3, 1), s = axes_of(stride.empty() ? kernel : stride, 3, 1),
               p = axes_of(padding, 3, 0), d = axes_of(dilation, 3, 1);
    TORCH_CHECK(self.dim() == 4 || self.dim() == 5,
                "max_pool3d: Expected 4D or 5D tensor for input, but got: ", self.sizes());
    Windows::Axes out{};
    for (std::size_t axis = 0; axis < 3; ++axis)
        out[axis] = at::native::pooling_output_shape<std::int64_t>(size_from_last(self, axis), k[axis],
                                                                   p[axis], s[axis], d[axis], ceil_mode);
    at::native::pool3d_shape_check(self, self.size(-4), static_cast<int>(k[2]), static_cast<int>(k[1]),
                                   static_cast<int>(k[0]), static_cast<int>(s[2]), static_cast<int>(s[1]),
                                   static_cast<int>(s[0]), static_cast<int>(p[2]), static_cast<int>(p[1]),
                                   static_cast<int>(p[0]), static_cast<int>(d[2]), static_cast<int>(d[1]),
                                   static_cast<int>(d[0]), self.size(-3), self.size(-2), self.size(-1),
                                   out[2], out[1], out[0], "max_pool3d_with_indices()");
    auto sizes = self.sizes().vec();
    for (std::size_t axis = 0; axis < 3; ++axis)
        sizes[sizes.size() - 1 - axis] = out[axis];
    return sizes;
}
std::tuple<at::Tensor&, at::Tensor&> max_pool3d_out(const at::Tensor& self, Ints kernel, Ints stride,
                                                    Ints padding, Ints dilation, bool ceil_mode,
                                                    at::Tensor& out, at::Tensor& indices) {
    const auto sizes = pooled_sizes(self, kernel, stride, padding, dilation, ceil_mode);
    resize_like_input(out, sizes, self);
    resize_like_input(indices, sizes, self);
    maximum(stepping(self, out, 3, kernel, stride, padding, dilation), 3, self, out, indices);
    return {out, indices};
}
std::tuple<at::Tensor, at::Tensor> max_pool3d(const at::Tensor& self, Ints kernel, Ints stride, Ints padding,
                                              Ints dilation, bool ceil_mode) {
    at::Tensor out = at::empty({0}, self.options()),
               indices = at::empty({0}, self.options().dtype(at::kLong));
    max_pool3d_out(self, kernel, stride, padding, dilation, ceil_mode, out, indices);
    return {out, indices};
}
at::Tensor& max_pool3d_backward_out(const at::Tensor& grad_output, const at::Tensor& self, Ints kernel,
                                    Ints stride, Ints padding, Ints dilation, bool ceil_mode,
                                    const at::Tensor& indices, at::Tensor& grad_input) {
    const auto sizes = pooled_sizes(self, kernel, stride, padding, dilation, ceil_mode);
    TORCH_CHECK(grad_output.sizes() == Ints(sizes) && indices.sizes() == Ints(sizes),
                "max_pool3d_with_indices_backward: expected gradients and indices with the sizes ",
                Ints(sizes));
    resize_like_input(grad_input, self.sizes(), self);
    maximum_backward(stepping(self, grad_output, 3, kernel, stride, padding, dilation), 3, grad_output,
                     indices, grad_input);
    return grad_input;
}
at::Tensor max_pool3d_backward(const at::Tensor& grad_output, const at::Tensor& self, Ints kernel,
                               Ints stride, Ints padding, Ints dilation, bool ceil_mode,
                               const at::Tensor& indices) {
    at::Tensor grad_input = at::empty({0}, self.options());
    return max_pool3d_backward_out(grad_output, self, kernel, stride, padding, dilation, ceil_mode, indices,
                                   grad_input);
}

// --- max unpooling

at::Tensor& unpool_out(const at::Tensor& self, const at::Tensor& indices, Ints output_size, at::Tensor& out) {
    const auto axes = static_cast<std::int64_t>(output_size.size());
    TORCH_CHECK_NOT_IMPLEMENTED(at::isFloatingType(self.scalar_type()), "max_unpool of ", self.scalar_type());
    TORCH_CHECK(indices.scalar_type() == at::kLong,
                "elements in indices should be type int64 but got: ", indices.scalar_type());
    TORCH_CHECK(self.dim() == axes + 1 || self.dim() == axes + 2, "Input to max_unpooling should be a ",
                axes + 1, "d or ", axes + 2, "d Tensor, but got a tensor with ", self.dim(), " dimensions.");
    TORCH_CHECK(self.sizes() == indices.sizes(),
                "Expected shape of indices to be same as that of the input tensor (", self.sizes(),
                ") but got indices tensor with shape: ", indices.sizes());
    auto sizes = self.sizes().vec();
    std::copy(output_size.begin(), output_size.end(), sizes.end() - axes);
    const std::int64_t images =
        c10::multiply_integers(self.sizes().slice(0, static_cast<std::size_t>(self.dim() - axes)));
    const std::int64_t places = c10::multiply_integers(output_size);
    const at::Tensor flat = at::zeros({images, places}, self.options());
    if (self.numel() != 0)
        flat.scatter_(1, indices.contiguous().view({images, -1}), self.contiguous().view({images, -1}));
    // Only max_unpool2d keeps channels_last.
    if (at::native::resize_output(out, sizes) && self.dim() == 4 && axes == 2)
        out.unsafeGetTensorImpl()->empty_tensor_restride(self.suggest_memory_format());
    if (out.numel() != 0)
        out.copy_(flat.view(sizes));
    return out;
}
at::Tensor max_unpool2d(const at::Tensor& self, const at::Tensor& indices, Ints output_size) {
    TORCH_CHECK(output_size.size() == 2,
                "There should be exactly two elements (height, width) in output_size, but got ",
                output_size.size(), " elements.");
    at::Tensor out = at::empty({0}, self.options());
    return unpool_out(self, indices, output_size, out);
}
at::Tensor& max_unpool2d_out(const at::Tensor& self, const at::Tensor& indices, Ints output_size,
                             at::Tensor& out) {
    return unpool_out(self, indices, output_size, out);
}
at::Tensor& max_unpool3d_out(const at::Tensor& self, const at::Tensor& indices, Ints output_size, Ints stride,
                             Ints padding, at::Tensor& out) {
    TORCH_CHECK(output_size.size() == 3 && stride.size() == 3 && padding.size() == 3,
                "max_unpool3d: output_size, stride and padding must have three elements each");
    TORCH_CHECK(stride[0] > 0 && stride[1] > 0 && stride[2] > 0,
                "strides should be greater than zero, but got stride: ", stride);
    return unpool_out(self, indices, output_size, out);
}
at::Tensor max_unpool3d(const at::Tensor& self, const at::Tensor& indices, Ints output_size, Ints stride,
                        Ints padding) {
    at::Tensor out = at::empty({0}, self.options());
    return max_unpool3d_out(self, indices, output_size, stride, padding, out);
}

// --- average pooling

/// The tables of all axes, last axis last. The divisor, if given, replaces the number of elements.
std::vector<AxisTable> average_tables(const Windows& w, std::size_t axes, bool count_padding,
                                      std::optional<std::int64_t> divisor) {
    std::vector<AxisTable> tables;
    for (std::size_t axis = axes; axis-- > 0;) {
        AxisTable table;
        for (std::int64_t i = 0; i < w.windows[axis]; ++i) {
            std::int64_t begin = i * w.step[axis] - w.padding[axis];
            std::int64_t end = std::min(begin + w.size[axis], w.inside[axis] + w.padding[axis]);
            const std::int64_t with_padding = end - begin;
            begin = std::max<std::int64_t>(begin, 0);
            end = std::min(end, w.inside[axis]);
            const std::int64_t places = count_padding ? with_padding : end - begin;
            table.begin_place();
            for (std::int64_t place = begin; place < end; ++place)
                table.add(place, divisor ? 1.0 : 1.0 / static_cast<double>(places));
        }
        tables.push_back(std::move(table));
    }
    if (divisor)
        tables.back().scale(1.0 / static_cast<double>(*divisor));
    return tables;
}
std::vector<AxisTable> adaptive_tables(const at::Tensor& inside, const at::Tensor& pooled, std::size_t axes) {
    std::vector<AxisTable> tables;
    for (std::size_t axis = axes; axis-- > 0;) {
        const std::int64_t from = size_from_last(inside, axis), to = size_from_last(pooled, axis);
        AxisTable table;
        for (std::int64_t i = 0; i < to; ++i) {
            const std::int64_t begin = at::native::start_index(i, to, from),
                               end = at::native::end_index(i, to, from);
            table.begin_place();
            for (std::int64_t place = begin; place < end; ++place)
                table.add(place, 1.0 / static_cast<double>(end - begin));
        }
        tables.push_back(std::move(table));
    }
    return tables;
}
std::vector<AxisTable> transposed(const std::vector<AxisTable>& tables, const at::Tensor& inside) {
    std::vector<AxisTable> result;
    for (std::size_t k = 0; k < tables.size(); ++k)
        result.push_back(tables[k].transposed(size_from_last(inside, tables.size() - 1 - k)));
    return result;
}

template <class Meta, std::size_t axes>
struct AveragePool : Meta {
    void impl(const at::Tensor& self, Ints kernel, Ints stride, Ints padding, bool, bool count_padding,
              std::optional<std::int64_t> divisor, const at::Tensor& out) {
        resample(out, self,
                 average_tables(stepping(self, out, axes, kernel, stride, padding, {1}), axes, count_padding,
                                divisor));
    }
};
template <class Meta, std::size_t axes>
struct AveragePoolBackward : Meta {
    void impl(const at::Tensor& grad_output, const at::Tensor& self, Ints kernel, Ints stride, Ints padding,
              bool, bool count_padding, std::optional<std::int64_t> divisor, const at::Tensor& grad_input) {
        const Windows w = stepping(self, grad_output, axes, kernel, stride, padding, {1});
        resample(grad_input, grad_output,
                 transposed(average_tables(w, axes, count_padding, divisor), grad_input));
    }
};

template <std::size_t axes>
at::Tensor& adaptive_average_out(const at::Tensor& self, Ints output_size, at::Tensor& out) {
    constexpr auto n = static_cast<std::int64_t>(axes);
    TORCH_CHECK(output_size.size() == axes, "adaptive_avg_pool", axes, "d: output_size must be ", axes);
    TORCH_CHECK(self.dim() == n + 1 || self.dim() == n + 2, "adaptive_avg_pool", axes, "d(): Expected ",
                n + 1, "D or ", n + 2, "D tensor, but got ", self.sizes());
    for (std::int64_t d = self.dim() == n + 2 ? 1 : 0; d < self.dim(); ++d)
        TORCH_CHECK(self.size(d) > 0 || d < self.dim() - n, "adaptive_avg_pool", axes,
                    "d(): Expected input to have ",
                    "non-zero size for non-batch dimensions, but input has sizes ", self.sizes());
    auto sizes = self.sizes().vec();
    std::copy(output_size.begin(), output_size.end(), sizes.end() - n);
    if (at::native::resize_output(out, sizes) && self.dim() == 4 && axes == 2)
        out.unsafeGetTensorImpl()->empty_tensor_restride(self.suggest_memory_format());
    resample(out, self, adaptive_tables(self, out, axes));
    return out;
}
template <std::size_t axes>
at::Tensor adaptive_average(const at::Tensor& self, Ints output_size) {
    at::Tensor out = at::empty({0}, self.options());
    return adaptive_average_out<axes>(self, output_size, out);
}
template <std::size_t axes>
at::Tensor& adaptive_average_backward_out(const at::Tensor& grad_output, const at::Tensor& self,
                                          at::Tensor& grad_input) {
    at::native::adaptive_pool_empty_output_check(grad_output, "adaptive_avg_pool_backward");
    TORCH_CHECK(grad_output.dim() == self.dim(), "adaptive_avg_pool_backward(): Expected dimensions ",
                self.dim(), " for `grad_output` but got dimensions ", grad_output.dim());
    if (at::native::resize_output(grad_input, self.sizes()) && self.dim() == 4 && axes == 2)
        grad_input.unsafeGetTensorImpl()->empty_tensor_restride(self.suggest_memory_format());
    resample(grad_input, grad_output, transposed(adaptive_tables(self, grad_output, axes), grad_input));
    return grad_input;
}
template <std::size_t axes>
at::Tensor adaptive_average_backward(const at::Tensor& grad_output, const at::Tensor& self) {
    at::Tensor grad_input = at::empty({0}, self.options());
    return adaptive_average_backward_out<axes>(grad_output, self, grad_input);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
    register_structured<MaxPool2d, 2>(m, "max_pool2d_with_indices", "max_pool2d_with_indices.out");
    register_structured<MaxPool2dBackward>(m, "max_pool2d_with_indices_backward",
                                           "max_pool2d_with_indices_backward.grad_input");
    register_structured<AdaptiveMaxPool<at::meta::structured_adaptive_max_pool2d, 2>, 2>(
        m, "adaptive_max_pool2d", "adaptive_max_pool2d.out");
    register_structured<AdaptiveMaxPool<at::meta::structured_adaptive_max_pool3d, 3>, 2>(
        m, "adaptive_max_pool3d", "adaptive_max_pool3d.out");
    register_structured<AdaptiveMaxPoolBackward<at::meta::structured_adaptive_max_pool2d_backward, 2>>(
        m, "adaptive_max_pool2d_backward", "adaptive_max_pool2d_backward.grad_input");
    register_structured<AdaptiveMaxPoolBackward<at::meta::structured_adaptive_max_pool3d_backward, 3>>(
        m, "adaptive_max_pool3d_backward", "adaptive_max_pool3d_backward.grad_input");
    register_operator(m, "max_pool3d_with_indices", &max_pool3d);
    register_operator(m, "max_pool3d_with_indices.out", &max_pool3d_out);
    register_operator(m, "max_pool3d_with_indices_backward", &max_pool3d_backward);
    register_operator(m, "max_pool3d_with_indices_backward.grad_input", &max_pool3d_backward_out);
    register_operator(m, "max_unpool2d", &max_unpool2d);
    register_operator(m, "max_unpool2d.out", &max_unpool2d_out);
    register_operator(m, "max_unpool3d", &max_unpool3d);
    register_operator(m, "max_unpool3d.out", &max_unpool3d_out);
    register_structured<AveragePool<at::meta::structured_avg_pool2d, 2>>(m, "avg_pool2d", "avg_pool2d.out");
    register_structured<AveragePool<at::meta::structured_avg_pool3d, 3>>(m, "avg_pool3d", "avg_pool3d.out");
    register_structured<AveragePoolBackward<at::meta::structured_avg_pool2d_backward, 2>>(
        m, "avg_pool2d_backward", "avg_pool2d_backward.grad_input");
    register_structured<AveragePoolBackward<at::meta::structured_avg_pool3d_backward, 3>>(
        m, "avg_pool3d_backward", "avg_pool3d_backward.grad_input");
    register_operator(m, "_adaptive_avg_pool2d", &adaptive_average<2>);
    register_operator(m, "adaptive_avg_pool2d.out", &adaptive_average_out<2>);
    register_operator(m, "_adaptive_avg_pool2d_backward", &adaptive_average_backward<2>);
    register_operator(m, "_adaptive_avg_pool3d", &adaptive_average<3>);
    register_operator(m, "adaptive_avg_pool3d.out", &adaptive_average_out<3>);
    register_operator(m, "_adaptive_avg_pool3d_backward", &adaptive_average_backward<3>);
    register_operator(m, "adaptive_avg_pool3d_backward.grad_input", &adaptive_average_backward_out<3>);
}

} // namespace

} // namespace rvk
