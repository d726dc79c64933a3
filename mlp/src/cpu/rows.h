#pragma once
/// Row-wise work: LayerNorm, activation and dropout in one pass, forward and backward.

#include "cpu/functions.h"

namespace rekindle::mlp::cpu::REKINDLE_ISA {

/// All bits set in the first `count` lanes, 1 … 16.
REKINDLE_INLINE Float16 first_lanes(std::size_t count) {
    alignas(64) static constexpr std::uint32_t window[2 * lanes] = {~0u, ~0u, ~0u, ~0u, ~0u, ~0u, ~0u, ~0u,
                                                                    ~0u, ~0u, ~0u, ~0u, ~0u, ~0u, ~0u, ~0u};
    return float_of_bits(load(window + lanes - count));
}
REKINDLE_INLINE std::size_t lanes_in_last(std::size_t width) {
    return (width - 1) % lanes + 1;
}

struct RowTransform {
    const Stage* stage;
    const float* parameters;
    const float* input; ///< [rows][output_stride]
    float* workspace;
    std::size_t rows;
};

/// Writes output_value; in training also derivative, and for a norm normalized and rstd.
template <Function F, bool Norm, bool Drop, bool Training>
void transform_rows(const RowTransform& t) {
    const Stage& s = *t.stage;
    const std::size_t stride = s.output_stride;
    const Float16 tail = first_lanes(lanes_in_last(s.outputs));
    const float inverse_width = 1.0f / static_cast<float>(s.outputs);
    for (std::size_t r = 0; r < t.rows; ++r) {
        const float* in = t.input + r * stride;
        float* out = t.workspace + s.output_value + r * stride;
        Float16 mean = zero(), rstd = zero();
        if constexpr (Norm) {
            Float16 total = zero();
            for (std::size_t j = 0; j < stride; j += lanes)
                total = total + load(in + j);
            mean = broadcast(sum(total) * inverse_width);
            Float16 squares = zero();
            for (std::size_t j = 0; j < stride; j += lanes) {
                Float16 d = load(in + j) - mean;
                if (j + lanes == stride)
                    d = keep_bits(d, tail);
                squares = fma(d, d, squares);
            }
            rstd = broadcast(1.0f) / sqrt(broadcast(sum(squares) * inverse_width + s.epsilon));
            if constexpr (Training)
                t.workspace[s.rstd + r] = first_lane(rstd);
        }
        for (std::size_t j = 0; j < stride; j += lanes) {
            Float16 z = load(in + j);
            if constexpr (Norm) {
                z = (z - mean) * rstd;
                if (j + lanes == stride)
                    z = keep_bits(z, tail);
                if constexpr (Training)
                    store(t.workspace + s.normalized + r * stride + j, z);
                z = fma(z, load(t.parameters + s.weights + j), load(t.parameters + s.bias + j));
            }
            Float16 derivative;
            Float16 value = activate<F>(z, derivative);
            if constexpr (Drop) {
                const Float16 factor = load(t.workspace + s.factors + r * stride + j);
                value = value * factor;
                derivative = derivative * factor;
            }
            store(out + j, value);
            if constexpr (Training && (Drop || (F != Function::identity && F != Function::relu)))
                store(t.workspace + s.derivative + r * stride + j, derivative);
        }
    }
}

template <Function F, bool Norm>
void transform_rows(const RowTransform& t, bool training) {
    if (!training)
        transform_rows<F, Norm, false, false>(t);
    else if (t.stage->dropout.active)
        transform_rows<F, Norm, true, true>(t);
    else
        transform_rows<F, Norm, false, true>(t);
}

template <bool Norm>
void transform_rows(const RowTransform& t, bool training) {
    switch (t.stage->function) {
    case Function::identity:
        return transform_rows<Function::identity, Norm>(t, training);
    case Function::silu:
        return transform_rows<Function::silu, Norm>(t, training);
    case Function::relu:
        return transform_rows<Function::relu, Norm>(t, training);
    case Function::gelu:
        return transform_rows<Function::gelu, Norm>(t, training);
    case Function::tanh:
        return transform_rows<Function::tanh, Norm>(t, training);
    }
}

/// gradient *= the stage's own derivative, if the consumer has not done it.
inline void apply_derivative(const Stage& s, float* workspace, std::size_t rows) {
    float* gradient = workspace + s.output_gradient_at;
    const std::size_t count = rows * s.output_stride;
    if (s.writes_derivative)
        for (std::size_t i = 0; i < count; i += lanes)
            store(gradient + i, load(gradient + i) * load(workspace + s.derivative + i));
    else if (s.function == Function::relu)
        for (std::size_t i = 0; i < count; i += lanes)
            store(gradient + i,
                  select_greater(load(workspace + s.output_value + i), zero(), load(gradient + i), zero()));
}

/// dx = (g - mean(g) - normalized * mean(g * normalized)) * rstd with g = dy * gain.
template <GradientEpilogue Mode>
void norm_input_gradient(const Stage& s, const float* parameters, float* workspace, std::size_t rows) {
    const std::size_t stride = s.output_stride;
    const Float16 tail = first_lanes(lanes_in_last(s.outputs));
    const float inverse_width = 1.0f / static_cast<float>(s.outputs);
    const float* producer = producer_of<Mode>(s, workspace);
    for (std::size_t r = 0; r < rows; ++r) {
        const float* dy = workspace + s.output_gradient_at + r * stride;
        const float* normalized = workspace + s.normalized + r * stride;
        Float16 total = zero(), products = zero();
        for (std::size_t j = 0; j < stride; j += lanes) {
            const Float16 g = load(dy + j) * load(parameters + s.weights + j);
            total = total + g;
            products = fma(g, load(normalized + j), products);
        }
        const Float16 mean = broadcast(sum(total) * inverse_width);
        const Float16 mean_product = broadcast(sum(products) * inverse_width);
        const Float16 rstd = broadcast(workspace[s.rstd + r]);
        for (std::size_t j = 0; j < stride; j += lanes) {
            const Float16 g = load(dy + j) * load(parameters + s.weights + j);
            Float16 dx = ((g - mean) - load(normalized + j) * mean_product) * rstd;
            if (j + lanes == stride)
                dx = keep_bits(dx, tail);
            const std::size_t at = r * stride + j;
            store(workspace + s.input_gradient_at + at, before_activation<Mode>(dx, producer + at));
        }
    }
}

template <bool Accumulate>
void norm_parameter_gradients(const Stage& s, const float* workspace, float* gradients, std::size_t rows) {
    const std::size_t stride = s.output_stride;
    for (std::size_t j = 0; j < stride; j += lanes) {
        Float16 gain = Accumulate ? load(gradients + s.weights + j) : zero();
        Float16 shift = Accumulate ? load(gradients + s.bias + j) : zero();
        for (std::size_t r = 0; r < rows; ++r) {
            const Float16 dy = load(workspace + s.output_gradient_at + r * stride + j);
            gain = fma(dy, load(workspace + s.normalized + r * stride + j), gain);
            shift = shift + dy;
        }
        store(gradients + s.weights + j, gain);
        store(gradients + s.bias + j, shift);
    }
}

} // namespace rekindle::mlp::cpu::REKINDLE_ISA
