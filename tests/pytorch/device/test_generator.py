"""Random numbers: seeds, states, CUDA's sequence, distributions."""

import unittest

import torch

from support import DEVICE, device_module


class Generators(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.module = device_module()

    def test_the_same_seed_draws_the_same(self):
        torch.manual_seed(7)
        first = torch.rand(1000, device=DEVICE).cpu()
        more = torch.rand(1000, device=DEVICE).cpu()
        torch.manual_seed(7)
        self.assertTrue(torch.equal(torch.rand(1000, device=DEVICE).cpu(), first))
        self.assertFalse(torch.equal(first, more))

    def test_seeds_of_64_bits(self):
        for seed, initial in ((-1, 2**64 - 1), (2**64 - 1, 2**64 - 1), (2**63, 2**63), (-(2**63), 2**63), (0, 0)):
            for set_seed in (torch.manual_seed, self.module.manual_seed, self.module.manual_seed_all):
                with self.subTest(seed=seed, function=set_seed.__qualname__):
                    set_seed(seed)
                    self.assertEqual(self.module.initial_seed(), initial)
        for seed in (2**64, -(2**63) - 1):
            for set_seed in (torch.manual_seed, self.module.manual_seed, self.module.manual_seed_all):
                with self.subTest(seed=seed, function=set_seed.__qualname__), self.assertRaises(ValueError):
                    set_seed(seed)

    def test_own_generator_and_its_state(self):
        generator = torch.Generator(device=DEVICE)
        generator.manual_seed(11)
        self.assertEqual(generator.initial_seed(), 11)
        torch.randn(100, device=DEVICE, generator=generator)
        state = generator.get_state()
        expected = torch.randn(100, device=DEVICE, generator=generator).cpu()
        generator.set_state(state)
        self.assertTrue(torch.equal(torch.randn(100, device=DEVICE, generator=generator).cpu(), expected))
        clone = torch.Generator(device=DEVICE)
        clone.set_state(state)
        self.assertTrue(torch.equal(torch.randn(100, device=DEVICE, generator=clone).cpu(), expected))

    def test_state_of_the_device(self):
        state = self.module.get_rng_state()
        self.assertEqual((state.dtype, state.device.type), (torch.uint8, "cpu"))
        expected = torch.rand(10, device=DEVICE).cpu()
        self.module.set_rng_state(state)
        self.assertTrue(torch.equal(torch.rand(10, device=DEVICE).cpu(), expected))

    def test_fork_rng(self):
        torch.manual_seed(3)
        with torch.random.fork_rng(device_type=torch.device(DEVICE).type):
            torch.rand(100, device=DEVICE)
        first = torch.rand(10, device=DEVICE).cpu()
        torch.manual_seed(3)
        self.assertTrue(torch.equal(torch.rand(10, device=DEVICE).cpu(), first))

    def test_a_generator_of_the_cpu_is_refused(self):
        with self.assertRaises(RuntimeError):
            torch.rand(3, device=DEVICE, generator=torch.Generator())


class Distributions(unittest.TestCase):
    """Means of 100,000 numbers within five standard errors, and standard deviations within 3 %."""
    COUNT = 100_000

    @classmethod
    def setUpClass(cls):
        device_module()

    def setUp(self):
        torch.manual_seed(5)

    def check(self, values: torch.Tensor, mean: float, std: float) -> None:
        host = values.double().cpu()
        self.assertTrue(torch.isfinite(host).all())
        self.assertAlmostEqual(host.mean().item(), mean, delta=5 * std / self.COUNT ** 0.5)
        self.assertAlmostEqual(host.std().item(), std, delta=0.03 * std)

    def empty(self, dtype=torch.float32):
        return torch.empty(self.COUNT, device=DEVICE, dtype=dtype)

    def test_uniform(self):
        for dtype in (torch.float32, torch.float16, torch.bfloat16):
            with self.subTest(dtype=dtype):
                values = torch.rand(self.COUNT, device=DEVICE, dtype=dtype)
                self.check(values, 0.5, 12 ** -0.5) if dtype != torch.bfloat16 else None
                host = values.float().cpu()
                self.assertTrue((host >= 0).all() and (host < 1).all())
        self.check(self.empty().uniform_(-2, 4), 1, 6 * 12 ** -0.5)

    def test_normal(self):
        self.check(torch.randn(self.COUNT, device=DEVICE), 0, 1)
        self.check(self.empty().normal_(3, 0.5), 3, 0.5)
        self.check(torch.normal(torch.full((self.COUNT,), 2.0, device=DEVICE), 1.5), 2, 1.5)

    def test_others(self):
        self.check(self.empty().exponential_(2.0), 0.5, 0.5)
        self.check(self.empty().log_normal_(0, 0.25), 1.0317, 0.2622)
        self.check(self.empty().geometric_(0.25), 4, 12 ** 0.5)
        self.assertAlmostEqual(self.empty().cauchy_(1, 2).cpu().median().item(), 1, delta=0.1)

    def test_bernoulli_and_dropout(self):
        self.check(self.empty().bernoulli_(0.3), 0.3, 0.21 ** 0.5)
        self.check(torch.bernoulli(torch.full((self.COUNT,), 0.8, device=DEVICE)), 0.8, 0.4)
        dropped = torch.nn.functional.dropout(torch.ones(self.COUNT, device=DEVICE), 0.25)
        self.assertEqual(sorted(dropped.cpu().unique().tolist()), [0.0, torch.tensor(1 / 0.75).item()])
        self.check(dropped, 1, (1 / 0.75) * (0.75 * 0.25) ** 0.5)

    def test_integers(self):
        for dtype in (torch.int64, torch.int32, torch.uint8):
            values = torch.randint(3, 11, (self.COUNT,), device=DEVICE, dtype=dtype).cpu()
            self.assertEqual(values.unique().tolist(), list(range(3, 11)))
            self.assertAlmostEqual(values.double().mean().item(), 6.5, delta=0.05)

    def test_wide_ranges(self):
        """Every range uses the same 64 bits from the generator, modulo its size."""
        def drawn(*bounds):
            torch.manual_seed(5)
            return torch.empty(self.COUNT, dtype=torch.int64, device=DEVICE).random_(*bounds).tolist()

        bits = [number % 2 ** 64 for number in drawn(-2 ** 63, None)]
        for begin, size in ((0, 2 ** 28), (-7, 2 ** 28 + 3), (0, 2 ** 32), (11, 10 ** 10 + 19), (-2 ** 62, 2 ** 63 - 25),
                            (1, 2 ** 63 - 2), (-2 ** 63, 2 ** 64 - 1)):
            expected = [begin + number % size for number in bits]
            self.assertEqual(drawn(begin, begin + size), expected, f"{size} numbers from {begin}")

    def test_permutation_and_multinomial(self):
        self.assertEqual(torch.randperm(1000, device=DEVICE).cpu().sort()[0].tolist(), list(range(1000)))
        weights = torch.tensor([0.0, 1.0, 3.0], device=DEVICE)
        drawn = torch.multinomial(weights, 20_000, replacement=True).cpu()
        shares = drawn.bincount(minlength=3) / 20_000
        torch.testing.assert_close(shares, torch.tensor([0.0, 0.25, 0.75]), atol=0.02, rtol=0)
        self.assertEqual(sorted(torch.multinomial(torch.ones(50, device=DEVICE), 50).tolist()), list(range(50)))


if __name__ == "__main__":
    unittest.main(verbosity=2)
