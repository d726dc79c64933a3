"""NaN, infinities, zeros of both signs, extremes and subnormals through every operator on elements, every reduction and
every norm, in every floating dtype, against the CPU. Where the CPU and CUDA disagree, the entry in DIFFERENT says how.
A result is right if it is the CPU's, or the CPU's float64 result, rounded: CPUs add many float32 numbers one by one,
and some treat powers of float16 or extremes of bfloat16 differently from those of float32."""

import itertools
import math
import unittest

import mpmath
import torch
import torch.nn.functional as F
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo.core import BinaryUfuncInfo, UnaryUfuncInfo

import comparison
from support import DEVICE, are_flushed, require_device, without_flushed

NAN, INFINITY = float("nan"), float("inf")
DTYPES = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
TOLERANCES = {torch.float32: 2e-5, torch.float64: 1e-12, torch.float16: 5e-3, torch.bfloat16: 3e-2}

# Not compared directly, with the reason. Keys are operators, or pairs of an operator and the part that is not compared.
DIFFERENT = {
    "complex": "a pair of parts; test_casts.py", "polar": "a pair of parts",
    "fmod": "the CPU's gives NaN where the quotient overflows; the device's is exact",
    "remainder": "as fmod", "__rmod__": "as fmod",
    "int": "NaN and values beyond int32", "long": "as int", "short": "as int", "char": "as int", "byte": "as int",
    "cdouble": "a pair of parts", "cfloat": "a pair of parts", "chalf": "a pair of parts",
    "floor_divide": "the CPU's remainder, as fmod", "div.floor_rounding": "as floor_divide",
}
# Keys as in DIFFERENT. Before PyTorch 2.13, CPUs lose all digits of gelu below -5, even in float64, and return NaN for
# infinity.
EXACT = {"gelu": lambda x: x * torch.special.erfc(-x * .5**.5) / 2}
ACTIVATIONS = {
    "softshrink": F.softshrink, "hardshrink": F.hardshrink, "gelu": F.gelu, "gelu tanh": lambda x: F.gelu(x, approximate="tanh"),
    "elu": F.elu, "selu": F.selu, "celu": lambda x: F.celu(x, .5), "silu": F.silu, "mish": F.mish, "softplus": F.softplus,
    "hardtanh": F.hardtanh, "hardswish": F.hardswish, "hardsigmoid": F.hardsigmoid, "leaky_relu": F.leaky_relu, "relu": F.relu,
    "logsigmoid": F.logsigmoid, "threshold": lambda x: F.threshold(x, .1, 7.), "softsign": F.softsign, "glu": F.glu,
    "clamp": lambda x: x.clamp(-1, 1), "clamp below": lambda x: x.clamp(min=0), "clamp above": lambda x: x.clamp(max=0),
    "nan_to_num": torch.nan_to_num, "round": lambda x: x.round(decimals=2),
    **{f"power {p}": (lambda x, p=p: x**p) for p in (2, 3, .5, -.5, -1, -2, 1., 1.7)}, "exponential": lambda x: 2.**x,
    "softmax": lambda x: torch.stack([x, x + 1], 1).softmax(1), "logsumexp": lambda x: torch.stack([x, x + 1], 1).logsumexp(1),
    "sort": lambda x: x.sort(stable=True)[0].abs(), "topk": lambda x: x.topk(5)[0], "searchsorted":
    lambda x: torch.searchsorted(x[10:].sort()[0], x), "addcdiv": lambda x: torch.addcdiv(x, x, x.flip(0)),
    "lerp": lambda x: torch.lerp(x, x.flip(0), .3), "where": lambda x: torch.where(x > 0, x, x.flip(0)),
    "mse_loss": lambda x: F.mse_loss(x, x.flip(0), reduction="none"), "l1_loss": lambda x: F.l1_loss(x, x.flip(0), reduction="none"),
    "smooth_l1": lambda x: F.smooth_l1_loss(x, x.flip(0), reduction="none"),
    "huber": lambda x: F.huber_loss(x, x.flip(0), reduction="none"),
    "kl_div": lambda x: F.kl_div(x, x.flip(0), reduction="none"),
}
WITHOUT_GRADIENT = {"searchsorted": "its results are positions"}
REDUCTIONS = {name: getattr(torch, name) for name in (
    "sum", "mean", "nansum", "amax", "amin", "argmax", "argmin", "any", "all", "median", "nanmedian", "max", "min",
    "count_nonzero", "logsumexp")}
REDUCTIONS["logsumexp"] = lambda x: torch.logsumexp(x, 0)
ORDERS = (0, .5, 1, 1.5, 2, 3, 4, -1, -2, -.5, INFINITY, -INFINITY, 100)


def clipped(x, order):
    parameter = torch.zeros_like(x, requires_grad=True)
    parameter.grad = x.clone()
    torch.nn.utils.clip_grad_norm_([parameter], 1., order)
    return parameter.grad


def norms(order):
    """Yields the name of each norm, the norm, and None, or a function that is right where the CPU's norm is not."""
    yield "vector_norm", lambda x: torch.linalg.vector_norm(x, order), None
    yield "foreach_norm", lambda x: torch._foreach_norm([x], order)[0], None
    yield "clip_grad_norm_", lambda x: clipped(x, order), None
    if order > 0:
        yield "renorm", lambda x: torch.renorm(x[None], order, 0, 1.), None
        yield "normalize", lambda x: F.normalize(x[None], order), None
    if order >= 0:
        yield "pairwise_distance", lambda x: F.pairwise_distance(x[None], torch.zeros_like(x)[None], order), None
        # On CPUs, cdist ignores NaN with an infinite p; no other norm of infinite order does.
        largest = (lambda x: torch.linalg.vector_norm(x, order)[None, None]) if order == INFINITY else None
        yield "cdist", lambda x: torch.cdist(x[None], torch.zeros_like(x)[None], order), largest
        yield "pdist", lambda x: F.pdist(torch.stack([x, torch.zeros_like(x)]), order), None


def special(dtype):
    limits = torch.finfo(dtype)
    numbers = [NAN, INFINITY, -INFINITY, 0., -0., limits.max, limits.min, limits.tiny, -limits.tiny, limits.tiny / 2, 1., -1., .5, -.5,
               2., -2., 3., -3.5, 10., -10., 100., -100., 1e3, -1e3, limits.eps, 1 + limits.eps]
    return without_flushed(torch.tensor(numbers, dtype=torch.float64).to(dtype))


def with_its_options(op, dtype):
    """The unary operator with the additional arguments from PyTorch's list (polygamma its order, prelu its weight)."""
    options, _ = op.sample_kwargs("cpu", dtype, torch.ones(1, dtype=dtype))

    def function(x):
        there = {name: value.to(x.device) if isinstance(value, torch.Tensor) else value for name, value in options.items()}
        return op.op(x, **there)
    return function


def exact_polygamma(order):
    """CPUs lose digits of polygamma between its poles, even in float64, and return NaN for infinity. mpmath does not."""
    def one(x):
        if math.isnan(x) or x <= 0 and (math.isinf(x) or x == math.floor(x)):
            return torch.polygamma(order, torch.tensor(x, dtype=torch.float64)).item()
        return float(mpmath.polygamma(order, x)) if math.isfinite(x) else 0.
    return lambda x: torch.tensor([one(number) for number in x.tolist()], dtype=torch.float64)


def exact_version(op, dtype):
    """The function to compare with where the CPU's is inexact, or None."""
    if op.name == "polygamma":
        options, _ = op.sample_kwargs("cpu", dtype, torch.ones(1, dtype=dtype))
        return exact_polygamma(options["n"])
    return EXACT.get(op.full_name)


def is_compared(op) -> bool:
    """Excludes operators from CUDA's own compiler and those that draw random numbers."""
    return not op.name.startswith("jiterator") and op.name not in comparison.RANDOM_OPERATORS


def gradient_of(function):
    """The gradient of the sum of the function's results."""
    def gradient(x):
        x = x.clone().requires_grad_()
        y = function(x)
        return torch.autograd.grad(y, x, torch.ones_like(y))[0]
    return gradient


def one_by_one(function):
    return lambda x: torch.cat([function(one) for one in x.split(1)])


# If a derivative at NaN is a number, the comparisons in its definition select it. CUDA computes all elements in this way, CPUs
# only the last elements of a row: their vector instructions for the others select something else.
SELECTING = ("softshrink", "hardshrink", "elu", "selu", "celu", "hardtanh", "hardswish")
# CPUs lose the tail of gelu below -5, and they multiply float64 by float32's 1/6 in hardsigmoid.
EXACT_GRADIENTS = {
    **{name: one_by_one(gradient_of(ACTIVATIONS[name])) for name in SELECTING},
    "gelu": lambda x: torch.special.erfc(-x * .5**.5) / 2 + x * torch.exp(-x * x / 2) / math.sqrt(2 * math.pi),
    "hardsigmoid": lambda x: (x.abs() < 3).to(x.dtype) / 6,
}


def first(result):
    return result[0] if isinstance(result, tuple) else result


class SpecialValues(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        require_device()

    def compare(self, function, *arguments, exact=None):
        try:
            expected = first(function(*arguments))
        except (RuntimeError, NotImplementedError, IndexError):
            return  # the CPU has no kernel for the dtype
        found = first(function(*(argument.to(DEVICE) for argument in arguments))).cpu()
        self.assertEqual(found.dtype, expected.dtype)
        if not expected.is_floating_point():
            self.assertTrue(torch.equal(found, expected), f"{arguments}: {found}, on the CPU {expected}")
            return
        a, b = found.double(), expected.double()
        same = self.same(a, b, expected.dtype)
        if not same.all() and (exact or expected.dtype != torch.float64):
            wide = first((exact or function)(*(argument.double() for argument in arguments)))
            same |= self.same(a, wide.to(expected.dtype).double(), expected.dtype)
        places = (~same).nonzero()[:4].tolist()
        detail = [(place, a[tuple(place)].item(), b[tuple(place)].item()) for place in places]
        self.assertTrue(same.all().item(), f"at, device, CPU: {detail}")

    def same(self, a, b, dtype):
        limits = torch.finfo(dtype)
        same = (a == b) | (a.isnan() & b.isnan()) | ((a - b).abs() <= TOLERANCES[dtype] * b.abs() + limits.tiny)
        # At the end of the range, one step may reach infinity.
        return same | (a - b).isinf() & (b.abs() >= .99999 * limits.max) & (a.sign() == b.sign())

    def test_operators_of_one_tensor(self):
        for op, dtype in itertools.product((op for op in op_db if isinstance(op, UnaryUfuncInfo) and is_compared(op)), DTYPES):
            if op.full_name not in DIFFERENT:
                with self.subTest(operator=op.full_name, dtype=dtype):
                    self.compare(with_its_options(op, dtype), special(dtype).repeat(2), exact=exact_version(op, dtype))

    def test_operators_of_two_tensors(self):
        for op, dtype in itertools.product((op for op in op_db if isinstance(op, BinaryUfuncInfo) and is_compared(op)), DTYPES):
            if op.full_name not in DIFFERENT:
                with self.subTest(operator=op.full_name, dtype=dtype):
                    a, b = (grid.flatten() for grid in torch.meshgrid(special(dtype), special(dtype), indexing="ij"))
                    if op.full_name == "__rdiv__":  # PyTorch multiplies by the reciprocal
                        kept = ~are_flushed(a.reciprocal())
                        a, b = a[kept], b[kept]
                    self.compare(op.op, a, b)

    def test_activations(self):
        for (name, function), dtype in itertools.product(ACTIVATIONS.items(), DTYPES):
            with self.subTest(activation=name, dtype=dtype):
                self.compare(function, special(dtype).repeat(2), exact=EXACT.get(name))

    def test_gradients_of_activations(self):
        for (name, function), dtype in itertools.product(ACTIVATIONS.items(), DTYPES):
            if name not in WITHOUT_GRADIENT:
                with self.subTest(activation=name, dtype=dtype):
                    self.compare(gradient_of(function), special(dtype).repeat(2), exact=EXACT_GRADIENTS.get(name))

    def rows(self, dtype):
        """The special number among others, in a short row and in a row that several lanes reduce."""
        for number, length in itertools.product(special(dtype), (3, 700)):
            row = torch.full((length,), .5, dtype=dtype)
            row[1] = number
            yield row

    def test_reductions(self):
        for (name, function), dtype in itertools.product(REDUCTIONS.items(), DTYPES):
            with self.subTest(reduction=name, dtype=dtype):
                for row in self.rows(dtype):
                    self.compare(function, row)

    def test_norms(self):
        for order, dtype in itertools.product(ORDERS, DTYPES):
            for name, function, exact in norms(order):
                with self.subTest(norm=name, order=order, dtype=dtype):
                    for row in self.rows(dtype):
                        if row.isfinite().all() and row.abs().max() > 1e3:
                            continue  # their powers overflow in a different order
                        self.compare(function, row, exact=exact)

    def test_subnormal_exponents(self):
        """exp2 of numbers below the range is 0 in every dtype."""
        for dtype in DTYPES:
            self.compare(torch.exp2, torch.tensor([-130., -150., -200., -300., -1000., -1080., -2000., 200., 2000.]).to(dtype))


if __name__ == "__main__":
    unittest.main()
