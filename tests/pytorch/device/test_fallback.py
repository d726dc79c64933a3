"""Operators that run on the CPU: counted, reported once, an error under REKINDLE_STRICT=1."""

import subprocess
import sys
import unittest

import torch

from support import DEVICE, child_environment, device_module

# A decomposition without a kernel; its message and count use this name.
CALL, NAME = "torch.linalg.eigvals(torch.eye(3, device=support.DEVICE))", "linalg_eig"


def run(program: str, **variables: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-c", "import support, torch\n" + program], capture_output=True, text=True,
                          env=child_environment(**variables), timeout=300)


class Fallback(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.module = device_module()

    def test_it_is_counted(self):
        self.module.reset_fallback_stats()
        torch.linalg.eigvals(torch.eye(3, device=DEVICE))
        torch.linalg.eigvals(torch.eye(3, device=DEVICE))
        counts = {name: count for name, count in self.module.fallback_stats().items() if NAME in name}
        self.assertEqual(list(counts.values()), [2], counts)
        self.module.reset_fallback_stats()
        self.assertEqual(self.module.fallback_stats(), {})

    def test_what_has_a_kernel_is_not_counted(self):
        self.module.reset_fallback_stats()
        values = torch.ones(10, device=DEVICE, requires_grad=True)
        ((values * 2 + 1) / 3).sum().backward()
        self.assertEqual(self.module.fallback_stats(), {})

    def test_it_is_reported_once(self):
        done = run(f"{CALL}; {CALL}; {CALL}", REKINDLE_LOG="info", REKINDLE_STRICT="0")
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = [line for line in done.stderr.splitlines() if NAME in line]
        self.assertEqual(len(lines), 1, done.stderr)

    def test_strict_names_the_operator(self):
        done = run(CALL, REKINDLE_STRICT="1")
        self.assertEqual(done.returncode, 1)
        self.assertIn("REKINDLE_STRICT=1", done.stderr)
        self.assertIn(NAME, done.stderr)

    def test_strict_allows_operators_that_must_copy(self):
        done = run("values = torch.arange(4.0).to(support.DEVICE)\n"
                   "assert values.sum().item() == 6 and values.tolist() == [0, 1, 2, 3]\n"
                   "assert values.nonzero().shape == (3, 1) and values.cpu().sum() == 6\n"
                   "assert values[values > 1].tolist() == [2, 3]", REKINDLE_STRICT="1")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_results_are_on_the_device(self):
        mixed = torch.rsub(torch.tensor(2.0), torch.ones(3, device=DEVICE))
        self.assertEqual(mixed.device.type, torch.device(DEVICE).type)
        self.assertEqual(torch.linalg.eigvals(torch.eye(3, device=DEVICE)).device.type, torch.device(DEVICE).type)

    def test_generators_reach_the_cpu(self):
        generator = torch.Generator(device=DEVICE).manual_seed(1)
        drawn = [torch.poisson(torch.full((1000,), 4.0, device=DEVICE), generator=generator).cpu() for _ in range(2)]
        self.assertFalse(torch.equal(*drawn))
        self.assertAlmostEqual(drawn[0].mean().item(), 4, delta=0.4)
        again = torch.poisson(torch.full((1000,), 4.0, device=DEVICE), generator=generator.manual_seed(1)).cpu()
        self.assertTrue(torch.equal(again, drawn[0]))


if __name__ == "__main__":
    unittest.main(verbosity=2)
