#pragma once
/// The flat loops over arenas: reduction of gradient slots, AdamW, SGD, averaging, rounding.

#include "cpu/functions.h"

namespace rekindle::mlp::cpu::REKINDLE_ISA {

REKINDLE_INLINE double sum_of_double(Float16 a) {
    alignas(64) float v[lanes];
    store(v, a);
    double total = 0;
    REKINDLE_UNROLL
    for (std::size_t i = 0; i < lanes; ++i)
        total += static_cast<double>(v[i]);
    return total;
}

/// Adds the square of value(at) to one of four sums, in turn, for every vector of [begin, end). Independent
/// sums hide the latency of the multiply-add.
template <class Value>
REKINDLE_INLINE void add_squares(Float16 (&squares)[4], std::size_t begin, std::size_t end,
                                 const Value& value) {
    std::size_t i = begin;
    for (; i + 4 * lanes <= end; i += 4 * lanes)
        REKINDLE_UNROLL
    for (std::size_t u = 0; u < 4; ++u) {
        const Float16 v = value(i + u * lanes);
        squares[u] = fma(v, v, squares[u]);
    }
    for (std::size_t u = 0; i < end; i += lanes, ++u) {
        const Float16 v = value(i);
        squares[u] = fma(v, v, squares[u]);
    }
}

inline double reduce(float* out, const float* const* sources, std::size_t count, std::size_t begin,
                     std::size_t end) {
    Float16 squares[4] = {zero(), zero(), zero(), zero()};
    if (count == 1 && sources[0] == out)
        add_squares(squares, begin, end, [out](std::size_t at) { return load(out + at); });
    else
        add_squares(squares, begin, end, [=](std::size_t at) {
            Float16 total = load(sources[0] + at);
            for (std::size_t s = 1; s < count; ++s)
                total = total + load(sources[s] + at);
            store(out + at, total);
            return total;
        });
    const double result = sum_of_double((squares[0] + squares[1]) + (squares[2] + squares[3]));
    if (result - result == 0)
        return result;
    // Squares may overflow although the gradient is finite: in that case sum again in double.
    double wide = 0;
    for (std::size_t i = begin; i < end; ++i)
        wide += static_cast<double>(out[i]) * static_cast<double>(out[i]);
    return wide;
}

inline void adamw(const AdamWStep& step, float* parameters, const float* gradients, float* first,
                  float* second, std::size_t begin, std::size_t end) {
    const Float16 scale = broadcast(step.gradient_scale), decay = broadcast(step.decay),
                  one_minus_beta1 = broadcast(step.one_minus_beta1), beta2 = broadcast(step.beta2),
                  one_minus_beta2 = broadcast(step.one_minus_beta2), size = broadcast(step.step_size),
                  correction = broadcast(step.inverse_sqrt_correction), epsilon = broadcast(step.epsilon);
    for (std::size_t i = begin; i < end; i += lanes) {
        const Float16 g = load(gradients + i) * scale;
        const Float16 m = fma(one_minus_beta1, g - load(first + i), load(first + i));
        const Float16 v = fma(one_minus_beta2 * g, g, load(second + i) * beta2);
        const Float16 p = load(parameters + i) * decay;
        store(first + i, m);
        store(second + i, v);
        store(parameters + i, p - size * m / fma(sqrt(v), correction, epsilon));
    }
}

inline void sgd(const SgdStep& step, float* parameters, const float* gradients, float* momentum,
                std::size_t begin, std::size_t end) {
    const Float16 scale = broadcast(step.gradient_scale), decay = broadcast(step.weight_decay),
                  keep = broadcast(step.momentum), rate = broadcast(step.learning_rate);
    for (std::size_t i = begin; i < end; i += lanes) {
        const Float16 p = load(parameters + i);
        Float16 g = load(gradients + i) * scale + p * decay;
        if (step.momentum != 0.0f) {
            g = load(momentum + i) * keep + g;
            store(momentum + i, g);
        }
        store(parameters + i, p - rate * g);
    }
}

inline void average(float rate, const float* parameters, float* mean, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; i += lanes)
        store(mean + i, fma(broadcast(rate), load(parameters + i) - load(mean + i), load(mean + i)));
}

inline void round_bf16(const float* from, float* to, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; i += lanes)
        store(to + i, round_to_bf16(load(from + i)));
}

} // namespace rekindle::mlp::cpu::REKINDLE_ISA
