"""Compares the cases of block_cases.py with the CPU."""

import torch

from both_devices import DeviceTestCase, tensors_of
from support import DEVICE, fallback_counts


def numbers_of(results):
    return [x.detach().cpu() for x in tensors_of(results)]


class BlockComparison(DeviceTestCase):
    def setUp(self):
        torch.manual_seed(1)

    def compare_all(self, name, comparisons):
        for comparison in comparisons:
            with self.subTest(f"{name}: {comparison.what}"):
                self.compare(comparison)

    def compare(self, comparison):
        exact = comparison.tolerance is None
        arguments = comparison.arguments if exact else [x.double() if x.is_floating_point() else x
                                                        for x in comparison.arguments]
        before = fallback_counts()
        got = numbers_of(comparison.function(*(x.to(DEVICE) for x in comparison.arguments)))
        if comparison.native:
            self.assert_native(before)
        expected = numbers_of(comparison.function(*arguments))
        self.assertEqual(len(expected), len(got))
        for want, have in zip(expected, got):
            if exact or not want.is_floating_point():
                self.assertEqual(have.dtype, want.dtype)
                self.assertTrue(torch.equal(have, want), self.first_difference(have, want))
            else:
                scale = comparison.scale or (float(want.abs().max()) if want.numel() else 1.0)
                torch.testing.assert_close(have.double(), want.double(), rtol=comparison.tolerance,
                                           atol=comparison.tolerance * max(scale, 1e-30))

    @staticmethod
    def first_difference(have, want):
        if have.shape != want.shape:
            return f"shape {tuple(have.shape)}, not {tuple(want.shape)}"
        different = (have != want).flatten().nonzero().flatten()
        first = int(different[0]) if different.numel() else -1
        return (f"{different.numel()} of {want.numel()} elements differ, the first at {first}: "
                f"{have.flatten()[first]}, not {want.flatten()[first]}")

    def check_random_numbers(self, size):
        """All elements are written, including the last ones, and the mean matches the distribution."""
        draws = {"uniform_": (lambda x: x.uniform_(), 0, 1, 0.5, 0.2887),
                 "normal_": (lambda x: x.normal_(), -8, 8, 0.0, 1.0),
                 "bernoulli_": (lambda x: x.bernoulli_(0.25), 0, 1, 0.25, 0.4331),
                 "random_": (lambda x: x.random_(0, 101), 0, 100, 50.0, 29.155),
                 "dropout": (lambda x: torch.nn.functional.dropout(torch.ones_like(x), 0.5), 0, 2, 1.0, 1.0)}
        for dtype in (torch.float32, torch.float64):
            for name, (draw, low, high, mean, std) in draws.items():
                with self.subTest(f"{name} of {size} x {dtype}"):
                    numbers = draw(torch.full((size,), -99.0, dtype=dtype, device=DEVICE)).cpu().double()
                    self.assertGreaterEqual(float(numbers.min()), low)
                    self.assertLessEqual(float(numbers.max()), high)
                    self.assertLess(abs(float(numbers.mean()) - mean), 6 * std / size**0.5)
        order = torch.randperm(min(size, 2**20), device=DEVICE).cpu()
        self.assertTrue(torch.equal(order.sort()[0], torch.arange(order.numel())), f"randperm of {order.numel()}")
