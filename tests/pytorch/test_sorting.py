"""sort, topk, medians, searches, random permutations."""

import math
import unittest

import torch

from both_devices import CloseOnBoth, moved
from support import DEVICE

DTYPES = (torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.uint8, torch.int8, torch.int16,
          torch.int32, torch.int64, torch.bool)


def numbers(shape, dtype=torch.float32):
    if dtype == torch.bool:
        return torch.rand(shape) > 0.5
    if dtype.is_floating_point:
        return torch.randn(shape, dtype=torch.float64).to(dtype)
    return torch.randint(0 if dtype == torch.uint8 else -100, 100, shape, dtype=dtype)


class Sorting(CloseOnBoth):
    def stable(self, values, dim=-1):
        for descending in (False, True):
            self.compare(torch.sort, values, dim=dim, descending=descending, stable=True)

    def test_dtypes(self):
        for dtype in DTYPES:
            with self.subTest(dtype=dtype):
                self.stable(numbers((6, 37), dtype))
                self.stable(numbers((70, 3), dtype), dim=0)

    def test_sizes(self):
        for size in (1, 2, 3, 511, 512, 513, 2047, 2048, 2049, 5000, 70_001):
            with self.subTest(size=size):
                self.stable(numbers((size,)).round(decimals=2))
        self.stable(numbers((5, 4500, 2)), dim=1)
        self.stable(numbers(()))
        self.stable(numbers((3, 0)))
        self.stable(numbers((700, 3, 20)).transpose(0, 2), dim=1)

    def test_special_numbers(self):
        values = numbers((3, 40))
        values[0, 3] = values[0, 20] = math.nan
        values[1, :3] = torch.tensor([0.0, -0.0, 0.0])
        values[2, 5], values[2, 6] = math.inf, -math.inf
        self.stable(values)
        self.stable(values.double())
        limits = torch.tensor([2**63 - 1, -2**63, 0, -1, 2**63 - 1])
        self.stable(limits)

    def test_argsort_msort_and_gradients(self):
        values = numbers((8, 30))
        self.compare(torch.argsort, values, dim=0, stable=True)
        self.compare(torch.msort, values)
        self.compare(lambda x: torch.sort(x, dim=1).values, values.requires_grad_())

    def test_out(self):
        values = numbers((4, 6))
        there = torch.empty((6, 4), device=DEVICE).t(), torch.empty((4, 6), dtype=torch.int64, device=DEVICE)
        torch.sort(moved(values), dim=1, out=there)
        expected = values.sort(dim=1)
        torch.testing.assert_close(there[0].cpu(), expected.values)
        torch.testing.assert_close(there[1].cpu(), expected.indices)


class Selection(CloseOnBoth):
    def test_topk(self):
        for shape, k in (((6, 40), 5), ((3, 5000), 10), ((50,), 50), ((4, 9), 0)):
            values = torch.randperm(math.prod(shape)).reshape(shape).float()
            for largest in (True, False):
                with self.subTest(shape=shape, k=k, largest=largest):
                    self.compare(torch.topk, values, k, largest=largest)
        self.compare(torch.topk, torch.randperm(120).reshape(8, 5, 3), 2, dim=1)
        self.compare(lambda x: torch.topk(x, 3).values, numbers((5, 20)).requires_grad_())
        with self.assertRaises((RuntimeError, IndexError)):
            torch.topk(moved(numbers((3,))), 4)

    def test_kthvalue(self):
        values = torch.randperm(600).reshape(10, 20, 3).float()
        for dim in (0, 1, 2):
            for keepdim in (False, True):
                self.compare(torch.kthvalue, values, 2, dim=dim, keepdim=keepdim)
        self.compare(torch.kthvalue, torch.tensor(3.0), 1)

    def test_median(self):
        values = torch.randperm(630).reshape(10, 21, 3).float()
        for function in (torch.median, torch.nanmedian):
            self.compare(function, values)
            for dim in (0, 1, 2):
                self.compare(function, values, dim=dim)
                self.compare(function, values, dim=dim, keepdim=True)
        values[3, 4, 1] = values[2, 4, 0] = math.nan
        self.compare(torch.median, values)
        self.compare(torch.nanmedian, values)
        self.compare(torch.median, values, dim=1)
        self.compare(torch.nanmedian, values, dim=1)
        self.compare(torch.median, torch.randperm(3001))


class Searches(CloseOnBoth):
    def test_search(self):
        boundaries = numbers((5, 60)).sort(dim=1).values
        values = numbers((5, 33))
        values[:, :5] = boundaries[:, 10:15]
        for right in (False, True):
            for int32 in (False, True):
                self.compare(torch.searchsorted, boundaries, values, right=right, out_int32=int32)
                self.compare(torch.bucketize, values, boundaries[0], right=right, out_int32=int32)
        self.compare(torch.searchsorted, boundaries[0], 0.3, side="right")
        self.compare(torch.searchsorted, boundaries[0], values)
        self.compare(torch.bucketize, torch.randint(0, 9, (4, 4)), torch.arange(2, 9, 2))
        order = torch.randperm(60)
        shuffled = boundaries[0][order]
        self.compare(torch.searchsorted, shuffled, values[0], sorter=torch.argsort(shuffled))

    def test_random_permutation(self):
        for n in (0, 1, 10, 3000):
            order = torch.randperm(n, device=DEVICE)
            self.assertEqual(order.cpu().sort().values.tolist(), list(range(n)))
        torch.manual_seed(3)
        first = torch.randperm(100, device=DEVICE)
        torch.manual_seed(3)
        self.assertTrue(torch.equal(torch.randperm(100, device=DEVICE).cpu(), first.cpu()))
        self.assertNotEqual(first.tolist(), list(range(100)))


if __name__ == "__main__":
    unittest.main()
