"""cdist and its gradients."""

import unittest

import torch

from both_devices import NativeOnBoth, moved

EXPONENTS = (0., .5, 1., 1.5, 2., 3., float("inf"))


def numbers(*shape, dtype=torch.float32):
    return torch.randn(shape, dtype=dtype)


class Distances(NativeOnBoth):
    def test_values_and_gradients(self):
        for dtype in (torch.float32, torch.float64):
            for p in EXPONENTS:
                for first, second in (((5, 3), (7, 3)), ((17, 33), (16, 33)), ((2, 1, 4, 5), (3, 18, 5)), ((1, 1), (1, 1))):
                    with self.subTest(dtype=dtype, p=p, first=first, second=second):
                        self.same(lambda x, y: torch.cdist(x, y, p), numbers(*first, dtype=dtype).requires_grad_(),
                                  numbers(*second, dtype=dtype).requires_grad_(), tolerance=1e-4)

    def test_the_modes_of_euclidean_distances(self):
        for rows in (25, 26, 40):
            for mode in ("use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist"):
                self.same(lambda x, y: torch.cdist(x, y, compute_mode=mode), numbers(rows, 6).requires_grad_(),
                          numbers(2, 9, 6).requires_grad_(), tolerance=1e-4)

    def test_equal_rows(self):
        x = torch.randint(0, 3, (12, 2)).float()
        for p in EXPONENTS:
            self.same(lambda x, y: torch.cdist(x, y, p), x.clone().requires_grad_(), x.clone().requires_grad_())

    def test_special_values(self):
        x = torch.tensor([[0., 1], [float("nan"), 1], [float("inf"), 1], [-float("inf"), 2], [1e-30, 1e30]])
        for p in (1., 2.):
            self.same(lambda x: torch.cdist(x, x[:3], p), x)
        # For an infinite p, the CPU ignores some NaNs.
        largest = torch.cdist(moved(x), moved(x), float("inf")).cpu()
        self.assertTrue(largest[1].isnan().all())

    def test_layouts(self):
        self.same(lambda x, y: torch.cdist(x, y, 1.), numbers(6, 9).t().requires_grad_(), numbers(4, 12)[:, ::2].requires_grad_())
        self.same(lambda x: torch.cdist(x.expand(3, 4, 5), x.expand(3, 4, 5), 3.), numbers(4, 5))

    def test_without_elements(self):
        for first, second in (((0, 3), (4, 3)), ((4, 3), (0, 3)), ((4, 0), (5, 0)), ((0, 4, 3), (0, 5, 3))):
            for p in (0., 1., 2.):
                self.same(lambda x, y: torch.cdist(x, y, p), numbers(*first).requires_grad_(), numbers(*second).requires_grad_())

    def test_numerical(self):
        for p in (1.5, 2., 3.):
            there = moved([numbers(4, 3, dtype=torch.float64).requires_grad_(), numbers(5, 3, dtype=torch.float64).requires_grad_()])
            self.assertTrue(torch.autograd.gradcheck(lambda x, y: torch.cdist(x, y, p), there))

    def test_refused(self):
        for x, y, p in ((numbers(3), numbers(3), 2.), (numbers(2, 3), numbers(2, 4), 2.), (numbers(2, 3), numbers(2, 3), -1.)):
            with self.assertRaises(RuntimeError) as expected:
                torch.cdist(x, y, p)
            with self.assertRaises(RuntimeError) as found:
                torch.cdist(moved(x), moved(y), p)
            self.assertEqual(str(found.exception), str(expected.exception))


if __name__ == "__main__":
    unittest.main()
