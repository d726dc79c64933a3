#pragma once
/// The last Linear as dot products, the losses of sixteen rows at a time, and their gradients.

#include "cpu/functions.h"

namespace rekindle::mlp::cpu::REKINDLE_ISA {

/// values[o][r] = bias[o] + weights[o] · input[r]
inline void head_forward(const Head& h, const float* parameters, float* workspace, std::size_t rows) {
    const std::size_t stride = h.input_stride;
    const float* input = workspace + h.input_value;
    for (std::size_t o = 0; o < h.outputs; ++o) {
        float* values = workspace + h.values + o * block_rows;
        if (!h.linear) {
            for (std::size_t r = 0; r < rows; ++r)
                values[r] = input[r * stride + o];
            continue;
        }
        const float* weights = parameters + h.weights + o * stride;
        const __m128 bias = _mm_set1_ps(parameters[h.bias + o]);
        // Rows past the end of the block are computed from leftover data and never read.
        for (std::size_t r = 0; r < rows; r += 4) {
            Float16 dot[4] = {zero(), zero(), zero(), zero()};
            for (std::size_t j = 0; j < stride; j += lanes) {
                const Float16 w = load(weights + j);
                REKINDLE_UNROLL
                for (std::size_t i = 0; i < 4; ++i)
                    dot[i] = fma(load(input + (r + i) * stride + j), w, dot[i]);
            }
            _mm_storeu_ps(values + r, sums(dot[0], dot[1], dot[2], dot[3]) + bias);
        }
    }
}

struct LossValue {
    Float16 loss, gradient[max_outputs];
};

/// Loss of sixteen rows and its gradient, before averaging.
template <Loss::Kind Kind>
REKINDLE_INLINE LossValue loss_of(Float16 delta, Float16 output, Float16 second, Float16 target) {
    const Float16 half = broadcast(0.5f), one = broadcast(1.0f);
    const Float16 error = output - target;
    if constexpr (Kind == Loss::Kind::mse) {
        return {error * error, {error + error, zero()}};
    } else if constexpr (Kind == Loss::Kind::huber) {
        const Float16 size = absolute(error);
        const Float16 clipped = max(zero() - delta, min(delta, error));
        const Float16 linear = delta * (size - half * delta);
        return {select_greater(size, delta, linear, half * error * error), {clipped, zero()}};
    } else if constexpr (Kind == Loss::Kind::bce_with_logits) {
        const Float16 tail = log1p(exp(zero() - absolute(output)));
        return {(max(zero(), output) - output * target) + tail, {sigmoid(output) - target, zero()}};
    } else {
        // torch.nn.GaussianNLLLoss with var = exp(second), which it clamps at 1e-6 without changing the
        // gradient.
        const Float16 log_variance = max(broadcast(-13.8155106f), second);
        const Float16 precision = exp(zero() - log_variance);
        const Float16 square = error * error * precision;
        const Float16 below = exp(second - log_variance);
        return {half * (log_variance + square), {error * precision, half * below * (one - square)}};
    }
}

template <Loss::Kind Kind>
double losses(const Network& n, const float* targets, float* workspace, std::size_t rows, float scale) {
    const Head& h = n.head;
    const Float16 delta = broadcast(n.loss.huber_delta), factor = broadcast(scale);
    for (std::size_t r = 0; r < rows; r += lanes) {
        const LossValue v = loss_of<Kind>(delta, load(workspace + h.values + r),
                                          load(workspace + h.values + block_rows + r), load(targets + r));
        store(workspace + h.losses + r, v.loss);
        store(workspace + h.gradients + r, v.gradient[0] * factor);
        if constexpr (Kind == Loss::Kind::gaussian_nll)
            store(workspace + h.gradients + block_rows + r, v.gradient[1] * factor);
    }
    double total = 0;
    for (std::size_t r = 0; r < rows; ++r)
        total += static_cast<double>(workspace[h.losses + r]);
    return total;
}

/// Writes the outputs' gradients times scale; returns the sum of the losses.
inline double losses(const Network& n, float* workspace, std::size_t rows, float scale) {
    const float* targets = workspace + n.head.targets;
    switch (n.loss.kind) {
    case Loss::Kind::mse:
        return losses<Loss::Kind::mse>(n, targets, workspace, rows, scale);
    case Loss::Kind::huber:
        return losses<Loss::Kind::huber>(n, targets, workspace, rows, scale);
    case Loss::Kind::bce_with_logits:
        return losses<Loss::Kind::bce_with_logits>(n, targets, workspace, rows, scale);
    case Loss::Kind::gaussian_nll:
        return losses<Loss::Kind::gaussian_nll>(n, targets, workspace, rows, scale);
    }
    return 0;
}

template <GradientEpilogue Mode>
void head_input_gradient(const Head& h, const float* parameters, float* workspace, std::size_t rows) {
    const std::size_t stride = h.input_stride;
    const float* gradients = workspace + h.gradients;
    const float* producer = producer_of<Mode>(h, workspace);
    for (std::size_t j = 0; j < stride; j += lanes) {
        const Float16 w0 = load(parameters + h.weights + j);
        const Float16 w1 = h.outputs > 1 ? load(parameters + h.weights + stride + j) : zero();
        for (std::size_t r = 0; r < rows; ++r) {
            const std::size_t at = r * stride + j;
            Float16 v = broadcast(gradients[r]) * w0;
            if (h.outputs > 1)
                v = fma(broadcast(gradients[block_rows + r]), w1, v);
            store(workspace + h.input_gradient_at + at, before_activation<Mode>(v, producer + at));
        }
    }
}

template <bool Accumulate>
void head_parameter_gradients(const Head& h, const float* workspace, float* gradients, std::size_t rows) {
    const std::size_t stride = h.input_stride;
    for (std::size_t o = 0; o < h.outputs; ++o) {
        const float* g = workspace + h.gradients + o * block_rows;
        float* weights = gradients + h.weights + o * stride;
        for (std::size_t j = 0; j < stride; j += lanes) {
            Float16 total = Accumulate ? load(weights + j) : zero();
            for (std::size_t r = 0; r < rows; ++r)
                total = fma(broadcast(g[r]), load(workspace + h.input_value + r * stride + j), total);
            store(weights + j, total);
        }
        float bias = Accumulate ? gradients[h.bias + o] : 0.0f;
        for (std::size_t r = 0; r < rows; ++r)
            bias += g[r];
        gradients[h.bias + o] = bias;
    }
}

/// For a model that does not end with a Linear: the columns of its outputs.
inline void head_scatter(const Head& h, float* workspace, std::size_t rows) {
    float* out = workspace + h.input_gradient_at;
    for (std::size_t r = 0; r < rows; ++r) {
        store(out + r * h.input_stride, zero());
        for (std::size_t o = 0; o < h.outputs; ++o)
            out[r * h.input_stride + o] = workspace[h.gradients + o * block_rows + r];
    }
}

inline void head_backward(const Head& h, const float* parameters, float* workspace, float* gradients,
                          bool accumulate, std::size_t rows) {
    if (!h.linear)
        return head_scatter(h, workspace, rows);
    if (accumulate)
        head_parameter_gradients<true>(h, workspace, gradients, rows);
    else
        head_parameter_gradients<false>(h, workspace, gradients, rows);
    if (!h.input_gradient)
        return;
    switch (h.epilogue) {
    case GradientEpilogue::plain:
        return head_input_gradient<GradientEpilogue::plain>(h, parameters, workspace, rows);
    case GradientEpilogue::relu:
        return head_input_gradient<GradientEpilogue::relu>(h, parameters, workspace, rows);
    case GradientEpilogue::derivative:
        return head_input_gradient<GradientEpilogue::derivative>(h, parameters, workspace, rows);
    }
}

} // namespace rekindle::mlp::cpu::REKINDLE_ISA
