"""Every operator that draws random numbers, in every dtype: rejected where the CPU rejects it, otherwise the same
distribution, and nothing is written outside the tensor (REKINDLE_POISON=1 checks the memory around it)."""

import unittest

import torch
import torch.nn.functional as F

from support import DEVICE, device_module, require_device

COUNT = 4096
INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.uint16, torch.uint32, torch.uint64)
DTYPES = (*INTEGERS, torch.bool, torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64, torch.complex128)


def empty(dtype, device):
    return torch.empty(COUNT, dtype=dtype, device=device)


def full(number, dtype, device):
    return torch.full((COUNT,), number, device=device).to(dtype)


def below(dtype):
    return 2 if dtype == torch.bool else 100


# Functions of (dtype, device) whose results are compared.
DRAWS = {
    "random_": lambda t, d: empty(t, d).random_(),
    "random_ to": lambda t, d: empty(t, d).random_(below(t)),
    "random_ from to": lambda t, d: empty(t, d).random_(1, below(t)),
    "random_ from": lambda t, d: empty(t, d).random_(0, None),
    "random_ wide": lambda t, d: empty(t, d).random_(0, 2**40),
    "random_ negative": lambda t, d: empty(t, d).random_(-5, 5),
    "random_ strided": lambda t, d: torch.zeros(COUNT, 3, dtype=t, device=d)[:, 1].random_(0, 2),
    "randint": lambda t, d: torch.randint(0, 100, (COUNT,), dtype=t, device=d),
    "randint_like": lambda t, d: torch.randint_like(empty(t, d), 0, 100),
    "rand": lambda t, d: torch.rand(COUNT, dtype=t, device=d),
    "randn": lambda t, d: torch.randn(COUNT, dtype=t, device=d),
    "uniform_": lambda t, d: empty(t, d).uniform_(2, 5),
    "normal_": lambda t, d: empty(t, d).normal_(3, 2),
    "exponential_": lambda t, d: empty(t, d).exponential_(2),
    "geometric_": lambda t, d: empty(t, d).geometric_(.3),
    "cauchy_": lambda t, d: empty(t, d).cauchy_(1, 2),
    "log_normal_": lambda t, d: empty(t, d).log_normal_(0, .25),
    "bernoulli_": lambda t, d: empty(t, d).bernoulli_(.3),
    "bernoulli_ tensor": lambda t, d: empty(t, d).bernoulli_(torch.full((COUNT,), .3, device=d)),
    "bernoulli": lambda t, d: torch.bernoulli(full(.3, t, d)),
    "multinomial": lambda t, d: torch.multinomial(torch.tensor([.1, .2, .7], device=d).to(t), COUNT, True),
    "poisson": lambda t, d: torch.poisson(full(4., t, d)),
    "normal": lambda t, d: torch.normal(full(2., t, d), full(2., t, d)),
    "rand_like": lambda t, d: torch.rand_like(empty(t, d)),
    "dropout": lambda t, d: F.dropout(full(1., t, d), .3),
    "alpha_dropout": lambda t, d: F.alpha_dropout(full(1., t, d), .3, True),
    "rrelu": lambda t, d: F.rrelu(-full(1., t, d), training=True),
}
# The device supports these although the CPU has no kernel; the reference is another distribution on the CPU.
BEYOND_THE_CPU = {("rrelu", torch.float16): torch.float32}
UNSIGNED = (torch.uint16, torch.uint32, torch.uint64)


def numbers(tensor):
    """All numbers as float64, on the host."""
    tensor = tensor.cpu()
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor).flatten()
    if tensor.dtype == torch.uint64:
        low, high = tensor.view(torch.int64) & 0xffffffff, (tensor.view(torch.int64) >> 32) & 0xffffffff
        return high.double() * 2.0**32 + low.double()
    return tensor.double()


class Draws(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        require_device(cpu=False)

    def attempt(self, function, dtype, device):
        try:
            drawn = function(dtype, device)
            if device != "cpu":
                device_module().synchronize()
            return drawn, None
        except (RuntimeError, NotImplementedError, TypeError) as error:
            return None, str(error)

    def assert_alike(self, found, expected):
        """For equal distributions, the Kolmogorov-Smirnov distance of two samples of 4,096 exceeds 0.06 once in 10^6 times."""
        self.assertEqual(found.dtype, expected.dtype)
        a, b = numbers(found).sort()[0], numbers(expected).sort()[0]
        self.assertFalse(a.isnan().any())
        points = torch.cat([a, b])
        of_a = torch.searchsorted(a, points, right=True) / a.numel()
        of_b = torch.searchsorted(b, points, right=True) / b.numel()
        self.assertLess((of_a - of_b).abs().max().item(), .06, f"quartiles {a[::1024]} and {b[::1024]}")

    def test_every_dtype(self):
        torch.manual_seed(11)
        for name, function in DRAWS.items():
            for dtype in DTYPES:
                with self.subTest(operator=name, dtype=dtype):
                    if (name, dtype) in BEYOND_THE_CPU:
                        expected = function(BEYOND_THE_CPU[name, dtype], "cpu").to(dtype)
                        self.assert_alike(function(dtype, DEVICE), expected)
                        continue
                    if name == "random_" and dtype in UNSIGNED:
                        continue  # test_unsigned_numbers_fill_their_range: the CPU has no kernel
                    expected, refused = self.attempt(function, dtype, "cpu")
                    found, error = self.attempt(function, dtype, DEVICE)
                    self.assertEqual(error is None, refused is None, f"CPU: {refused}; device: {error}")
                    if expected is not None:
                        self.assert_alike(found, expected)

    def test_randperm(self):
        for dtype in DTYPES:
            with self.subTest(dtype=dtype):
                _, refused = self.attempt(lambda t, d: torch.randperm(100, dtype=t, device=d), dtype, "cpu")
                found, error = self.attempt(lambda t, d: torch.randperm(100, dtype=t, device=d), dtype, DEVICE)
                self.assertEqual(error is None, refused is None, f"CPU: {refused}; device: {error}")
                if found is not None:
                    self.assertEqual(numbers(found).sort()[0].tolist(), list(range(100)))

    def test_unsigned_numbers_fill_their_range(self):
        for dtype in INTEGERS:
            drawn, largest = numbers(empty(dtype, DEVICE).random_()), float(torch.iinfo(dtype).max)
            self.assertLess(drawn.min().item(), .02 * largest + 1)
            self.assertGreater(drawn.max().item(), .98 * largest - 1)


if __name__ == "__main__":
    unittest.main()
