#pragma once
/// exp, tanh, erf and log1p on sixteen lanes, accurate to 2 ulp; NaN gives NaN. Coefficients:
/// mlp/tools/fit_polynomials.py.

#include "cpu/simd.h"

namespace rekindle::mlp::cpu::REKINDLE_ISA {

template <std::size_t N>
REKINDLE_INLINE Float16 polynomial(const float (&coefficients)[N], Float16 x) {
    Float16 r = broadcast(coefficients[N - 1]);
    REKINDLE_UNROLL
    for (std::size_t i = 1; i < N; ++i)
        r = fma(r, x, broadcast(coefficients[N - 1 - i]));
    return r;
}

/// Saturates at exp(-87) = 1.6e-38 and exp(88.3) = 2.2e38, so that the result is a normal number.
REKINDLE_INLINE Float16 exp(Float16 x) {
    constexpr float coefficients[] = {0.499999881f, 0.166665182f, 0.0416695327f, 0.00836891588f,
                                      0.00137514074f};
    x = min(broadcast(88.3f), max(broadcast(-87.0f), x));
    // Adding 1.5 * 2^23 rounds to an integer and leaves it in the low bits.
    const Float16 shifted = fma(x, broadcast(1.44269504f), broadcast(12582912.0f));
    const Float16 n = shifted - broadcast(12582912.0f);
    // ln 2 split into two parts; n times the first part is exact.
    Float16 r = fma(n, broadcast(-0.693359375f), x);
    r = fma(n, broadcast(2.12194440e-4f), r);
    const Float16 value = fma(r * r, polynomial(coefficients, r), r) + broadcast(1.0f);
    UInt16 scale = bits_of(shifted);
    REKINDLE_UNROLL
    for (std::size_t i = 0; i < parts; ++i)
        scale.part[i] = (scale.part[i] << 23) + 0x3F800000u;
    return value * float_of_bits(scale);
}

REKINDLE_INLINE Float16 sigmoid(Float16 x) {
    const Float16 one = broadcast(1.0f);
    return one / (one + exp(zero() - x));
}

REKINDLE_INLINE Float16 tanh(Float16 x) {
    constexpr float coefficients[] = {-0.333333313f, 0.133332059f,    -0.0539467037f,
                                      0.0217005014f, -0.00817709323f, 0.00214280374f};
    const Float16 one = broadcast(1.0f), a = absolute(x), z = x * x;
    const Float16 near_zero = fma(a * z, polynomial(coefficients, z), a);
    const Float16 far = one - broadcast(2.0f) / (exp(a + a) + one);
    return join_bits(select_greater(a, broadcast(0.625f), far, near_zero), sign_bit(x));
}

REKINDLE_INLINE Float16 erf(Float16 x) {
    constexpr float small[] = {0.128379166f,    -0.376126379f,   0.112837911f,
                               -0.0268661343f,  0.00522378506f,  -0.00085426704f,
                               0.000119569471f, -1.3911701e-05f, 1.05952756e-06f};
    constexpr float large[] = {1.12848544f,      0.63599509f,     0.104381718f,
                               -0.0215027593f,   0.00197988236f,  0.000431855384f,
                               -0.000194292559f, 3.05382127e-05f, -1.88019249e-06f};
    const Float16 a = absolute(x), z = x * x;
    const Float16 near_zero = fma(a, polynomial(small, z), a);
    const Float16 b = min(broadcast(4.0f), a);
    const Float16 far = broadcast(1.0f) - exp(zero() - b * polynomial(large, b));
    return join_bits(select_greater(a, broadcast(1.0f), far, near_zero), sign_bit(x));
}

/// Requires x in [0, 1].
REKINDLE_INLINE Float16 log1p(Float16 x) {
    constexpr float coefficients[] = {0.333333343f, 0.200000271f,  0.14284195f,
                                      0.111507662f, 0.0857396275f, 0.108957015f};
    const Float16 s = x / (x + broadcast(2.0f)), z = s * s;
    const Float16 t = fma(s * z, polynomial(coefficients, z), s);
    return t + t;
}

/// Returns the activation's value and sets its derivative.
template <Function F>
REKINDLE_INLINE Float16 activate(Float16 z, Float16& derivative) {
    const Float16 one = broadcast(1.0f);
    if constexpr (F == Function::silu) {
        const Float16 s = sigmoid(z);
        derivative = fma(s, z * (one - s), s);
        return z * s;
    } else if constexpr (F == Function::relu) {
        derivative = select_greater(z, zero(), one, zero());
        return max(zero(), z);
    } else if constexpr (F == Function::gelu) {
        const Float16 half = broadcast(0.5f);
        const Float16 below = fma(erf(z * broadcast(0.707106781f)), half, half);
        const Float16 density = broadcast(0.398942280f) * exp(broadcast(-0.5f) * z * z);
        derivative = fma(z, density, below);
        return z * below;
    } else if constexpr (F == Function::tanh) {
        const Float16 t = tanh(z);
        derivative = one - t * t;
        return t;
    } else {
        derivative = one;
        return z;
    }
}

/// The producer's values (relu) or derivatives, for before_activation.
template <GradientEpilogue Mode, class Consumer>
REKINDLE_INLINE const float* producer_of(const Consumer& c, const float* workspace) {
    return workspace + (Mode == GradientEpilogue::relu ? c.input_value : c.producer_derivative);
}

/// Takes a gradient back through the producer's activation. producer: the values from producer_of at the same
/// index; not read for GradientEpilogue::plain.
template <GradientEpilogue Mode>
REKINDLE_INLINE Float16 before_activation(Float16 gradient, const float* producer) {
    if constexpr (Mode == GradientEpilogue::relu)
        return select_greater(load(producer), zero(), gradient, zero());
    else if constexpr (Mode == GradientEpilogue::derivative)
        return gradient * load(producer);
    else
        return gradient;
}

/// Rounds to the nearest bf16, ties to even; NaN stays NaN.
REKINDLE_INLINE Float16 round_to_bf16(Float16 a) {
    UInt16 r = bits_of(a);
    REKINDLE_UNROLL
    for (std::size_t i = 0; i < parts; ++i) {
        const Native32 rounded = (r.part[i] + 0x7FFFu + ((r.part[i] >> 16) & 1u)) & 0xFFFF0000u;
        r.part[i] = (r.part[i] & 0x7FFFFFFFu) > 0x7F800000u ? r.part[i] : rounded;
    }
    return float_of_bits(r);
}

} // namespace rekindle::mlp::cpu::REKINDLE_ISA
