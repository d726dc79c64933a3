"""Sorting and selection in lines longer than 2048 elements: merges, radix sort, radix select.

The reference is the CPU's stable sort: values must have the same bits, and equal ones the order of their indices.
"""

import math
import unittest

import torch

from both_devices import NativeTestCase, moved
from support import DEVICE, device_module, in_sample, is_cpu_driver

FLOATS = (torch.float32, torch.float16, torch.bfloat16, torch.float64)
INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
DTYPES = FLOATS + INTEGERS + (torch.bool,)
BITS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
#: A line of up to 2048 elements is sorted as one run; radix sort has blocks of 4096. One workgroup selects from a line of up to
#: 16,384 elements, 1024 at a time, or of any size if there are 512 lines or more; otherwise workgroups share a line in parts of
#: at least 8192 elements.
SIZES = (2049, 3071, 3072, 3073, 4095, 4096, 4097, 16_383, 16_384, 16_385, 24_576, 24_577)


def spread(shape, dtype):
    """Numbers over the whole range of the dtype."""
    if dtype == torch.bool:
        return torch.rand(shape) > 0.5
    if dtype.is_floating_point:
        return (torch.randn(shape, dtype=torch.float64) * torch.randn(shape, dtype=torch.float64).exp()).to(dtype)
    limits = torch.iinfo(dtype)
    return torch.randint(limits.min, limits.max, shape, dtype=dtype)


def few(shape, dtype):
    """Seven different numbers, so that ties cross every boundary."""
    return spread((7,), dtype)[torch.randint(0, 7, shape)]


def special(shape, dtype):
    """NaN of several bit patterns, infinities, both zeros, extremes, subnormals; or the extremes of integers."""
    if dtype == torch.bool:
        return few(shape, dtype)
    if not dtype.is_floating_point:
        limits = torch.iinfo(dtype)
        numbers = torch.tensor([limits.min, limits.min + 1, 0, 1, limits.max - 1, limits.max], dtype=dtype)
    else:
        limits = torch.finfo(dtype)
        numbers = torch.tensor([math.nan, -math.nan, math.inf, -math.inf, 0.0, -0.0, limits.max, limits.min,
                                limits.tiny, limits.tiny / 4, 1.0, -1.0], dtype=dtype)
        payload = numbers[:1].view(BITS[dtype.itemsize]) | 1
        numbers = torch.cat([numbers, payload.view(dtype)])
    return torch.where(torch.rand(shape) < 0.5, numbers[torch.randint(0, len(numbers), shape)], spread(shape, dtype))


def same_number(shape, dtype):
    return torch.ones(shape, dtype=dtype)


def close_together(shape, dtype):
    """Numbers that differ only in their last bits: the first digits select nothing."""
    if dtype == torch.bool:
        return same_number(shape, dtype)
    bits = torch.ones(shape, dtype=dtype).view(BITS[dtype.itemsize])
    return (bits + torch.randint(0, 9, shape, dtype=bits.dtype)).view(dtype)


def ascending(shape, dtype):
    return spread(shape, dtype).sort(dim=-1)[0]


KINDS = (spread, few, special, same_number, close_together, ascending)


def bits(tensor):
    return tensor.cpu().contiguous().view(torch.uint8 if tensor.dtype == torch.bool else BITS[tensor.dtype.itemsize])


class LongLines(NativeTestCase):
    #: In the tests of every dtype, a CPU driver runs one of this many cases; exhaustive/test_samples.py runs all.
    share = 3

    def chosen(self, *case):
        return not is_cpu_driver() or in_sample(str(case), self.share)

    def setUp(self):
        super().setUp()
        torch.manual_seed(7)

    def same(self, found, expected):
        for have, want in zip(found, expected):
            self.assert_on_device(have)
            self.assertEqual((have.dtype, have.shape), (want.dtype, want.shape))
            self.assertTrue(torch.equal(bits(have), bits(want)), f"{int((bits(have) != bits(want)).sum())} differ")

    def check_sort(self, x, dim=-1):
        there = moved(x)
        for descending in (False, True):
            self.same(there.sort(dim=dim, descending=descending, stable=True),
                      x.sort(dim=dim, descending=descending, stable=True))

    def check_selection(self, x, numbers, dim=-1):
        there = moved(x)
        up, down = x.sort(dim=dim, stable=True), x.sort(dim=dim, descending=True, stable=True)
        for k in numbers:
            with self.subTest(k=k):
                self.same(there.topk(k, dim), [part.narrow(dim, 0, k) for part in down])
                self.same(there.topk(k, dim, largest=False), [part.narrow(dim, 0, k) for part in up])
                self.same(there.kthvalue(k, dim, keepdim=True), [part.narrow(dim, k - 1, 1) for part in up])

    def check_medians(self, x):
        """The stable order decides which of several equal numbers is the result."""
        there, places = moved(x), x.sort(dim=-1, stable=True)[1]
        numbers = (~x.isnan()).sum(-1, keepdim=True)
        some = (numbers - 1).clamp(min=0).div(2, rounding_mode="floor")
        plain = torch.where(numbers == x.shape[-1], some, numbers)
        for function, at in ((torch.median, plain), (torch.nanmedian, some)):
            place = places.gather(-1, at)
            self.same(function(there, -1, keepdim=True), (bits(x).gather(-1, place).view(x.dtype), place))
        flat = x.reshape(-1)
        for function in (torch.median, torch.nanmedian):
            torch.testing.assert_close(function(there).cpu(), function(flat), rtol=0, atol=0, equal_nan=True)


class Sorting(LongLines):
    """The method depends on the size and number of lines and on the dtype (pytorch/src/operators/sorting/sort_lines.cpp): these lines are
    sorted by digits, unless they have fewer than 30,000 elements in all."""

    def test_sizes(self):
        for size in SIZES:
            for shape, dim in (((size,), 0), ((2, size, 3), 1)):
                with self.subTest(shape=shape):
                    self.check_sort(few(shape, torch.float32), dim)

    def test_digits_in_blocks(self):
        for dtypes, lines, sizes in (((torch.uint8, torch.bool), 40, (4095, 4096, 4097, 8191, 8192, 8193)),
                                     ((torch.int16, torch.float16), 140, (4096, 4097))):
            for dtype in dtypes:
                for size in sizes:
                    for shape, dim in (((lines, size), 1), ((lines // 5, size, 5), 1), ((size, lines), 0)):
                        with self.subTest(dtype=dtype, shape=shape):
                            self.check_sort(spread(shape, dtype), dim)
        self.check_sort(few((2049, 60, 2), torch.uint8), 0)

    def test_digits_of_every_dtype(self):
        for dtype in DTYPES:
            for kind in KINDS:
                if not self.chosen(dtype, kind.__name__):
                    continue
                with self.subTest(dtype=dtype, kind=kind.__name__):
                    self.check_sort(kind((2**19 + 5 if dtype.itemsize == 8 else 2**17 + 5,), dtype))
            with self.subTest(dtype=dtype):
                self.check_sort(special((5, 2**17 + 1 if dtype.itemsize == 8 else 2**15 + 1, 3), dtype), 1)

    def test_many_to_keep(self):
        for k in (2049, 5000, 40_001):
            for dtype in (torch.uint8, torch.float32):
                self.check_selection(few((3, 60_000), dtype), (k,))

    def test_random_permutation(self):
        order = torch.randperm(2**19 + 3, device=DEVICE).cpu()
        self.assertTrue(torch.equal(order.sort()[0], torch.arange(order.numel())))


class Selection(LongLines):
    def test_sizes(self):
        for size in SIZES:
            for shape, dim in (((size,), 0), ((2, size, 3), 1)):
                with self.subTest(shape=shape):
                    self.check_selection(few(shape, torch.float32), (1, 50, 2048), dim)
                    self.check_selection(spread(shape, torch.int32), (size // 2 if size < 4096 else 2047,), dim)

    def test_numbers(self):
        """Sizes around the limits of `entries`, which is bit_ceil(4 * k), between 512 and 2048."""
        for size in (2049, 5000, 30_000):
            for kind in (spread, few, same_number):
                with self.subTest(size=size, kind=kind.__name__):
                    self.check_selection(kind((2, size), torch.float32),
                                         (1, 2, 128, 129, 256, 257, 511, 512, 513, 1024, 2047, 2048, size))

    def test_every_dtype(self):
        for dtype in FLOATS + INTEGERS:  # PyTorch has no topk of bool
            for kind in KINDS:
                for shape in ((3, 5000), (2, 40_000)):
                    if not self.chosen(dtype, kind.__name__, shape):
                        continue
                    with self.subTest(dtype=dtype, kind=kind.__name__, shape=shape):
                        self.check_selection(kind(shape, dtype), (1, 60, 1500))

    def test_many_lines(self):
        for shape, dim in (((515, 2100), 1), ((3, 2500, 200), 1)):
            self.check_selection(few(shape, torch.float32), (1, 9), dim)
            self.check_selection(spread(shape, torch.bfloat16), (100,), dim)

    def test_medians(self):
        for dtype in FLOATS + INTEGERS:
            for kind in KINDS:
                for shape in ((3, 2049), (2, 30_000)):
                    if not self.chosen(dtype, kind.__name__, shape):
                        continue
                    with self.subTest(dtype=dtype, kind=kind.__name__, shape=shape):
                        self.check_medians(kind(shape, dtype))

    def test_medians_with_nan(self):
        for size in (2049, 20_001):
            for missing in (1, size // 2, size - 1, size):
                with self.subTest(size=size, missing=missing):
                    x = spread((4, size), torch.float32)
                    x[1, torch.randperm(size)[:missing]] = math.nan
                    self.check_medians(x)


class Memory(LongLines):
    """topk stores its results. If workgroups share a line, it also needs, per line, a histogram of 8 KiB, a state, and 12 bytes for
    each of the entries (bit_ceil(4 * k), between 512 and 2048). The allocator rounds sizes up."""

    ROUNDED, SMALL = 1.1, 8 * 1024

    def peak(self, function, x):
        module = device_module()
        there = moved(x)
        module.synchronize()
        before = module.memory_allocated()
        module.reset_peak_memory_stats()
        results = function(there)
        used = module.max_memory_allocated() - before
        del results
        return used

    def check(self, shape, k, scratch_per_line):
        lines = shape[0]
        results = lines * k * (4 + 8)
        used = self.peak(lambda x: x.topk(k), torch.rand(shape))
        self.assertLessEqual(used, (results + lines * scratch_per_line) * self.ROUNDED + self.SMALL)

    def test_topk(self):
        self.check((4, 200_000), 50, 8192 + 12 * 512 + 40)
        self.check((1, 300_000), 2048, 8192 + 12 * 2048 + 40)
        self.check((600, 3000), 50, 0)
        self.check((3, 10_000), 300, 0)

    def test_medians(self):
        used = self.peak(torch.median, torch.rand(500_000))
        self.assertLessEqual(used, (8192 + 12 * 512 + 40) * self.ROUNDED + self.SMALL)

    def test_sort(self):
        """Memory for the results, two copies of the elements and places, and two of the counts."""
        n = 2**18
        used = self.peak(torch.sort, torch.rand(n))
        self.assertLessEqual(used, (n * (4 + 8) + 2 * n * (4 + 4) + 2 * 1024 * n // 4096) * self.ROUNDED + self.SMALL)


if __name__ == "__main__":
    unittest.main()
