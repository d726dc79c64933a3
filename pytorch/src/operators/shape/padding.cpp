/// Reflection and replication padding. For padding with a constant, PyTorch composes a fill and a copy.

#include "../../compat.h"
#include "../../dispatch/structured.h"
#include "../windows/resample.h"
#include "movement.h"

#include <ATen/native/Padding.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/reflection_pad1d_backward_meta.h>
#include <ATen/ops/reflection_pad1d_meta.h>
#include <ATen/ops/reflection_pad3d_backward_meta.h>
#include <ATen/ops/reflection_pad3d_meta.h>
#include <ATen/ops/replication_pad1d_backward_meta.h>
#include <ATen/ops/replication_pad1d_meta.h>
#include <ATen/ops/replication_pad2d_meta.h>
#include <ATen/ops/replication_pad3d_meta.h>

namespace rvk {

namespace {

using Kind = MovementRule::Kind;

/// padding: the amounts added before and after, last dimension first.
std::int64_t before(at::IntArrayRef padding, std::size_t from_last) {
    return padding[2 * from_last];
}

void pad(Kind kind, const at::Tensor& self, at::IntArrayRef padding, const at::Tensor& out) {
    TORCH_CHECK_NOT_IMPLEMENTED(self.scalar_type() != at::kBool,
                                "padding of bool"); // as on the CPU and with CUDA
    std::vector<MovementRule> rules(static_cast<std::size_t>(self.dim()));
    for (std::size_t k = 0; k < padding.size() / 2; ++k) {
        const auto d = static_cast<std::size_t>(self.dim()) - 1 - k;
        rules[d] = {kind, before(padding, k), self.size(static_cast<std::int64_t>(d))};
    }
    move_elements(out, self, rules);
}

std::int64_t padded_place(Kind kind, std::int64_t x, std::int64_t size) {
    if (kind == Kind::clamp)
        return std::clamp<std::int64_t>(x, 0, size - 1);
    x = std::abs(x);
    return x >= size ? 2 * (size - 1) - x : x;
}

void pad_backward(Kind kind, const at::Tensor& grad_output, at::IntArrayRef padding,
                  const at::Tensor& grad_input) {
    std::vector<AxisTable> tables;
    for (std::size_t k = padding.size() / 2; k-- > 0;) {
        const auto d = grad_input.dim() - 1 - static_cast<std::int64_t>(k);
        const std::int64_t size = grad_input.size(d), first = before(padding, k);
        tables.push_back(AxisTable::of_places(grad_output.size(d), [&](std::int64_t i) {
                             return padded_place(kind, i - first, size);
                         }).transposed(size));
    }
    if (!grad_input.is_complex()) {
        resample(grad_input, grad_output, tables);
        return;
    }
    TORCH_CHECK_NOT_IMPLEMENTED(false, "gradients of complex padding");
}

/// Gives the unwritten result of a structured operator the input's memory format.
void take_format(const at::Tensor& result, const at::Tensor& input) {
    if (input.dim() >= 4)
        result.resize_(result.sizes(), input.suggest_memory_format());
}

template <class Meta, Kind kind>
struct Pad : Meta {
    void impl(const at::Tensor& self, at::ArrayRef<std::int64_t> padding, const at::Tensor& out) {
        take_format(out, self);
        pad(kind, self, padding, out);
    }
};
template <class Meta, Kind kind>
struct PadBackward : Meta {
    void impl(const at::Tensor& grad_output, const at::Tensor& self, at::ArrayRef<std::int64_t> padding,
              const at::Tensor& grad_input) {
        take_format(grad_input, self);
        pad_backward(kind, grad_output, padding, grad_input);
    }
};

// --- operators that are not structured

std::vector<std::int64_t> padded_sizes(const at::Tensor& self, at::IntArrayRef padding) {
    auto sizes = self.sizes().vec();
    for (std::size_t k = 0; k < padding.size() / 2; ++k)
        sizes[sizes.size() - 1 - k] += padding[2 * k] + padding[2 * k + 1];
    return sizes;
}

at::Tensor& reflection_pad2d_out(const at::Tensor& self, at::IntArrayRef padding, at::Tensor& out) {
    RVK_CHECK_PADDED_INPUT(self, padding, 2);
    const auto sizes = padded_sizes(self, padding);
    for (std::size_t k = 0; k < 2; ++k) {
        const std::int64_t size = self.size(self.dim() - 1 - static_cast<std::int64_t>(k));
        TORCH_CHECK(padding[2 * k] < size && padding[2 * k + 1] < size, "Argument #", 4 + 2 * k,
                    ": Padding size should be less than the corresponding input dimension, ",
                    "but got: padding (", padding[2 * k], ", ", padding[2 * k + 1], ") at dimension ",
                    self.dim() - 1 - static_cast<std::int64_t>(k), " of input ", self.sizes());
        TORCH_CHECK(sizes[sizes.size() - 1 - k] >= 1, "input (", self.sizes(),
                    ") is too small for the padding");
    }
    if (at::native::resize_output(out, sizes) && self.dim() == 4)
        out.unsafeGetTensorImpl()->empty_tensor_restride(self.suggest_memory_format());
    pad(Kind::reflect, self, padding, out);
    return out;
}
at::Tensor reflection_pad2d(const at::Tensor& self, at::IntArrayRef padding) {
    at::Tensor out = at::empty({0}, self.options());
    return reflection_pad2d_out(self, padding, out);
}

template <Kind kind>
at::Tensor& pad_backward_out(const at::Tensor& grad_output, const at::Tensor& self, at::IntArrayRef padding,
                             at::Tensor& grad_input) {
    const auto sizes = padded_sizes(self, padding);
    TORCH_CHECK(grad_output.sizes() == at::IntArrayRef(sizes), "grad_output unexpected: expected ",
                at::IntArrayRef(sizes), ", got ", grad_output.sizes());
    if (at::native::resize_output(grad_input, self.sizes()) && self.dim() >= 4)
        grad_input.unsafeGetTensorImpl()->empty_tensor_restride(self.suggest_memory_format());
    if (grad_input.numel() != 0)
        pad_backward(kind, grad_output, padding, grad_input);
    return grad_input;
}
template <Kind kind>
at::Tensor pad_backward_new(const at::Tensor& grad_output, const at::Tensor& self, at::IntArrayRef padding) {
    at::Tensor grad_input = at::empty({0}, self.options());
    return pad_backward_out<kind>(grad_output, self, padding, grad_input);
}

#define RVK_PAD(name, kind)                                                                                  \
    register_structured<Pad<at::meta::structured_##name, Kind::kind>>(m, #name, #name ".out")
#define RVK_PAD_BACKWARD(name, kind)                                                                         \
    register_structured<PadBackward<at::meta::structured_##name, Kind::kind>>(m, #name, #name ".grad_input")

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
    RVK_PAD(reflection_pad1d, reflect);
    RVK_PAD(reflection_pad3d, reflect);
    RVK_PAD(replication_pad1d, clamp);
    RVK_PAD(replication_pad2d, clamp);
    RVK_PAD(replication_pad3d, clamp);
    RVK_PAD_BACKWARD(reflection_pad1d_backward, reflect);
    RVK_PAD_BACKWARD(reflection_pad3d_backward, reflect);
    RVK_PAD_BACKWARD(replication_pad1d_backward, clamp);
    register_operator(m, "reflection_pad2d", &reflection_pad2d);
    register_operator(m, "reflection_pad2d.out", &reflection_pad2d_out);
    register_operator(m, "reflection_pad2d_backward", &pad_backward_new<Kind::reflect>);
    register_operator(m, "reflection_pad2d_backward.grad_input", &pad_backward_out<Kind::reflect>);
    register_operator(m, "replication_pad2d_backward", &pad_backward_new<Kind::clamp>);
    register_operator(m, "replication_pad2d_backward.grad_input", &pad_backward_out<Kind::clamp>);
    register_operator(m, "replication_pad3d_backward", &pad_backward_new<Kind::clamp>);
    register_operator(m, "replication_pad3d_backward.grad_input", &pad_backward_out<Kind::clamp>);
}

#undef RVK_PAD
#undef RVK_PAD_BACKWARD

} // namespace

} // namespace rvk
