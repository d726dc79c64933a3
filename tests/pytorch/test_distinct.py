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


if __name__ == "__main__":
    unittest.main()
