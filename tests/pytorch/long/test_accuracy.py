"""Unary functions over the whole range of exponents: the error in units in the last place. float32 is compared with the
CPU's float64; sine, cosine and tangent of float64 are compared with integer arithmetic of sufficient precision."""

import math
import unittest

import torch
import torch.nn.functional as F

from support import DEVICE, require_device

# Operator: (function, maximum error in units in the last place for float32, for float64).
FUNCTIONS = {
    "sin": (torch.sin, 4, None), "cos": (torch.cos, 4, None), "tan": (torch.tan, 5, None),
    "asin": (torch.asin, 4, 4), "acos": (torch.acos, 4, 4), "atan": (torch.atan, 4, 4), "tanh": (torch.tanh, 4, 4),
    "asinh": (torch.asinh, 4, 4), "acosh": (torch.acosh, 4, 4), "atanh": (torch.atanh, 4, 4), "exp": (torch.exp, 4, 4),
    "exp2": (torch.exp2, 4, 4), "expm1": (torch.expm1, 4, 4), "log": (torch.log, 4, 4), "log2": (torch.log2, 4, 4),
    "log10": (torch.log10, 4, 4), "log1p": (torch.log1p, 4, 4), "sqrt": (torch.sqrt, 1, 1), "rsqrt": (torch.rsqrt, 4, 4),
    "reciprocal": (torch.reciprocal, 4, 4), "erf": (torch.erf, 4, 4), "erfc": (torch.erfc, 8, 8),
    "erfinv": (torch.erfinv, 8, 8), "sigmoid": (torch.sigmoid, 4, 4), # sigmoid is subnormal below -87
    "silu": (lambda x: F.silu(x.clamp(min=-87)), 6, 6), "softplus": (F.softplus, 6, 6),
}


def inputs(dtype):
    """Some numbers of every exponent, some of ordinary size, and multiples of pi / 2."""
    generator = torch.Generator().manual_seed(3)
    bias = 127 if dtype == torch.float32 else 1023
    exponents = torch.arange(-bias + 2, bias + 1, 1 if dtype == torch.float32 else 7, dtype=torch.float64)
    mantissas = 1 + torch.rand(exponents.numel(), 12, dtype=torch.float64, generator=generator)
    parts = [torch.ldexp(mantissas, exponents[:, None]).flatten(), torch.arange(1, 500) * (math.pi / 2)]
    parts += [torch.rand(1000, dtype=torch.float64, generator=generator) * size for size in (1, 10, 100, 1e5)]
    numbers = torch.cat(parts)
    numbers = torch.cat([numbers, -numbers]).to(dtype)
    return numbers[numbers.isfinite()]


def units(found, expected, dtype):
    """The distance in units in the last place of the expected numbers; subnormal numbers may be zero."""
    limits = torch.finfo(dtype)
    exponents = torch.frexp(expected.abs()).exponent.double() - 1
    lowest, digits = (-126, 23) if dtype == torch.float32 else (-1022, 52)
    distance = (found - expected).abs() / torch.ldexp(torch.ones_like(expected), exponents.clamp(min=lowest) - digits)
    rounded = expected.to(dtype).double()
    distance[(rounded == found) | (rounded.isnan() & found.isnan())] = 0
    distance[(expected.abs() < limits.tiny) & (found.abs() <= limits.tiny)] = 0
    return distance.nan_to_num(nan=math.inf)


def arctangent_of_inverse(x, one):
    power = total = one // x
    n, sign = 3, -1
    while power:
        power //= x * x
        total += sign * (power // n)
        n, sign = n + 2, -sign
    return total


class Circle:
    """Sine and cosine of float64 numbers in integer arithmetic: 1,400 bits of pi, then Taylor series with 200 bits."""
    BITS, KEPT = 1400, 200

    def __init__(self):
        one = 1 << self.BITS
        self.pi = 4 * (4 * arctangent_of_inverse(5, one) - arctangent_of_inverse(239, one))

    def __call__(self, x):
        numerator, denominator = x.as_integer_ratio()
        quadrant, rest = divmod((numerator << self.BITS) // denominator, self.pi // 2)
        r = rest >> (self.BITS - self.KEPT)
        sums, term = [0, 0], 1 << self.KEPT
        for n in range(60):
            sums[n % 2] += term * (1, 1, -1, -1)[n % 4]
            term = (term * r >> self.KEPT) // (n + 1)
        cosine, sine = (s / (1 << self.KEPT) for s in sums)
        return ((sine, cosine), (cosine, -sine), (-sine, -cosine), (-cosine, sine))[quadrant % 4]


class Accuracy(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        require_device()

    def assert_within(self, found, expected, numbers, dtype, limit):
        distance = units(found, expected, dtype)
        worst = distance.argmax()
        self.assertLessEqual(distance[worst].item(), limit, f"at {numbers[worst].item():.17g}: {found[worst].item():.17g}, "
                             f"expected {expected[worst].item():.17g}")

    def test_functions(self):
        for dtype, which in ((torch.float32, 1), (torch.float64, 2)):
            numbers = inputs(dtype)
            for name, entry in FUNCTIONS.items():
                if entry[which] is not None:
                    with self.subTest(function=name, dtype=dtype):
                        self.assert_within(entry[0](numbers.to(DEVICE)).cpu().double(), entry[0](numbers.double()), numbers, dtype,
                                           entry[which])

    def test_gelu(self):
        """Against erfc: before PyTorch 2.13, CPUs lose all digits of gelu below -5. The density is part of the gradient."""
        for dtype in (torch.float32, torch.float64):
            numbers = inputs(dtype)
            numbers = numbers[numbers.abs() < (12 if dtype == torch.float32 else 26)]
            x = numbers.double()
            expected = x * torch.special.erfc(-x * .5**.5) / 2
            slope = torch.special.erfc(-x * .5**.5) / 2 + x * torch.exp(-x * x / 2) / math.sqrt(2 * math.pi)
            there = numbers.to(DEVICE).requires_grad_()
            found = F.gelu(there)
            found.backward(torch.ones_like(found))
            if dtype == torch.float32:  # the CPU's float64 is not accurate enough to be a reference for float64
                self.assert_within(found.detach().cpu().double(), expected, numbers, dtype, 16)
            for name, one, other in (("gelu", found, expected), ("its gradient", there.grad, slope)):
                with self.subTest(function=name, dtype=dtype):
                    tolerance = 5e-7 if dtype == torch.float32 else 5e-15
                    torch.testing.assert_close(one.detach().cpu().double(), other, rtol=tolerance, atol=tolerance)

    def test_circular_functions_of_float64(self):
        numbers = inputs(torch.float64)[::5]
        numbers = numbers[numbers.abs() > 1e-9]  # smaller numbers equal their own sine
        numbers = torch.cat([numbers, torch.tensor([1e8, 1e9, 1e13, 1e16, 1e18, 1e22, 1e300, 6381956970095103. * 2.**797], dtype=torch.float64)])
        circle = Circle()
        both = torch.tensor([circle(x) for x in numbers.tolist()], dtype=torch.float64)
        sine, cosine = both[:, 0], both[:, 1]
        there = numbers.to(DEVICE)
        for name, found, expected in (("sin", there.sin(), sine), ("cos", there.cos(), cosine), ("tan", there.tan(), sine / cosine)):
            with self.subTest(function=name):
                self.assert_within(found.cpu(), expected, numbers, torch.float64, 5)


if __name__ == "__main__":
    unittest.main()
