/// Interpolation: nearest-neighbor modes move elements, all others are weighted sums. The tables follow
/// PyTorch's ATen/native/UpSample.h, in the precision that the CPU uses for them.

#include "../../dispatch/structured.h"
#include "../shape/movement.h"
#include "resample.h"

#include <ATen/native/UpSample.h>
#include <ATen/ops/_upsample_bicubic2d_aa_backward_meta.h>
#include <ATen/ops/_upsample_bicubic2d_aa_meta.h>
#include <ATen/ops/_upsample_bilinear2d_aa_backward_meta.h>
#include <ATen/ops/_upsample_bilinear2d_aa_meta.h>
#include <ATen/ops/_upsample_nearest_exact1d_backward_meta.h>
#include <ATen/ops/_upsample_nearest_exact1d_meta.h>
#include <ATen/ops/_upsample_nearest_exact2d_backward_meta.h>
#include <ATen/ops/_upsample_nearest_exact2d_meta.h>
#include <ATen/ops/_upsample_nearest_exact3d_backward_meta.h>
#include <ATen/ops/_upsample_nearest_exact3d_meta.h>
#include <ATen/ops/upsample_bicubic2d_backward_meta.h>
#include <ATen/ops/upsample_bicubic2d_meta.h>
#include <ATen/ops/upsample_bilinear2d_backward_meta.h>
#include <ATen/ops/upsample_bilinear2d_meta.h>
#include <ATen/ops/upsample_linear1d_backward_meta.h>
#include <ATen/ops/upsample_linear1d_meta.h>
#include <ATen/ops/upsample_nearest1d_backward_meta.h>
#include <ATen/ops/upsample_nearest1d_meta.h>
#include <ATen/ops/upsample_nearest2d_backward_meta.h>
#include <ATen/ops/upsample_nearest2d_meta.h>
#include <ATen/ops/upsample_nearest3d_backward_meta.h>
#include <ATen/ops/upsample_nearest3d_meta.h>
#include <ATen/ops/upsample_trilinear3d_backward_meta.h>
#include <ATen/ops/upsample_trilinear3d_meta.h>
#include <cmath>

namespace rvk {

namespace {

using Scale = std::optional<double>;
enum class Interpolation { nearest, nearest_exact, linear, cubic, linear_smooth, cubic_smooth };

/// One axis of an interpolation.
struct Axis {
    std::int64_t from, to;
    bool align_corners;
    Scale scale;
};

template <class T>
AxisTable linear_table(const Axis& axis) {
    if (axis.from == axis.to)
        return AxisTable::identity(axis.to);
    const T ratio =
        at::native::area_pixel_compute_scale<T>(axis.from, axis.to, axis.align_corners, axis.scale);
    AxisTable table;
    for (std::int64_t i = 0; i < axis.to; ++i) {
        const T real = at::native::area_pixel_compute_source_index<T>(ratio, i, axis.align_corners, false);
        std::int64_t first = 0;
        T second_weight = 0;
        at::native::guard_index_and_lambda(real, axis.from, first, second_weight);
        table.begin_place();
        table.add(first, T(1) - second_weight);
        if (second_weight != 0)
            table.add(std::min(first + 1, axis.from - 1), second_weight);
    }
    return table;
}

template <class T>
AxisTable cubic_table(const Axis& axis) {
    const T ratio =
        at::native::area_pixel_compute_scale<T>(axis.from, axis.to, axis.align_corners, axis.scale);
    AxisTable table;
    for (std::int64_t i = 0; i < axis.to; ++i) {
        const T real = at::native::area_pixel_compute_source_index<T>(ratio, i, axis.align_corners, true);
        std::int64_t middle = 0;
        T along = 0;
        at::native::guard_index_and_lambda(real, axis.from, middle, along);
        T weights[4];
        at::native::get_cubic_upsample_coefficients<T>(weights, along);
        table.begin_place();
        for (std::int64_t k = 0; k < 4; ++k)
            table.add(std::clamp<std::int64_t>(middle - 1 + k, 0, axis.from - 1), weights[k]);
    }
    return table;
}

template <class T>
T smooth_filter(T x, bool cubic) {
    x = std::abs(x);
    if (!cubic)
        return x < 1 ? 1 - x : T(0);
    const T a = T(-0.5);
    if (x < 1)
        return at::native::cubic_convolution1<T>(x, a);
    return x < 2 ? at::native::cubic_convolution2<T>(x, a) : T(0);
}

/// Antialiased: if the image shrinks, the filter widens with the scale.
template <class T>
AxisTable smooth_table(const Axis& axis, bool cubic) {
    const T scale =
        at::native::area_pixel_compute_scale<T>(axis.from, axis.to, axis.align_corners, axis.scale);
    const T half = cubic ? T(2) : T(1);
    const T support = scale >= 1 ? half * scale : half;
    const T inverse = scale >= 1 ? 1 / scale : T(1);
    AxisTable table;
    for (std::int64_t i = 0; i < axis.to; ++i) {
        const T center = scale * (static_cast<T>(i) + T(0.5));
        const auto first = std::max<std::int64_t>(static_cast<std::int64_t>(center - support + T(0.5)), 0);
        const auto end =
            std::min<std::int64_t>(static_cast<std::int64_t>(center + support + T(0.5)), axis.from);
        std::vector<T> weights;
        T sum = 0;
        for (std::int64_t place = first; place < end; ++place) {
            weights.push_back(smooth_filter<T>((static_cast<T>(place) - center + T(0.5)) * inverse, cubic));
            sum += weights.back();
        }
        table.begin_place();
        for (std::size_t k = 0; k < weights.size(); ++k)
            table.add(first + static_cast<std::int64_t>(k), sum != 0 ? weights[k] / sum : weights[k]);
    }
    return table;
}

std::int64_t nearest_place(const Axis& axis, std::int64_t i, bool exact) {
    return exact ? at::native::nearest_exact_idx(i, axis.from, axis.to, axis.scale)
                 : at::native::nearest_idx(i, axis.from, axis.to, axis.scale);
}

template <class T>
AxisTable table_of(Interpolation kind, const Axis& axis) {
    switch (kind) {
    case Interpolation::linear:
        return linear_table<T>(axis);
    case Interpolation::cubic:
        return cubic_table<T>(axis);
    case Interpolation::linear_smooth:
        return smooth_table<T>(axis, false);
    case Interpolation::cubic_smooth:
        return smooth_table<T>(axis, true);
    default:
        return AxisTable::of_places(axis.to, [&](std::int64_t i) {
            return nearest_place(axis, i, kind == Interpolation::nearest_exact);
        });
    }
}
AxisTable table_of(Interpolation kind, const Axis& axis, at::ScalarType dtype) {
    return dtype == at::kDouble ? table_of<double>(kind, axis) : table_of<float>(kind, axis);
}

void interpolate(Interpolation kind, const at::Tensor& self, const at::Tensor& out, bool align_corners,
                 std::initializer_list<Scale> scales) {
    const auto dtype = self.scalar_type();
    TORCH_CHECK_NOT_IMPLEMENTED(at::isFloatingType(dtype) || dtype == at::kByte, "interpolation of ", dtype);
    const std::int64_t leading = self.dim() - static_cast<std::int64_t>(scales.size());
    std::vector<Axis> axes;
    for (const Scale& scale : scales) {
        const std::int64_t d = leading + static_cast<std::int64_t>(axes.size());
        axes.push_back({self.size(d), out.size(d), align_corners, scale});
    }
    if (kind != Interpolation::nearest && kind != Interpolation::nearest_exact) {
        std::vector<AxisTable> tables;
        for (const Axis& axis : axes)
            tables.push_back(table_of(kind, axis, out.scalar_type()));
        resample(out, self, tables);
        return;
    }
    std::vector<MovementRule> rules(static_cast<std::size_t>(self.dim()));
    for (std::size_t k = 0; k < axes.size(); ++k) {
        MovementRule& rule = rules[static_cast<std::size_t>(leading) + k];
        rule.kind = MovementRule::table;
        for (std::int64_t i = 0; i < axes[k].to; ++i)
            rule.places.push_back(
                static_cast<std::uint32_t>(nearest_place(axes[k], i, kind == Interpolation::nearest_exact)));
    }
    move_elements(out, self, rules);
}

void interpolate_backward(Interpolation kind, const at::Tensor& grad_output, const at::Tensor& grad_input,
                          bool align_corners, std::initializer_list<Scale> scales) {
    std::vector<AxisTable> tables;
    const std::int64_t leading = grad_input.dim() - static_cast<std::int64_t>(scales.size());
    for (const Scale& scale : scales) {
        const std::int64_t d = leading + static_cast<std::int64_t>(tables.size());
        const Axis axis{grad_input.size(d), grad_output.size(d), align_corners, scale};
        tables.push_back(table_of(kind, axis, grad_input.scalar_type()).transposed(axis.from));
    }
    resample(grad_input, grad_output, tables);
}

using Sizes = at::ArrayRef<std::int64_t>;

/// The signatures of PyTorch's interpolations: with or without align_corners, in one to three dimensions.
template <class Meta, Interpolation kind>
struct Upsample : Meta {
    using T = const at::Tensor&;
    void impl(T self, Sizes, Scale w, T out) { interpolate(kind, self, out, false, {w}); }
    void impl(T self, Sizes, Scale h, Scale w, T out) { interpolate(kind, self, out, false, {h, w}); }
    void impl(T self, Sizes, Scale d, Scale h, Scale w, T out) {
        interpolate(kind, self, out, false, {d, h, w});
    }
    void impl(T self, Sizes, bool align, Scale w, T out) { interpolate(kind, self, out, align, {w}); }
    void impl(T self, Sizes, bool align, Scale h, Scale w, T out) {
        interpolate(kind, self, out, align, {h, w});
    }
    void impl(T self, Sizes, bool align, Scale d, Scale h, Scale w, T out) {
        interpolate(kind, self, out, align, {d, h, w});
    }
};
template <class Meta, Interpolation kind>
struct UpsampleBackward : Meta {
    using T = const at::Tensor&;
    void impl(T grad, Sizes, Sizes, Scale w, T out) { interpolate_backward(kind, grad, out, false, {w}); }
    void impl(T grad, Sizes, Sizes, Scale h, Scale w, T out) {
        interpolate_backward(kind, grad, out, false, {h, w});
    }
    void impl(T grad, Sizes, Sizes, Scale d, Scale h, Scale w, T out) {
        interpolate_backward(kind, grad, out, false, {d, h, w});
    }
    void impl(T grad, Sizes, Sizes, bool align, Scale w, T out) {
        interpolate_backward(kind, grad, out, align, {w});
    }
    void impl(T grad, Sizes, Sizes, bool align, Scale h, Scale w, T out) {
        interpolate_backward(kind, grad, out, align, {h, w});
    }
    void impl(T grad, Sizes, Sizes, bool align, Scale d, Scale h, Scale w, T out) {
        interpolate_backward(kind, grad, out, align, {d, h, w});
    }
};

#define RVK_UPSAMPLE(name, kind)                                                                             \
    register_structured<Upsample<at::meta::structured_##name, Interpolation::kind>>(m, #name, #name ".out"); \
    register_structured<UpsampleBackward<at::meta::structured_##name##_backward, Interpolation::kind>>(      \
        m, #name "_backward", #name "_backward.grad_input")

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
    RVK_UPSAMPLE(upsample_nearest1d, nearest);
    RVK_UPSAMPLE(upsample_nearest2d, nearest);
    RVK_UPSAMPLE(upsample_nearest3d, nearest);
    RVK_UPSAMPLE(_upsample_nearest_exact1d, nearest_exact);
    RVK_UPSAMPLE(_upsample_nearest_exact2d, nearest_exact);
    RVK_UPSAMPLE(_upsample_nearest_exact3d, nearest_exact);
    RVK_UPSAMPLE(upsample_linear1d, linear);
    RVK_UPSAMPLE(upsample_bilinear2d, linear);
    RVK_UPSAMPLE(upsample_trilinear3d, linear);
    RVK_UPSAMPLE(upsample_bicubic2d, cubic);
    RVK_UPSAMPLE(_upsample_bilinear2d_aa, linear_smooth);
    RVK_UPSAMPLE(_upsample_bicubic2d_aa, cubic_smooth);
}

#undef RVK_UPSAMPLE

} // namespace

} // namespace rvk
