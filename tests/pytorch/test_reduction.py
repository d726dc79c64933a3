"""Sums, means, extremes, norms, variances, cumulative operations, softmax and likelihoods."""

import itertools
import math
import unittest
import warnings

import torch
import torch.nn.functional as F

from both_devices import CloseOnBoth, moved
from support import DEVICE

FLOATS = (torch.float32, torch.float16, torch.bfloat16, torch.float64)
INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.bool)


def numbers(shape, dtype=torch.float32, low=-3, high=4):
    if dtype.is_floating_point:
        return torch.randn(shape, dtype=torch.float64).to(dtype)
    if dtype == torch.bool:
        return torch.rand(shape) > 0.3
    return torch.randint(0 if dtype == torch.uint8 else low, high, shape, dtype=dtype)


def layouts(dtype=torch.float32):
    """Contiguous, transposed, sliced, expanded, channels_last, empty, and without dimensions."""
    yield numbers((5, 7, 33), dtype), (0, 1, 2)
    yield numbers((33, 7, 12), dtype).transpose(0, 2), (0, 2, (0, 2))
    yield numbers((9, 40, 30), dtype)[::2, 3:37, 1::3], (1, (0, 1))
    yield numbers((6, 1, 5), dtype).expand(6, 9, 5), (1, (1, 2))
    yield numbers((2, 8, 5, 6), dtype).contiguous(memory_format=torch.channels_last), (1, (0, 2, 3), (2, 3))
    yield numbers((), dtype), (0,)


class Sums(CloseOnBoth):
    def test_layouts(self):
        for values, dims in layouts():
            self.compare(torch.sum, values)
            self.compare(torch.mean, values)
            for dim in dims:
                for keepdim in (False, True):
                    with self.subTest(shape=tuple(values.shape), stride=values.stride(), dim=dim, keepdim=keepdim):
                        self.compare(torch.sum, values, dim=dim, keepdim=keepdim)
                        self.compare(torch.amax, values, dim=dim, keepdim=keepdim)

    def test_operations(self):
        values = numbers((6, 35, 5))
        for function in (torch.mean, torch.amin, torch.var, torch.std, torch.logsumexp, torch.nansum, torch.any,
                         torch.all):
            with self.subTest(function=function):
                self.compare(function, values, dim=1)
                self.compare(function, values.transpose(0, 1), dim=(0, 2), keepdim=True)

    def test_dtypes(self):
        for dtype in FLOATS + INTEGERS:
            values = numbers((70, 6), dtype)
            with self.subTest(dtype=dtype):
                self.compare(torch.sum, values, tolerance=(2e-2, 5e-2) if dtype.itemsize == 2 else None)
                self.compare(torch.amax, values, dim=0)
                self.compare(torch.amin, values, dim=-1)
                self.compare(torch.any, values, dim=0)
                self.compare(torch.count_nonzero, values)
                if dtype.is_floating_point:
                    self.compare(torch.mean, values, dim=-1)

    def test_gradients(self):
        for function in (torch.sum, torch.mean, torch.var, torch.std, torch.logsumexp):
            values = numbers((6, 5, 9)).requires_grad_()
            with self.subTest(function=function):
                self.compare(function, values, dim=(0, 2))
                self.compare(function, values, dim=(1,))

    def test_many_dimensions(self):
        values = numbers((2, 3, 2, 3, 2, 3, 2, 3))
        self.compare(torch.sum, values, dim=(0, 2, 4, 6))
        self.compare(torch.sum, values, dim=(1, 3, 5, 7))
        self.compare(torch.amax, values.permute(3, 1, 5, 0, 7, 2, 6, 4), dim=(0, 2, 5, 7))

    def test_large_in_two_passes(self):
        values = numbers((300_007,))
        exact = values.double().sum().float()
        torch.testing.assert_close(moved(values).sum().cpu(), exact, rtol=0, atol=2e-3)
        self.compare(torch.amax, values)
        self.compare(torch.argmax, values)
        self.compare(torch.std, values)
        self.compare(torch.sum, numbers((70_001, 3)), dim=0, tolerance=(1e-5, 2e-3))
        self.compare(torch.mean, numbers((2, 3, 200, 210)), dim=(0, 2, 3))
        self.compare(torch.sum, numbers((200_000,), torch.int32))

    def test_sum_is_accurate_and_repeatable(self):
        ones = torch.full((1 << 20,), 0.1)
        there = moved(ones)
        first = there.sum().cpu()
        torch.testing.assert_close(first, ones.double().sum().float(), rtol=1e-6, atol=0)
        self.assertTrue(torch.equal(there.sum().cpu(), first))

    def test_out(self):
        values = numbers((4, 6))
        there = moved(values)
        out = torch.empty((6, 2), device=DEVICE)[:, 0]
        torch.sum(there, 0, out=out)
        torch.testing.assert_close(out.cpu(), values.sum(0))
        resized = torch.empty(0, device=DEVICE)
        torch.mean(there, 1, out=resized)
        torch.testing.assert_close(resized.cpu(), values.mean(1))
        with self.assertRaises(RuntimeError):
            torch.amax(there, 0, out=torch.empty(6, dtype=torch.int64, device=DEVICE))

    def test_empty(self):
        for function in (torch.sum, torch.mean, torch.var, torch.prod):
            self.compare(function, numbers((0,)))
        for dim in (0, 1):
            self.compare(torch.sum, numbers((0, 3)), dim=dim)
            self.compare(torch.prod, numbers((0, 3)), dim=dim)
        self.compare(torch.amax, numbers((0, 3)), dim=1)
        with self.assertRaises((RuntimeError, IndexError)):
            torch.amax(moved(numbers((0, 3))), dim=0)

    def test_products(self):
        self.compare(torch.prod, numbers((4, 9)))
        self.compare(torch.prod, numbers((4, 9)), dim=0)
        self.compare(torch.prod, numbers((4, 9), torch.int32), dim=1)

    def test_nan_of_nansum(self):
        values = numbers((8, 9))
        values[2, 3] = math.nan
        self.compare(torch.nansum, values)
        self.compare(torch.nansum, values, dim=0)
        self.compare(torch.nanmean, values)

    def test_variance(self):
        values = numbers((7, 40)) + 1000
        for correction in (0, 1, 2.5):
            self.compare(torch.var, values, dim=1, correction=correction, tolerance=(1e-4, 1e-4))
            self.compare(torch.std_mean, values, dim=0, correction=correction, tolerance=(1e-4, 1e-4))
            self.compare(torch.var_mean, values, dim=(0, 1), correction=correction, tolerance=(1e-4, 1e-4))
        self.compare(torch.var, numbers((1,)))

    def test_norms(self):
        values = numbers((6, 20))
        for p in (0, 1, 2, 3, 0.5, -1, math.inf, -math.inf):
            with self.subTest(p=p):
                self.compare(torch.linalg.vector_norm, values, ord=p, dim=1)
        self.compare(torch.linalg.vector_norm, values)
        self.compare(torch.norm, values, p=2, dim=0)
        self.compare(torch.norm, values, p=1)
        counted = values.masked_fill(values.abs() < 0.5, 0)
        for dtype in (torch.float16, torch.float32, torch.float64):
            self.compare(torch.linalg.vector_norm, counted.to(dtype), ord=0, dim=1)
        self.compare(torch.linalg.vector_norm, values.requires_grad_(), dim=1)


class Extremes(CloseOnBoth):
    def test_indices(self):
        functions = (torch.argmax, torch.argmin, torch.max, torch.min, torch.aminmax)
        values = numbers((6, 35, 4))
        for function in functions:
            self.compare(function, values)
            self.compare(function, values.transpose(0, 1))
            for dim in (0, 1, -1):
                with self.subTest(function=function, dim=dim):
                    self.compare(function, values, dim=dim)
                    self.compare(function, values, dim=dim, keepdim=True)
        for dtype in (torch.float16, torch.int64, torch.uint8, torch.float64):
            with self.subTest(dtype=dtype):
                self.compare(torch.max, numbers((6, 35, 4), dtype), dim=1)
                self.compare(torch.argmin, numbers((6, 35, 4), dtype), dim=1)

    def test_first_of_equal_values(self):
        values = torch.tensor([[1.0, 3.0, 3.0, 0.0, 0.0], [2.0, 2.0, 2.0, 2.0, 2.0]])
        self.compare(torch.max, values, dim=1)
        self.compare(torch.min, values, dim=1)
        self.assertEqual(torch.zeros(70_000, device=DEVICE).argmax().item(), 0)

    def test_nan_wins(self):
        values = numbers((5, 300))
        values[1, 17] = values[1, 40] = values[3, 299] = math.nan
        values[4] = -math.inf
        for function in (torch.max, torch.min):
            self.compare(function, values)
            self.compare(function, values, dim=1)
        for function in (torch.argmax, torch.argmin, torch.amax, torch.amin):
            self.compare(function, values, dim=1)

    def test_gradients(self):
        values = numbers((5, 7)).requires_grad_()
        self.compare(lambda x: torch.max(x, dim=1).values, values)
        self.compare(torch.amax, values, dim=0)

    def test_equal(self):
        values = numbers((70, 9))
        there = moved(values)
        self.assertTrue(torch.equal(there, moved(values)))
        self.assertFalse(torch.equal(there, there.t()))
        other = moved(values)
        other[69, 8] += 1
        self.assertFalse(torch.equal(there, other))

    def test_strided_results(self):
        values = numbers((3, 4, 5))
        there = moved(values)
        largest = torch.empty((5, 3), device=DEVICE).t()
        at = torch.empty((3, 5), dtype=torch.int64, device=DEVICE)
        torch.max(there, 1, out=(largest, at))
        expected = values.max(1)
        torch.testing.assert_close(largest.cpu(), expected.values)
        torch.testing.assert_close(at.cpu(), expected.indices)


class EmptyDimensions(unittest.TestCase):
    """Every operator along a dimension without elements: the CPU's result, or its error with its first line."""

    OPERATORS = """sum mean prod amax amin aminmax argmax argmin max min median nanmedian mode kthvalue std var std_mean
        var_mean logsumexp norm cumsum cumprod cummax cummin logcumsumexp sort argsort topk any all count_nonzero nansum
        nanmean softmax log_softmax quantile unique_consecutive diff flip roll renorm trapezoid""".split()
    ARGUMENTS = {"kthvalue": [1], "topk": [1], "quantile": [0.5], "norm": [2], "roll": [1], "renorm": [2]}

    def outcome(self, name, device, shape, dim, options):
        function = getattr(torch, name, None) or getattr(torch.Tensor, name)
        try:
            results = function(torch.zeros(shape, device=device), *self.ARGUMENTS.get(name, []), *dim, **options)
        except (RuntimeError, IndexError, TypeError) as error:
            return type(error), str(error).splitlines()[0]
        results = results if isinstance(results, (tuple, list)) else [results]
        return [(t.shape, t.dtype, t.cpu().nan_to_num(7).tolist()) for t in results]

    def test_each(self):
        for name, options in itertools.product(self.OPERATORS, ({}, {"keepdim": True})):
            for shape, dim in (((2, 0, 4), [1]), ((2, 0, 4), [0]), ((0,), [0]), ((0,), [])):
                with self.subTest(name, shape=shape, dim=dim, options=options), warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # variances have no degrees of freedom
                    case = (shape, dim, options)
                    self.assertEqual(self.outcome(name, DEVICE, *case), self.outcome(name, "cpu", *case))


class Cumulative(CloseOnBoth):
    def test_sums_and_products(self):
        for shape, dim in (((7, 300), 1), ((40, 3, 5), 0)):
            values = numbers(shape)
            with self.subTest(shape=shape):
                self.compare(torch.cumsum, values, dim, tolerance=(1e-4, 1e-4))
                self.compare(torch.cumprod, values, dim, tolerance=(1e-4, 1e-6))
                self.compare(torch.logcumsumexp, values, dim)
                self.compare(torch.cummax, values, dim)
                self.compare(torch.cummin, values, dim)
        for shape in ((2500,), (3, 40, 5), ()):
            self.compare(torch.cumsum, numbers(shape), -1, tolerance=(1e-4, 1e-4))
            self.compare(torch.cumsum, numbers(shape), 0, tolerance=(1e-4, 1e-4))
        self.compare(torch.cumsum, numbers((20, 7), torch.int32), 0)
        self.compare(torch.cumsum, numbers((20, 7), torch.bool), 1)
        self.compare(torch.cumsum, numbers((3, 20, 7)).transpose(0, 2), 1)
        self.compare(torch.cumsum, numbers((100_000,), torch.float64), 0)
        self.compare(torch.cumsum, numbers((0, 3)), 0)

    def test_nan_and_equal_values(self):
        values = torch.tensor([1.0, 3.0, 3.0, 2.0, math.nan, 5.0, -math.inf, math.nan])
        for function in (torch.cummax, torch.cummin):
            self.compare(function, values, 0)
            self.compare(function, values[:4], 0)
        infinite = torch.tensor([-math.inf, -math.inf, 1.0, math.inf, 2.0])
        self.compare(torch.logcumsumexp, infinite[:3], 0)
        self.compare(torch.logcumsumexp, infinite, 0)

    def test_gradients(self):
        values = numbers((6, 9)).requires_grad_()
        for function in (torch.cumsum, torch.cumprod, torch.logcumsumexp):
            self.compare(function, values, 1, tolerance=(1e-4, 1e-5))
        self.compare(lambda x: torch.cummax(x, 0).values, values)

    def test_in_place_and_out(self):
        values = numbers((5, 6))
        there = moved(values)
        there.cumsum_(1)
        torch.testing.assert_close(there.cpu(), values.cumsum(1))
        out = torch.empty((6, 5), device=DEVICE).t()
        torch.cumprod(moved(values), 0, out=out)
        torch.testing.assert_close(out.cpu(), values.cumprod(0))


class Softmax(CloseOnBoth):
    def test_shapes(self):
        for shape in ((4, 10), (2, 3, 4, 5), (300, 2), (5, 70_000), ()):
            values = numbers(shape).requires_grad_()
            for dim in range(max(len(shape), 1)):
                with self.subTest(shape=shape, dim=dim):
                    self.compare(F.softmax, values, dim=dim)
                    self.compare(F.log_softmax, values, dim=dim)
        self.compare(F.softmax, numbers((6, 20, 3)).transpose(0, 1).requires_grad_(), dim=0)
        self.compare(F.softmax, numbers((0, 4)), dim=1)
        self.compare(F.softmax, numbers((4, 0)), dim=1)

    def test_dtypes(self):
        for dtype in FLOATS:
            values = numbers((9, 33), dtype).requires_grad_()
            self.compare(F.softmax, values, dim=1)
            self.compare(F.log_softmax, values, dim=0)
        self.compare(F.softmax, numbers((9, 33), torch.bfloat16), dim=1, dtype=torch.float32)

    def test_infinite(self):
        values = numbers((4, 9))
        values[0, 2] = -math.inf
        values[1] = -math.inf
        values[2, 3] = math.inf
        values[3, 3] = math.nan
        self.compare(F.softmax, values, dim=1)
        self.compare(F.log_softmax, values, dim=1)
        self.compare(F.softmax, values * 1e30, dim=0)


class Likelihood(CloseOnBoth):
    def test_classes(self):
        target = torch.randint(0, 7, (50,))
        target[3] = target[11] = -100
        for reduction in ("mean", "sum", "none"):
            for weight in (None, torch.rand(7)):
                with self.subTest(reduction=reduction, weight=weight is not None):
                    values = numbers((50, 7)).requires_grad_()
                    self.compare(F.cross_entropy, values, target, weight=weight, reduction=reduction)
                    self.compare(F.nll_loss, values, target.clamp(min=0), weight=weight, reduction=reduction,
                                 ignore_index=2)
        self.compare(F.cross_entropy, numbers((7,)).requires_grad_(), torch.tensor(4))
        self.compare(F.cross_entropy, numbers((50, 7)).requires_grad_(), target, label_smoothing=0.1)
        self.compare(F.cross_entropy, numbers((5, 7), torch.float64).requires_grad_(), target[:5])

    def test_images(self):
        target = torch.randint(0, 4, (2, 5, 6))
        for reduction in ("mean", "sum", "none"):
            values = numbers((2, 4, 5, 6)).requires_grad_()
            self.compare(F.cross_entropy, values, target, reduction=reduction)
            self.compare(F.cross_entropy, values, target, weight=torch.rand(4), reduction=reduction, ignore_index=1)

    def test_many_samples(self):
        self.compare(F.cross_entropy, numbers((70_000, 3)).requires_grad_(), torch.randint(0, 3, (70_000,)))


if __name__ == "__main__":
    unittest.main()
