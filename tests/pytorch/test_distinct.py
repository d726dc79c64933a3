"""Counts, histograms, membership and distinct elements."""

import unittest

import torch

from both_devices import NativeOnBoth
from support import DEVICE

INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


class Counts(NativeOnBoth):
    def test_bincount(self):
        for dtype in INTEGERS:
            for size in (1, 255, 4097, 70_000):
                self.same(torch.bincount, torch.randint(0, 100, (size,)).to(dtype))
            self.same(lambda x: torch.bincount(x, minlength=300), torch.randint(0, 100, (999,)).to(dtype))
        self.same(torch.bincount, torch.randint(0, 100_000, (50_000,)))
        self.same(torch.bincount, torch.full((100_000,), 2047))
        self.same(torch.bincount, torch.full((100_000,), 2048))
        self.same(torch.bincount, torch.randint(0, 9, (60,))[::2])
        self.same(lambda x: torch.bincount(x, minlength=4), torch.zeros(0, dtype=torch.int64))

    def test_weights(self):
        index = torch.randint(0, 50, (10_000,))
        for dtype in (*INTEGERS, *FLOATS):
            self.same(torch.bincount, index, (torch.rand(10_000) * 4).to(dtype))

    def test_bincount_refuses(self):
        for arguments in ((torch.tensor([-1]),), (torch.tensor([[1]]),), (torch.tensor([1]), torch.ones(2))):
            with self.assertRaises(RuntimeError) as expected:
                torch.bincount(*arguments)
            with self.assertRaisesRegex(RuntimeError, str(expected.exception)):
                torch.bincount(*(x.to(DEVICE) for x in arguments))

    def test_histc(self):
        infinity = float("inf")
        for dtype in FLOATS:
            # The CPU counts in the dtype: bfloat16 cannot count beyond 256.
            for values in (torch.randn(250), torch.tensor(2.), torch.zeros(0), torch.full((5,), 3.),
                           torch.randn(10, 50)[:, ::2]):
                for bins in (1, 10, 100):
                    self.same(lambda x: torch.histc(x, bins), values.to(dtype))
                    self.same(lambda x: torch.histc(x, bins, -1, 1), values.to(dtype))
            edges = torch.tensor([0., .1, .2, .3, .4, .5, .6, .7, .8, .9, 1, -.1, 1.1, infinity, -infinity, float("nan")])
            self.same(lambda x: torch.histc(x, 10, 0, 1), edges.to(dtype))
        self.same(lambda x: torch.histc(x, 5000, -4, 4), torch.randn(100_000))

    def test_histc_refuses(self):
        values = torch.tensor([1., float("inf")])
        for function in (lambda x: torch.histc(x, 4), lambda x: torch.histc(x, 0), lambda x: torch.histc(x, 4, 3, 1),
                         lambda x: torch.histc(x, 4, 0, float("inf"))):
            with self.assertRaises(RuntimeError) as expected:
                function(values)
            with self.assertRaises(RuntimeError) as found:
                function(values.to(DEVICE))
            self.assertEqual(str(found.exception).splitlines()[0], str(expected.exception).splitlines()[0])


class Membership(NativeOnBoth):
    def test_dtypes_and_shapes(self):
        for dtype in (*INTEGERS, torch.float16, torch.float32, torch.float64):
            elements = torch.randint(0, 60, (50, 40)).to(dtype)
            for tests in (torch.randint(0, 60, (3,)), torch.randint(0, 60, (20, 30)), torch.zeros(0)):
                for invert in (False, True):
                    self.same(lambda x, y: torch.isin(x, y, invert=invert), elements, tests.to(dtype))
                    self.same(lambda x, y: torch.isin(x, y, invert=invert), elements.t(), tests.to(dtype))
        self.same(torch.isin, torch.zeros(0), torch.ones(3))

    def test_promotion_numbers_and_special_values(self):
        values = torch.tensor([0., -0., 1.5, float("nan"), float("inf"), 3])
        self.same(torch.isin, values, torch.tensor([0, 3]))
        self.same(torch.isin, torch.tensor([0, 3]), values)
        self.same(torch.isin, values, torch.tensor([-0., float("nan"), float("inf")]))
        self.same(lambda x: torch.isin(x, 3), values)
        self.same(lambda x: torch.isin(3, x), values)
        self.same(lambda x: torch.isin(x, 3, invert=True), values)

    def test_long(self):
        self.same(torch.isin, torch.randint(0, 10**9, (30_000,)), torch.randint(0, 10**9, (40_000,)))


class Distinct(NativeOnBoth):
    FORMS = [dict(return_inverse=inverse, return_counts=counts) for inverse in (False, True) for counts in (False, True)]

    def test_unique(self):
        for dtype in (torch.bool, *INTEGERS, *FLOATS):
            for shape in ((1,), (70, 50), (0,), (3, 0), ()):
                for form in self.FORMS:
                    self.same(lambda x: torch.unique(x, **form), torch.randint(0, 100, shape).to(dtype))
        for sorts in (False, True):
            self.same(lambda x: torch.unique(x, sorted=sorts, return_inverse=True), torch.randint(0, 9000, (200, 150)).t())

    def test_not_a_number(self):
        values = torch.tensor([1., float("nan"), 0, float("nan"), 1, -0.])
        for form in self.FORMS:
            self.same(lambda x: torch.unique(x, **form), values)
            self.same(lambda x: torch.unique_consecutive(x, **form), values)

    def test_consecutive(self):
        for dtype in (torch.bool, *INTEGERS, *FLOATS):
            for shape in ((1,), (70, 50), (0,), ()):
                for form in self.FORMS:
                    self.same(lambda x: torch.unique_consecutive(x, **form), torch.randint(0, 2, shape).to(dtype))

    def test_slices(self):
        for shape, dims in (((40, 2), (0, 1)), ((30, 2, 3), (0, 1, -1)), ((1, 5), (0,)), ((20_000, 3), (0,))):
            for dtype in (torch.int64, torch.float32, torch.bool, torch.uint8):
                values = torch.randint(0, 3, shape).to(dtype)
                for dim in dims:
                    for form in self.FORMS if dtype == torch.int64 else self.FORMS[-1:]:
                        self.same(lambda x: torch.unique(x, dim=dim, **form), values)
                        self.same(lambda x: torch.unique_consecutive(x, dim=dim, **form), values)
        self.same(lambda x: torch.unique(x, dim=0), torch.randn(50, 70)[torch.randint(0, 50, (200,))])
        self.same(lambda x: torch.unique(x, dim=0), torch.zeros(0, 3))

    def test_refused(self):
        for shape in ((3, 0), (0, 0)):
            with self.assertRaises(RuntimeError) as expected:
                torch.unique(torch.zeros(shape), dim=0)
            with self.assertRaisesRegex(RuntimeError, str(expected.exception).strip()):
                torch.unique(torch.zeros(shape, device=DEVICE), dim=0)

    def test_gradient_that_needs_distinct_indexes(self):
        self.same(lambda x, v: x.index_fill(0, torch.tensor([1, 3, 1], device=x.device), v),
                  torch.randn(5, 3).requires_grad_(), torch.tensor(2.).requires_grad_())


if __name__ == "__main__":
    unittest.main()
