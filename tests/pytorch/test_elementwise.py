"""Elementwise operators compared with the CPU: every dtype, layout and edge case that their kernels distinguish."""

import math
import unittest

import torch

from both_devices import DeviceTestCase
from support import DEVICE, fallback_counts, without_flushed

FLOATS = (torch.float32, torch.float16, torch.bfloat16, torch.float64)
INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
TOLERANCE = {
    torch.float32: (3e-6, 1e-6),
    torch.float16: (2e-3, 1e-3),
    torch.bfloat16: (1.6e-2, 8e-3),
    torch.float64: (1e-12, 1e-13),
}


def moved(value):
    return value.to(DEVICE) if isinstance(value, torch.Tensor) else value


class ElementwiseOnBoth(DeviceTestCase):
    def check(self, function, *arguments, tolerance=None, native=True):
        """Runs on the CPU and on the device; compares values, dtype, shape and strides."""
        before = fallback_counts()
        result = function(*[moved(a) for a in arguments])
        fallen = {name for name, count in fallback_counts().items() if count != before.get(name, 0)}
        expected = function(*arguments)
        if native:
            self.assertEqual(fallen, set())
        for got, want in zip(result, expected) if isinstance(expected, tuple) else [(result, expected)]:
            self.assert_on_device(got)
            self.assertEqual(got.dtype, want.dtype)
            self.assertEqual(got.stride(), want.stride())
            relative, absolute = tolerance or TOLERANCE.get(want.dtype, (0, 0))
            torch.testing.assert_close(got.cpu(), want, rtol=relative, atol=absolute, equal_nan=True)


def spread(dtype, *shape, low=-4.0, high=4.0):
    """Distinct numbers, some of them integers, in no particular order."""
    count = math.prod(shape)
    steps = torch.arange(count, dtype=torch.float64) * 0.61803398875 % 1
    values = (low + (high - low) * steps).reshape(shape)
    if dtype == torch.bool:
        return values > (low + high) / 2
    if not dtype.is_floating_point:
        low_limit = max(low * 8, torch.iinfo(dtype).min)
        return (values * 8).clamp(min=low_limit).to(dtype)
    values.view(-1)[::7] = values.view(-1)[::7].round()
    return values.to(dtype)


EDGES = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, 1e-30, -1e-30, 1e30, -1e30, math.inf, -math.inf, math.nan, 88.5, -88.5]

UNARY = """abs acos acosh asin asinh atan atanh ceil cos cosh digamma erf erfc erfinv exp exp2 expm1 floor frac lgamma
    log log10 log1p log2 neg reciprocal round rsqrt sgn sigmoid sign sin sinc sinh sqrt tan tanh trunc signbit
    isnan isinf isfinite isposinf isneginf logical_not angle nan_to_num relu square positive""".split()


class Unary(ElementwiseOnBoth):
    def test_functions_in_every_floating_dtype(self):
        for name in UNARY:
            for dtype in FLOATS:
                with self.subTest(name=name, dtype=dtype):
                    self.check(getattr(torch, name), spread(dtype, 37, low=-3.0, high=3.0))

    def test_functions_at_edges(self):
        loose = {"lgamma": (1e-5, 1e-5), "digamma": (1e-5, 1e-5)}
        for name in UNARY:
            with self.subTest(name=name):
                self.check(getattr(torch, name), torch.tensor(EDGES), tolerance=loose.get(name))

    def test_polygamma(self):
        # At 0 and at negative integers the functions have poles, which rounding hides on the CPU; at infinity the CPU
        # returns NaN instead of 0.
        values = torch.tensor([.1, .5, .9, 1., 1.5, 2.25, 7., 9.99, 10., 33., 1e4, 1e10, math.nan,
                               -.1, -.5, -1.5, -2.25, -10.3, -300.75])
        for order in range(7):
            self.check(lambda x, n=order: torch.polygamma(n, x), values.double(), tolerance=(1e-9, 1e-12))
            self.check(lambda x, n=order: torch.polygamma(n, x), values[:13], tolerance=(1e-5, 1e-6))
            self.check(lambda x, n=order: x.clone().polygamma_(n), values[:13], tolerance=(1e-5, 1e-6))
        poles = torch.polygamma(2, torch.tensor([0., -1, -7]).to(DEVICE)).cpu()
        self.assertTrue((poles == -math.inf).all())
        for dtype in (torch.float16, torch.bfloat16, torch.int32):
            self.check(lambda x: torch.polygamma(1, x), torch.arange(1, 9).to(dtype))
        with self.assertRaisesRegex(RuntimeError, "does not support negative n"):
            torch.polygamma(-1, values.to(DEVICE))

    def test_large_arguments_of_sines(self):
        values = torch.tensor([1e2, 1e3, 12345.678, 1e6, 1e10, 1e20, 3e38, -7e5, 22.0, 355.0])
        for function in (torch.sin, torch.cos):
            self.check(function, values, tolerance=(1e-5, 1e-6))

    def test_accuracy_of_exp_and_log(self):
        x = torch.linspace(-87, 88, 4001)
        device = torch.exp(x.to(DEVICE)).cpu().double()
        self.assertLess(((device - torch.exp(x.double())) / torch.exp(x.double())).abs().max().item(), 2.5e-7)
        x = torch.logspace(-37, 38, 4001)
        device = torch.log(x.to(DEVICE)).cpu().double()
        self.assertLess(((device - torch.log(x.double())) / torch.log(x.double())).abs().max().item(), 2.5e-7)

    def test_integers(self):
        for dtype in INTEGERS:
            for name in ("abs", "neg", "sign", "logical_not", "square", "bitwise_not", "relu", "exp", "sqrt", "isnan"):
                with self.subTest(name=name, dtype=dtype):
                    self.check(getattr(torch, name), spread(dtype, 29))
        self.check(torch.bitwise_not, spread(torch.bool, 9))
        self.check(lambda x: x.round(decimals=2), spread(torch.float32, 33))
        self.check(lambda x: x.round(decimals=-1), spread(torch.float32, 33, low=-90, high=90))

    def test_layouts(self):
        base = spread(torch.float32, 6, 5, 4, 3)
        for view in (lambda t: t, lambda t: t.t() if t.dim() == 2 else t.permute(3, 1, 0, 2), lambda t: t[1:, ::2, :, 1:],
                     lambda t: t[:0], lambda t: t[0, 0, 0, 0], lambda t: t.flip(1), lambda t: t[:, :1].expand(6, 5, 4, 3),
                     lambda t: t.to(memory_format=torch.channels_last)):
            self.check(lambda t, view=view: torch.exp(view(t)), base)
        many = spread(torch.float32, 2, 3, 2, 2, 2, 3, 2, 2).permute(7, 0, 5, 2, 3, 1, 6, 4)[:, :1, :2]
        self.check(torch.sigmoid, many)

    def test_in_place_and_out(self):
        def in_place(x):
            return x.clone().t().exp_()

        def out(x):
            return torch.tanh(x, out=torch.empty(5, 7, device=x.device).t())

        self.check(in_place, spread(torch.float32, 7, 5))
        self.check(out, spread(torch.float32, 7, 5))


BINARY = """add sub mul div remainder fmod pow maximum minimum fmax fmin eq ne lt le gt ge logical_and logical_or
    logical_xor atan2 hypot copysign nextafter heaviside xlogy logaddexp logaddexp2 floor_divide""".split()


class Binary(ElementwiseOnBoth):
    def test_functions_in_every_floating_dtype(self):
        for name in BINARY:
            for dtype in FLOATS:
                if name == "nextafter" and dtype in (torch.float16, torch.bfloat16):
                    continue
                with self.subTest(name=name, dtype=dtype):
                    a = spread(dtype, 41, low=0.1 if name == "pow" else -4.0)
                    self.check(getattr(torch, name), a, spread(dtype, 41, low=-2.0, high=3.0).flip(0))

    def test_edges(self):
        a = torch.tensor(EDGES).repeat_interleave(len(EDGES))
        b = torch.tensor(EDGES).repeat(len(EDGES))
        for name in BINARY:
            # PyTorch's vectorized code gives NaN if the quotient has more bits than a float; the exact remainder is
            # required here.
            usable = (a.abs() < 1e20) | (b.abs() > 1e-20) if name in ("fmod", "remainder") else torch.ones_like(a, dtype=torch.bool)
            with self.subTest(name=name):
                self.check(getattr(torch, name), a[usable], b[usable], tolerance=(1e-5, 1e-6))

    def test_power(self):
        a = spread(torch.float32, 500, low=0.01, high=30).repeat_interleave(8)
        b = torch.tensor([-9.5, -3.0, -0.5, 0.3, 2.0, 7.7, 19.0, 25.0]).repeat(500)
        self.check(torch.pow, a, b, tolerance=(5e-7, 0))
        for exponent in (2, 3, 0.5, -0.5, -1, -2, 0, 1, 1.7, -3.2):
            self.check(lambda x, e=exponent: x**e, spread(torch.float32, 50, low=0.2))
            self.check(lambda x, e=exponent: e**x if e > 0 else x, spread(torch.float32, 50))
        self.check(lambda x: x**3, spread(torch.int32, 20))

    def test_integers(self):
        names = """add sub mul remainder maximum minimum eq ne lt le gt ge bitwise_and bitwise_or bitwise_xor gcd lcm
            floor_divide true_divide""".split()
        for dtype in INTEGERS:
            a, b = spread(dtype, 64), spread(dtype, 64, low=-3.0, high=2.0).flip(0)
            b[b == 0] = 3
            for name in names:
                with self.subTest(name=name, dtype=dtype):
                    self.check(getattr(torch, name), a, b)
            self.check(lambda a, b: torch.div(a, b, rounding_mode="trunc"), a, b)
            for shift in (0, 1, 3, 7, 8, 31, 40):
                self.check(lambda a, s=shift: torch.bitwise_left_shift(a, s), a)
                self.check(lambda a, s=shift: torch.bitwise_right_shift(a, s), a)
        for name in ("logical_and", "bitwise_or", "bitwise_xor", "add", "mul", "eq", "lt", "maximum"):
            self.check(getattr(torch, name), spread(torch.bool, 10), spread(torch.bool, 10).flip(0))

    def test_mixed_dtypes_and_scalars(self):
        every = (*FLOATS, *INTEGERS, torch.bool)
        for first in every:
            for second in every:
                with self.subTest(first=first, second=second):
                    self.check(torch.mul, spread(first, 11, high=5), spread(second, 11))
        for dtype in every[:-1]:
            self.check(lambda x: x + 2, spread(dtype, 12))
            self.check(lambda x: 2.5 * x, spread(dtype, 12))
            self.check(lambda x: torch.rsub(x, 1, alpha=2), spread(dtype, 12))
            self.check(lambda x: x > 1, spread(dtype, 12))
            self.check(lambda x: torch.add(x, x, alpha=3), spread(dtype, 12))
        self.check(lambda x: x * torch.tensor(3.5, dtype=torch.float64), spread(torch.float32, 5))
        self.check(lambda x: x * torch.tensor(3.5, dtype=torch.float64, device=x.device), spread(torch.float16, 5))

    def test_broadcasts_and_overlaps(self):
        a, b = spread(torch.float32, 4, 1, 5), spread(torch.float32, 3, 1)
        self.check(torch.add, a, b)
        self.check(torch.add, a.transpose(0, 2), b)
        self.check(lambda x: x.clone().add_(x[0]), spread(torch.float32, 4, 5))
        self.check(torch.add, spread(torch.float32, 0, 3), spread(torch.float32, 3))
        self.check(lambda a, b: torch.add(a, b, out=torch.empty(0, device=a.device)), a, b)
        self.check(lambda a, b: torch.add(a[1:], b[1:]), spread(torch.float32, 4001), spread(torch.float32, 4001))
        self.check(torch.add, spread(torch.float16, 5003), spread(torch.float16, 5003))

    def test_division_modes(self):
        a, b = spread(torch.float32, 400, low=-90, high=90), spread(torch.float32, 400, low=-7, high=6).flip(0)
        for mode in (None, "trunc", "floor"):
            self.check(lambda a, b, m=mode: torch.div(a, b, rounding_mode=m), a, b)
        self.check(torch.fmod, torch.tensor([1e30, 3e38, 5.5, 1e-40, 7.0]), torch.tensor([3.7, 1e-30, 1e-10, 3.0, math.inf]))


class Ternary(ElementwiseOnBoth):
    def test_quotients_are_rounded_to_the_nearest_number(self):
        """41 / 41 is 1, as on CPUs and CUDA, even if the driver multiplies by the reciprocal."""
        whole = torch.arange(1.0, 100_000.0)
        there = whole.to(DEVICE)
        self.assertEqual((there / there).unique().tolist(), [1.0])
        self.assertEqual(torch.div(there * 3, there, rounding_mode="trunc").unique().tolist(), [3.0])
        self.assertEqual(torch.addcdiv(there * 0, there, there).unique().tolist(), [1.0])
        generator = torch.Generator().manual_seed(0)
        exponents = torch.randint(-45, 45, (2, 1 << 16), generator=generator)
        x, y = (torch.rand(2, 1 << 16, generator=generator) + 1) * 2.0**exponents
        for function in (torch.div, torch.Tensor.__rtruediv__, lambda a, b: torch.reciprocal(b),
                         lambda a, b: torch._foreach_div([a], [b])[0]):
            self.assertTrue(torch.equal(function(moved(x), moved(y)).cpu(), function(x, y)))

    def test_quotients_by_the_largest_numbers(self):
        large = torch.tensor([8e37, 8.6e37, 1.7e38, 3.4e38, -3.4e38, math.inf])
        for x in (1.0, 3e38, -1e38, math.inf, math.nan):
            self.check(torch.div, torch.full_like(large, x), large)
            self.check(torch.atan2, torch.full_like(large, x), large)
            self.check(torch.addcdiv, large * 0, torch.full_like(large, x), large)
            for mode in ("trunc", "floor"):
                self.check(lambda a, b, mode=mode: torch.div(a, b, rounding_mode=mode), torch.full_like(large[:5], x), large[:5])
        self.check(torch.nn.functional.softsign, large)
        self.check(torch.hypot, large[:5] / 2, large[:5] / 4)

    def test_where(self):
        condition = spread(torch.bool, 4, 1)
        for dtype in (*FLOATS, *INTEGERS, torch.bool):
            self.check(torch.where, condition, spread(dtype, 3), spread(dtype, 4, 3))
        self.check(lambda c, x: torch.where(c, x, 0.5), condition, spread(torch.float32, 3))
        self.check(lambda c, x: torch.where(c, 2, x), condition, spread(torch.int64, 3))

    def test_products_and_interpolation(self):
        for dtype in FLOATS:
            x, y, z = (spread(dtype, 6, 7, low=low) for low in (-3.0, -1.0, 0.5))
            self.check(lambda x, y, z: torch.addcmul(x, y, z, value=0.3), x, y, z)
            self.check(lambda x, y, z: torch.addcdiv(x, y, z, value=-0.3), x, y, z)
            self.check(torch.lerp, x, y, z)
            self.check(lambda x, y: torch.lerp(x, y, 0.7), x, y)
        self.check(lambda x, y, z: torch.addcmul(x, y, z, value=2), *[spread(torch.int32, 9)] * 3)

    def test_clamps(self):
        for dtype in (*FLOATS, *INTEGERS):
            x, low, high = spread(dtype, 20), spread(dtype, 20, low=-1.0, high=0.0), spread(dtype, 20, low=1.0)
            self.check(lambda x: x.clamp(0, 2), x)
            self.check(lambda x: x.clamp(min=1), x)
            self.check(lambda x: x.clamp(max=1), x)
            self.check(torch.clamp, x, low, high)
            self.check(lambda x, low: torch.clamp(x, min=low), x, low)
            self.check(lambda x, high: torch.clamp(x, max=high), x, high)
        self.check(lambda x: x.clamp(-1, 1), torch.tensor(EDGES))


F = torch.nn.functional
ACTIVATIONS = {
    "celu": F.celu, "elu": lambda x: F.elu(x, 1.3), "gelu": F.gelu, "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "glu": F.glu, "hardshrink": F.hardshrink, "hardsigmoid": F.hardsigmoid, "hardswish": F.hardswish,
    "hardtanh": F.hardtanh, "leaky_relu": F.leaky_relu, "logsigmoid": F.logsigmoid, "mish": F.mish, "relu": F.relu,
    "relu6": F.relu6, "selu": F.selu, "sigmoid": torch.sigmoid, "silu": F.silu,
    "softplus": lambda x: F.softplus(x, 1.5, 3), "softshrink": F.softshrink, "tanh": torch.tanh,
    "threshold": lambda x: F.threshold(x, 0.4, -2), "logit": lambda x: torch.logit(x.sigmoid(), 0.1),
    "prelu": lambda x: F.prelu(x, torch.tensor([0.2], dtype=x.dtype).to(x.device)),
}


class Activations(ElementwiseOnBoth):
    def test_values_and_gradients(self):
        def both(function, x, weight):
            x = x.clone().requires_grad_()
            y = function(x)
            (gradient,) = torch.autograd.grad(y, x, weight[: y.shape[0], : y.shape[1]])
            return y.detach(), gradient

        for name, function in ACTIVATIONS.items():
            for dtype in FLOATS:
                with self.subTest(name=name, dtype=dtype):
                    x, weight = spread(dtype, 6, 10), spread(dtype, 6, 10, low=0.5)
                    # The CPU multiplies by 1/6 rounded to float32, even in float64.
                    tolerance = (5e-8, 5e-8) if name == "hardsigmoid" and dtype == torch.float64 else None
                    self.check(lambda x, w, f=function: both(f, x, w), x, weight, native=name != "prelu",
                               tolerance=tolerance)

    def test_losses(self):
        def loss(function, x, y):
            x = x.clone().requires_grad_()
            value = function(x, y)
            value.sum().backward()
            return value.detach(), x.grad

        for dtype in (torch.float32, torch.float64):
            x, y = spread(dtype, 5, 7, low=0.05, high=0.95), spread(dtype, 5, 7, low=0.1, high=0.9).flip(0)
            for reduction in ("none", "mean", "sum"):
                for function in (F.mse_loss, F.smooth_l1_loss, F.huber_loss):
                    self.check(lambda x, y, f=function, r=reduction: loss(lambda a, b: f(a, b, reduction=r), x, y), x, y,
                               native=False)
                self.check(lambda x, y, w, r=reduction: loss(
                    lambda a, b: F.binary_cross_entropy(a, b, weight=w, reduction=r), x, y), x, y, y[0] + 1)
                self.check(lambda x, y, r=reduction: loss(
                    lambda a, b: F.binary_cross_entropy(a, b, reduction=r), x, y), x, y)
        certain = torch.tensor([0.0, 1.0, 0.0, 1.0])  # logarithms are clamped at -100
        self.check(lambda x, y: loss(F.binary_cross_entropy, x, y), certain, torch.tensor([0.0, 1.0, 1.0, 0.0]))


class CopiesAndFills(ElementwiseOnBoth):
    def test_every_pair_of_dtypes(self):
        every = (*FLOATS, *INTEGERS, torch.bool, torch.complex64)
        for first in every:
            for second in every:
                if first.is_complex and not second.is_complex:
                    continue
                with self.subTest(first=first, second=second):
                    x = torch.complex(spread(torch.float32, 5, 3), spread(torch.float32, 5, 3)) if first.is_complex \
                        else spread(first, 5, 3, low=0.0)
                    self.check(lambda t, s=second: t.t().to(s), x)
                    self.check(lambda t, s=second: t.to(s), x)

    def test_rounding_to_16_bits(self):
        values = torch.tensor([65504.0, 65519.9, 65520.0, 6e-8, 2.9e-8, 3.1e-8, 1e-7, 0.1, 1 + 2**-11, 1 + 3 * 2**-11,
                               -1e-5, math.inf, -math.inf, math.nan, 3.39e38, 6.1e-5, 6.0e-5, 1 + 2**-8, 1 + 3 * 2**-8])
        self.check(lambda x: x.half(), values)
        self.check(lambda x: x.bfloat16(), values)
        # Every float32 number halfway between two adjacent 16-bit numbers, and its neighbors.
        middles = (torch.arange(2**20)[:, None] * 2**12 + torch.tensor([-1, 0, 1])).flatten().to(torch.int32).view(torch.float32)
        middles = without_flushed(middles[~middles.isnan()])
        self.check(lambda x: x.half().view(torch.int16), middles, tolerance=(0, 0))
        self.check(lambda x: x.bfloat16().view(torch.int16), middles, tolerance=(0, 0))
        every = torch.arange(65536, dtype=torch.int32).to(torch.int16)
        for dtype in (torch.float16, torch.bfloat16):
            self.check(lambda x, d=dtype: x.view(d).float(), every, tolerance=(0, 0))

    def test_conversions_from_floats(self):
        values = torch.tensor([3.99, -3.99, 255.5, -1.0, 127.0, 1e9, -0.5, 0.0])
        for dtype in (torch.int32, torch.int64, torch.uint8, torch.int8, torch.int16, torch.bool):
            self.check(lambda x, d=dtype: x.to(d), values[:5] if dtype in (torch.int8, torch.int16) else values)

    def test_strides(self):
        x = spread(torch.float32, 4, 5, 6)
        self.check(lambda t: t.permute(2, 0, 1).contiguous(), x)
        self.check(lambda t: t[:, ::2].clone(), x)
        self.check(lambda t: torch.zeros(4, 5, 6, device=t.device).permute(2, 1, 0).copy_(t.permute(2, 1, 0)), x)
        self.check(lambda t: t.expand(3, 4, 5, 6).clone(memory_format=torch.contiguous_format), x)

    def test_complex_parts(self):
        z = torch.complex(spread(torch.float32, 3, 4), spread(torch.float32, 3, 4).flip(0))
        self.check(lambda t: t.t().clone(), z)
        self.check(lambda t: t.real + t.imag, z)
        self.check(lambda t: torch.full((3,), 1 + 2j, device=t.device), z)

    def test_fills(self):
        for dtype in (*FLOATS, *INTEGERS, torch.bool, torch.complex64, torch.uint16):
            for shape in ((0,), (1,), (3,), (5, 7)):
                self.check(lambda t, d=dtype, s=shape: torch.full(s, 3, dtype=d, device=t.device), torch.zeros(1))
            self.check(lambda t, d=dtype: torch.ones(6, 5, dtype=d, device=t.device)[1:, 2:4].zero_(), torch.zeros(1))
        self.check(lambda t: t.fill_(t[0, 1]), spread(torch.float32, 3, 3))

    def test_sequences(self):
        for dtype in (*FLOATS, torch.int16, torch.int32, torch.int64):
            self.check(lambda t, d=dtype: torch.arange(3, 40, 3, dtype=d, device=t.device), torch.zeros(1))
        self.check(lambda t: torch.arange(0, 1, 0.001, device=t.device), torch.zeros(1), tolerance=(1.3e-7, 0))
        for dtype in FLOATS:
            # The CPU steps in the dtype itself, so sums near zero are off by the last place of the endpoints.
            tolerance = {torch.float16: (2e-3, 4e-3), torch.bfloat16: (1.6e-2, 3.2e-2)}.get(dtype)
            self.check(lambda t, d=dtype: torch.linspace(-3, 7, 101, dtype=d, device=t.device), torch.zeros(1),
                       tolerance=tolerance)
        self.check(lambda t: torch.linspace(2, 5, 1, device=t.device), torch.zeros(1))
        self.check(lambda t: torch.eye(4, 6, device=t.device), torch.zeros(1))


if __name__ == "__main__":
    unittest.main()
