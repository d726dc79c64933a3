"""Random numbers whose parameters are tensors, and assertions about them. Nothing is copied to the host."""

import math
import unittest

import torch

from both_devices import NativeTestCase
from support import DEVICE, device_module


def chi_square(counts, probabilities):
    """Returns how far counts are from their expectation, in standard deviations of the chi-square distribution."""
    probabilities = probabilities.double()
    possible = probabilities > 0
    expected = probabilities[possible] * counts.sum()
    statistic = ((counts.double()[possible] - expected) ** 2 / expected).sum().item()
    freedom = int(possible.sum()) - 1
    return (statistic - freedom) / math.sqrt(2 * freedom)


class DrawnTestCase(NativeTestCase):
    def setUp(self):
        super().setUp()
        torch.manual_seed(11)


class Assertions(DrawnTestCase):
    def test_messages_arrive_at_the_next_synchronization(self):
        for value in (torch.tensor(0), torch.tensor(False), torch.tensor(-0.0), torch.tensor([0.], dtype=torch.float16)):
            torch._assert_async(value.to(DEVICE), "the first message")
            torch._assert_async(value.to(DEVICE), "the second message")
            with self.assertRaisesRegex(RuntimeError, "the first message.*reported by an operator queued earlier"):
                device_module().synchronize()
            device_module().synchronize()
        torch._assert_async(torch.zeros((), device=DEVICE))
        with self.assertRaisesRegex(RuntimeError, "Expected Tensor with single nonzero value, but got zero"):
            device_module().synchronize()

    def test_what_holds_is_not_reported(self):
        for value in (1, -1, 2**40, 0.5, float("nan"), float("-inf"), True):
            torch._assert_async(torch.tensor(value).to(DEVICE), "not this")
        torch._assert_async(torch.full((), 128, dtype=torch.uint8, device=DEVICE), "not this")
        device_module().synchronize()

    def test_refused_at_once(self):
        for count, text in ((0, "no values"), (2, "more than one value")):
            with self.assertRaisesRegex(RuntimeError, f"Boolean value of Tensor with {text} is ambiguous"):
                torch._assert_async(torch.ones(count, device=DEVICE))

    def test_many_messages(self):
        for number in range(3000):
            torch._assert_async(torch.ones((), device=DEVICE), f"message {number}")
        torch._assert_async(torch.zeros((), device=DEVICE), "message 2")
        with self.assertRaisesRegex(RuntimeError, "message 2 "):
            device_module().synchronize()

    def test_functional(self):
        token = torch.ops.aten._functional_assert_async.msg(torch.zeros((), device=DEVICE), "functional",
                                                            torch.ones(2, device=DEVICE))
        self.assertEqual(token.shape, (2,))
        with self.assertRaisesRegex(RuntimeError, "functional"):
            device_module().synchronize()


class Multinomial(DrawnTestCase):
    def test_frequencies(self):
        for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
            for categories in (2, 7, 1000):
                weights = torch.rand(categories).to(dtype)
                weights[::3] = 0
                drawn = torch.multinomial(weights.to(DEVICE), 200_000, replacement=True)
                self.assertEqual(drawn.dtype, torch.int64)
                counts = drawn.cpu().bincount(minlength=categories)
                self.assertEqual(counts[weights == 0].sum().item(), 0)
                if categories > 2:
                    self.assertLess(abs(chi_square(counts, weights.double() / weights.double().sum())), 5)

    def test_rows_have_their_own_distributions(self):
        weights = torch.tensor([[0., 0, 1, 0], [3, 1, 0, 0], [0, 0, 0, 5]])
        drawn = torch.multinomial(weights.to(DEVICE), 40_000, replacement=True).cpu()
        self.assertEqual(drawn.shape, (3, 40_000))
        self.assertTrue((drawn[0] == 2).all() and (drawn[2] == 3).all())
        self.assertLess(abs(chi_square(drawn[1].bincount(minlength=4), weights[1] / 4)), 5)

    def test_shapes_and_layouts(self):
        weights = torch.rand(6, 5).to(DEVICE)
        self.assertEqual(torch.multinomial(weights.t(), 9, True).shape, (5, 9))
        self.assertEqual(torch.multinomial(weights[:0], 9, True).shape, (0, 9))
        out = torch.empty(0, dtype=torch.int64, device=DEVICE)
        self.assertIs(torch.multinomial(weights[0], 3, True, out=out), out)
        self.assertEqual(out.shape, (3,))

    def test_seeds(self):
        weights = torch.rand(100).to(DEVICE)
        one, same = (torch.multinomial(weights, 50, True, generator=torch.Generator(DEVICE).manual_seed(4))
                     for _ in range(2))
        self.assertTrue(torch.equal(one, same))
        self.assertFalse(torch.equal(one, torch.multinomial(weights, 50, True)))

    def test_many_categories(self):
        # Of 2^20 categories only the last has a noticeable probability: the running sums end exactly there.
        weights = torch.zeros(2**20)
        weights[12345], weights[-1] = 1e-3, 1
        drawn = torch.multinomial(weights.to(DEVICE), 100_000, True).cpu()
        self.assertEqual(set(drawn.tolist()), {12345, 2**20 - 1})

    def test_messages(self):
        for weights, text in (([-1., 2], "entry < 0"), ([float("nan"), 2], "entry < 0"),
                              ([float("inf"), 2], "entry = infinity or NaN"), ([0., 0], "sum of probabilities <= 0")):
            torch.multinomial(torch.tensor(weights, device=DEVICE), 3, True)
            with self.assertRaisesRegex(RuntimeError, f"invalid multinomial distribution .*{text}"):
                device_module().synchronize()
        with self.assertRaisesRegex(RuntimeError, "sum of probabilities <= 0"):
            torch.multinomial(torch.ones(2, 0, device=DEVICE), 3, True)


class Normal(DrawnTestCase):
    def assert_standard(self, numbers):
        """Mean 0 and standard deviation 1, within five standard errors."""
        numbers = numbers.double().cpu()
        self.assertLess(abs(numbers.mean().item()), 5 / math.sqrt(numbers.numel()))
        self.assertLess(abs(numbers.std().item() - 1), 5 / math.sqrt(2 * numbers.numel()))

    def test_moments(self):
        for dtype in (torch.float32, torch.float64):
            mean = torch.linspace(-50, 50, 100_000, dtype=dtype, device=DEVICE)
            std = torch.linspace(.5, 20, 100_000, dtype=dtype, device=DEVICE)
            self.assert_standard((torch.normal(mean, 3.) - mean) / 3)
            self.assert_standard((torch.normal(2., std) - 2) / std)
            self.assert_standard((torch.normal(mean, std) - mean) / std)

    def test_shapes_and_dtypes(self):
        mean, std = torch.zeros(3, 1, device=DEVICE), torch.ones(4, dtype=torch.float64, device=DEVICE)
        self.assertEqual(torch.normal(mean, std).shape, (3, 4))
        self.assertEqual(torch.normal(mean, std).dtype, torch.float32)
        self.assertEqual(torch.normal(torch.zeros(0, device=DEVICE), 1.).shape, (0,))
        out = torch.full((4,), 1e4, device=DEVICE)
        self.assertIs(torch.normal(out, 1., out=out), out)
        self.assertTrue((out > 9e3).all().item())

    def test_refused(self):
        torch.normal(torch.zeros(2, device=DEVICE), torch.tensor([1., -1.], device=DEVICE))
        with self.assertRaisesRegex(RuntimeError, "normal expects all elements of std >= 0.0"):
            device_module().synchronize()
        with self.assertRaisesRegex(RuntimeError, "normal expects std >= 0.0, but found std -1"):
            torch.normal(torch.zeros(2, device=DEVICE), -1.)
        with self.assertRaisesRegex(RuntimeError, "The size of tensor a"):
            torch.normal(torch.zeros(2, device=DEVICE), torch.ones(3, device=DEVICE))


class Variates(DrawnTestCase):
    """Poisson, binomial, gamma and Dirichlet numbers, against the distributions of torch.distributions on the CPU."""

    COUNT = 100_000

    def assert_counts(self, drawn, distribution, largest):
        """Chi-square of the counts of integers; counts above `largest` are merged."""
        drawn = drawn.double().cpu()
        self.assertTrue((drawn == drawn.floor()).all() and (drawn >= 0).all())
        probabilities = distribution.log_prob(torch.arange(largest + 1, dtype=torch.float64)).exp()
        probabilities = torch.cat([probabilities, (1 - probabilities.sum()).clamp(min=0)[None]])
        counts = drawn.clamp(max=largest + 1).long().bincount(minlength=largest + 2)
        common = probabilities * self.COUNT > 5  # the rest are merged
        merged = [torch.cat([x[common], x[~common].sum()[None]]) for x in (counts, probabilities)]
        self.assertLess(abs(chi_square(*merged)), 5)

    def assert_moments(self, drawn, mean, variance):
        """Within five standard errors; the standard error of the variance assumes tails like the normal distribution's."""
        drawn, count = drawn.double().cpu(), drawn.numel()
        self.assertLess(abs(drawn.mean().item() - mean), 5 * math.sqrt(variance / count))
        self.assertLess(abs(drawn.var().item() / variance - 1), 5 * math.sqrt(3 / count) + 0.01)

    def test_poisson(self):
        for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
            for rate in (.01, .5, 3., 9.5, 10., 14., 100.):
                drawn = torch.poisson(torch.full((self.COUNT,), rate, dtype=dtype, device=DEVICE))
                self.assertEqual(drawn.dtype, dtype)
                if dtype != torch.bfloat16 or rate < 14:  # beyond that, the dtype cannot represent every integer
                    exact = torch.full((), rate, dtype=dtype).double()
                    self.assert_counts(drawn, torch.distributions.Poisson(exact), int(rate + 8 * math.sqrt(rate) + 3))
        for rate in (1e3, 1e5, 1e7):
            drawn = torch.poisson(torch.full((self.COUNT,), rate, device=DEVICE))
            self.assert_moments(drawn, rate, rate)
        self.assertEqual(torch.poisson(torch.zeros(5, device=DEVICE)).sum().item(), 0)

    def test_poisson_refuses(self):
        for rate in (-1., float("nan")):
            torch.poisson(torch.tensor([1., rate], device=DEVICE))
            with self.assertRaisesRegex(RuntimeError, "invalid Poisson rate, expected rate to be non-negative"):
                device_module().synchronize()

    def test_binomial(self):
        for dtype in (torch.float32, torch.float64):
            for trials, p in ((1, .3), (10, .5), (20, .9), (40, .2), (40, .3), (100, .5), (100, .97), (1000, .013), (150, .8)):
                drawn = torch.binomial(torch.full((self.COUNT,), float(trials), dtype=dtype, device=DEVICE),
                                       torch.tensor(p, dtype=dtype, device=DEVICE))
                exact = torch.full((), p, dtype=dtype).double()
                self.assertLessEqual(drawn.max().item(), trials)
                probabilities = torch.distributions.Binomial(trials, exact).log_prob(
                    torch.arange(trials + 1, dtype=torch.float64)).exp()
                counts = drawn.long().cpu().bincount(minlength=trials + 1)
                common = probabilities * self.COUNT > 5
                merged = [torch.cat([x[common], x[~common].sum()[None]]) for x in (counts, probabilities)]
                if merged[1][-1] * self.COUNT < 1:  # too rare for chi-square
                    self.assertLess(merged[0][-1].item(), 12)
                    merged = [x[:-1] for x in merged]
                self.assertLess(abs(chi_square(merged[0], merged[1] / merged[1].sum())), 5, f"{trials} {p}")
        for trials, p in ((1e5, .5), (1e6, 1e-3), (1e6, .7)):
            drawn = torch.binomial(torch.full((self.COUNT,), trials, device=DEVICE), torch.tensor(p, device=DEVICE))
            exact = torch.tensor(p).item()
            self.assert_moments(drawn, trials * exact, trials * exact * (1 - exact))

    def test_binomial_edges(self):
        trials = torch.tensor([5., 5, 0, 5, 7, float("nan")], device=DEVICE)
        p = torch.tensor([0., 1, .5, float("nan"), 1, .5], device=DEVICE)
        expected = torch.tensor([0., 5, 0, float("nan"), 7, float("nan")])
        torch.testing.assert_close(torch.binomial(trials, p).cpu(), expected, equal_nan=True)
        self.assertEqual(torch.binomial(torch.ones(4, 1, device=DEVICE), torch.ones(3, device=DEVICE)).shape, (4, 3))
        self.assertEqual(torch.binomial(torch.ones(0, device=DEVICE), torch.ones(0, device=DEVICE)).shape, (0,))

    def test_gamma(self):
        for dtype in (torch.float32, torch.float64):
            for concentration in (.05, .4, 1., 1.7, 6., 300., 1e4):
                drawn = torch._standard_gamma(torch.full((self.COUNT,), concentration, dtype=dtype, device=DEVICE))
                self.assertEqual(drawn.dtype, dtype)
                self.assertTrue((drawn > 0).all().item())
                # Uniform if the distribution is right.
                exact = torch.full((), concentration, dtype=dtype).double()
                places = torch.special.gammainc(exact, drawn.double().cpu())
                counts = (places * 50).clamp(max=49).long().bincount(minlength=50)
                self.assertLess(abs(chi_square(counts, torch.full((50,), .02))), 5, f"{dtype} {concentration}")
        self.assertTrue((torch._standard_gamma(torch.zeros(3, device=DEVICE)) > 0).all().item())

    def test_dirichlet(self):
        concentration = torch.tensor([.5, 2., 4.])
        drawn = torch._sample_dirichlet(concentration.expand(self.COUNT, 3).to(DEVICE)).cpu().double()
        torch.testing.assert_close(drawn.sum(1), torch.ones(self.COUNT, dtype=torch.float64), rtol=1e-5, atol=0)
        mean = concentration.double() / concentration.sum()
        variance = mean * (1 - mean) / (concentration.sum() + 1)
        for i in range(3):
            self.assert_moments(drawn[:, i], mean[i].item(), variance[i].item())

    def test_seeds(self):
        rates = torch.full((1000,), 20., device=DEVICE)
        for draw in (torch.poisson, torch._standard_gamma, lambda x, generator: torch.binomial(x, x / 50, generator=generator)):
            generator = torch.Generator(DEVICE).manual_seed(4)
            one, next_one = draw(rates, generator=generator), draw(rates, generator=generator)
            self.assertTrue(torch.equal(one, draw(rates, generator=torch.Generator(DEVICE).manual_seed(4))))
            self.assertFalse(torch.equal(one, next_one))
            pairs = torch.stack([one, next_one]).double().cpu()
            self.assertLess(abs(torch.corrcoef(pairs)[0, 1].item()), 5 / math.sqrt(1000))


if __name__ == "__main__":
    unittest.main()
