#!/usr/bin/env python3
"""Prints the coefficients for mlp/src/cpu/functions.h. Needs mpmath.

Each polynomial is a weighted least-squares fit at Chebyshev nodes in 50 digits; the weight makes the error relative to
the function that is computed from the polynomial. The printed error is that of the polynomial with float32
coefficients.
"""
import struct

import mpmath as mp

mp.mp.dps = 50


def float32(x):
    return mp.mpf(struct.unpack("f", struct.pack("f", float(x)))[0])


def fit(name, f, low, high, degree, weight):
    nodes = 12 * (degree + 1)
    xs = [(low + high) / 2 + (high - low) / 2 * mp.cos(mp.pi * (2 * i + 1) / (2 * nodes)) for i in range(nodes)]
    rows = mp.matrix(nodes, degree + 1)
    values = mp.matrix(nodes, 1)
    for i, x in enumerate(xs):
        w = weight(x)
        for j in range(degree + 1):
            rows[i, j] = w * x**j
        values[i] = w * f(x)
    solution = mp.lu_solve(rows, values)
    rounded = [float32(c) for c in solution]
    error = max(abs(mp.polyval(rounded[::-1], x) - f(x)) * weight(x) for x in xs)
    print(f"{name}: weighted error {mp.nstr(error, 3)}")
    print("    " + ", ".join(f"{float(c):.9g}f" for c in rounded))


half = mp.log(2) / 2
# exp(r) = 1 + r + r^2 P(r)
fit("exp", lambda r: (mp.exp(r) - 1 - r) / r**2 if r else mp.mpf(1) / 2, -half, half, 4, lambda r: r**2 / mp.exp(r))
# log1p(e) = 2 atanh(s), s = e / (2 + e): atanh(s) = s + s z P(z), z = s^2
fit("atanh", lambda z: (mp.atanh(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, mp.mpf(10) ** -9, mp.mpf(1) / 9, 5, lambda z: z)
# tanh(x) = x + x z P(z), z = x^2
fit("tanh", lambda z: (mp.tanh(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, mp.mpf(10) ** -9, mp.mpf("0.625") ** 2, 5, lambda z: z)
# erf(x) = x + x P(z), z = x^2
fit("erf", lambda z: mp.erf(mp.sqrt(z)) / mp.sqrt(z) - 1, mp.mpf(10) ** -9, mp.mpf(1), 8, lambda z: mp.mpf(1))
# erf(a) = 1 - exp(-a P(a)) for a >= 1
fit("erfc", lambda a: -mp.log(mp.erfc(a)) / a, mp.mpf("0.98"), mp.mpf("4.0"), 8, lambda a: a * mp.erfc(a))
