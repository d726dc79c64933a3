"""Converts every dtype to every other with to(), copy_ and operators that test for nonzero, compared with the CPU."""

import itertools
import unittest

import torch

from support import DEVICE, require_device, without_flushed

INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.uint16, torch.uint32, torch.uint64)
FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
COMPLEX = (torch.complex64, torch.complex128)
DTYPES = (*INTEGERS, *FLOATS, *COMPLEX, torch.bool)
NAN, INFINITY = float("nan"), float("inf")


def values_of(dtype):
    """Numbers of the dtype, extremes among them."""
    if dtype == torch.bool:
        return torch.tensor([False, True] * 8)
    if dtype in INTEGERS:
        limits = torch.iinfo(dtype)
        return torch.tensor([0, 1, 2, 7, 100, limits.max, limits.max - 1, max(limits.min, -1), limits.min], dtype=dtype)
    if dtype in FLOATS:
        limits = torch.finfo(dtype)
        numbers = [0., -0., 1., -1., .5, -.5, 2.75, -2.75, 100.25, limits.max, limits.min, limits.tiny, limits.tiny / 4, NAN, INFINITY,
                   -INFINITY]
        return without_flushed(torch.tensor(numbers, dtype=torch.float64).to(dtype))
    parts = (0., -0., 1., -2.5, NAN, INFINITY)
    return torch.tensor([complex(a, b) for a, b in itertools.product(parts, parts)], dtype=dtype)


def defined(values, to):
    """The values whose conversion C++ defines: numbers that fit the integer dtype after truncation."""
    if to not in INTEGERS or values.dtype not in FLOATS + COMPLEX:
        return values
    real = (values.real if values.is_complex() else values).double().trunc()
    limits = torch.iinfo(to)
    # 2^63 and 2^64 are float64 numbers; the largest integers below them are not.
    return values[(real >= float(limits.min)) & (real < float(limits.max)) & real.isfinite()]


class Casts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        require_device()

    def compare(self, function, *tensors):
        expected = function(*tensors)
        found = function(*(tensor.to(DEVICE) for tensor in tensors))
        self.assertEqual(found.dtype, expected.dtype)
        torch.testing.assert_close(found.cpu(), expected, rtol=0, atol=0, equal_nan=True)

    def test_to(self):
        for source, target in itertools.product(DTYPES, DTYPES):
            values = defined(values_of(source), target)
            for shape in ("contiguous", "strided"):
                with self.subTest(source=source, target=target, shape=shape):
                    tensor = values if shape == "contiguous" else torch.stack([values, values], 1)[:, 0]
                    self.compare(lambda x: x.to(target), tensor)

    def test_nan_keeps_its_sign_in_a_wider_dtype(self):
        numbers = torch.tensor([NAN, -NAN, -0., -INFINITY] * 20)
        for source, target in itertools.combinations(FLOATS, 2):
            if (source, target) != (torch.float16, torch.bfloat16):
                with self.subTest(source=source, target=target):
                    here = torch.copysign(numbers.to(source), torch.tensor([1., -1., -1., -1.] * 20, dtype=source))
                    there = here.to(DEVICE)
                    self.assertEqual(here.signbit().tolist(), [False, True, True, True] * 20)
                    for result in (there.to(target), torch.zeros(80, dtype=target, device=DEVICE).copy_(there)):
                        self.assertTrue(torch.equal(result.cpu().signbit(), here.signbit()))

    def test_copy(self):
        for source, target in itertools.product(DTYPES, DTYPES):
            with self.subTest(source=source, target=target):
                values = defined(values_of(source), target)
                self.compare(lambda x: torch.zeros(x.shape, dtype=target, device=x.device).copy_(x), values)

    def test_conversion_to_bool(self):
        functions = {"bool": lambda x: x.bool(), "any": lambda x: x.any(), "all": lambda x: x.all(),
                     "any of each": lambda x: x[:, None].any(1), "all of each": lambda x: x[:, None].all(1),
                     "nonzero": lambda x: x.nonzero(), "count_nonzero": torch.count_nonzero,
                     "logical_not": torch.logical_not, "where": lambda x: torch.where(x.bool(), 1, 0),
                     "logical_and": lambda x: torch.logical_and(x, x.flip(0)),
                     "logical_or": lambda x: torch.logical_or(x, x.flip(0)),
                     "logical_xor": lambda x: torch.logical_xor(x, x.flip(0)),
                     "masked_fill": lambda x: torch.zeros(x.shape, device=x.device).masked_fill(x.bool(), 1.)}
        for dtype, (name, function) in itertools.product(DTYPES, functions.items()):
            with self.subTest(dtype=dtype, operator=name):
                values = values_of(dtype)
                try:
                    function(values)
                except (RuntimeError, NotImplementedError):
                    continue  # the CPU has no kernel for it
                self.compare(function, values)
                self.compare(function, values[:1])
                self.compare(function, values[values.abs() != 0] if dtype in FLOATS + COMPLEX else values[1:])

    def test_one_imaginary_number_is_true(self):
        for dtype in COMPLEX:
            tensor = torch.tensor([1j], dtype=dtype, device=DEVICE)
            self.assertEqual((tensor.bool().item(), tensor.any().item(), tensor.all().item()), (True, True, True))

    def test_unsigned_integers_are_not_treated_as_floats(self):
        """A dtype that no kernel supports runs on the CPU or is rejected; its bits are never interpreted as another
        dtype."""
        functions = {"sum": torch.sum, "prod": torch.prod, "max": torch.max, "argmax": torch.argmax, "sort": lambda x: x.sort()[0],
                     "topk": lambda x: x.topk(2)[0], "cumsum": lambda x: x.cumsum(0), "cummax": lambda x: x.cummax(0)[0],
                     "add": lambda x: x + x, "mul": lambda x: x * 2, "eq": lambda x: x == x.flip(0), "lt": lambda x: x < x.flip(0),
                     "where": lambda x: torch.where(x > 2, x, x.flip(0)), "cat": lambda x: torch.cat([x, x]),
                     "gather": lambda x: x.gather(0, torch.tensor([1, 0], device=x.device)),
                     "index_select": lambda x: x.index_select(0, torch.tensor([1, 0], device=x.device)),
                     "index_add": lambda x: x.index_add(0, torch.tensor([1], device=x.device), x[:1]),
                     "scatter_add": lambda x: x.scatter_add(0, torch.tensor([1], device=x.device), x[:1]),
                     "index_put": lambda x: x.index_put((torch.tensor([1], device=x.device),), x[:1], accumulate=True),
                     "median": torch.median, "unique": torch.unique, "any": torch.any, "nonzero": torch.nonzero,
                     "bitwise_and": lambda x: x & 3, "clamp": lambda x: x.clamp(1, 5), "mean": lambda x: x.float().mean(),
                     "searchsorted": lambda x: torch.searchsorted(x.sort()[0], x), "fill": lambda x: x.clone().fill_(7),
                     "matmul": lambda x: x @ x, "arange": lambda x: torch.arange(5, dtype=x.dtype, device=x.device),
                     "repeat_interleave": lambda x: x.repeat_interleave(2), "flip": lambda x: x.flip(0),
                     "masked_fill": lambda x: x.masked_fill(x > 2, 9), "triu": lambda x: x[None].triu()}
        for dtype, (name, function) in itertools.product((torch.uint16, torch.uint32, torch.uint64), functions.items()):
            with self.subTest(dtype=dtype, operator=name):
                values = torch.tensor([3, 1, 4, 1, 5, 9, 2, 6], dtype=dtype)
                try:
                    found = function(values.to(DEVICE))
                except (RuntimeError, NotImplementedError):
                    with self.assertRaises((RuntimeError, NotImplementedError)):
                        function(values)
                    continue
                self.assertEqual(found.tolist(), function(values.long()).tolist())

    def test_layouts(self):
        """Casts keep the strides that they keep on the CPU, and return the tensor itself in the same cases."""
        views = {
            "contiguous": lambda x: x, "permuted": lambda x: x.permute(2, 0, 3, 1), "one channel": lambda x: x[:, :1],
            "channels_last": lambda x: x.contiguous(memory_format=torch.channels_last), "part": lambda x: x[:, :, 1:4],
            "expanded": lambda x: x[:1].expand_as(x), "number": lambda x: x[0, 0, 0, 0], "empty": lambda x: x[:0],
            "complex": lambda x: torch.complex(x, x + 1), "conjugate": lambda x: torch.complex(x, x + 1).conj(),
            "negative": lambda x: torch.complex(x, x + 1).conj().imag,
        }
        formats = (torch.preserve_format, torch.contiguous_format, torch.channels_last)
        values = torch.randn(4, 3, 5, 6)
        for (name, view), memory_format, dtype, copy in itertools.product(
            views.items(), formats, (torch.float16, torch.float32, torch.int32, torch.complex64), (False, True)
        ):
            before, given = view(values), view(values.to(DEVICE))
            if memory_format == torch.channels_last and before.dim() != 4 or before.is_complex() and not dtype.is_complex:
                continue
            with self.subTest(view=name, memory_format=memory_format, dtype=dtype, copy=copy):
                expected = before.to(dtype, memory_format=memory_format, copy=copy)
                found = given.to(dtype, memory_format=memory_format, copy=copy)
                self.assertEqual((found.stride(), found.dtype, found is given), (expected.stride(), expected.dtype, expected is before))
                torch.testing.assert_close(found.cpu(), expected, rtol=0, atol=0)


if __name__ == "__main__":
    unittest.main()
