"""REKINDLE_AUTOTUNE=1: products whose tiles are chosen by measurement are right, and the choice is remembered."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from support import DEVICE

FOLDER = pathlib.Path(__file__).resolve().parent

SCRIPT = f"""
import torch
from support import load_device
load_device({DEVICE!r})
torch.manual_seed(1)
worst = 0.0
for m, n, k, batch, dtype in ((70, 90, 600, 1, torch.float32), (130, 66, 33, 3, torch.float32),
                              (70, 90, 600, 1, torch.float16), (33, 40, 64, 2, torch.bfloat16)):
    a, b = torch.randn(batch, m, k).to(dtype), torch.randn(batch, k, n).to(dtype)
    expected = a.double() @ b.double()
    for _ in range(2):
        found = (a.to({DEVICE!r}) @ b.to({DEVICE!r})).cpu().double()
        worst = max(worst, ((found - expected).abs().max() / expected.abs().max()).item())
    c = torch.randn(m, n).to(dtype)
    found = torch.addmm(c.to({DEVICE!r}), a[0].to({DEVICE!r}), b[0].to({DEVICE!r}), beta=0.5, alpha=2).cpu().double()
    worst = max(worst, ((found - (0.5 * c.double() + 2 * expected[0])).abs().max() / expected.abs().max()).item())
bad = torch.full((40, 40), float("nan"), device={DEVICE!r})
assert (bad @ bad).isnan().all()
print("worst", worst)
"""


class ProductTuning(unittest.TestCase):
    def run_script(self, folder: str, **variables: str) -> tuple[float, list[str], str]:
        """The largest error of a product, the products that were measured, and everything on standard error."""
        environment = os.environ | {"REKINDLE_CACHE_DIR": folder, "REKINDLE_LOG": "1", "PYTHONPATH": os.pathsep.join(
            [str(FOLDER), os.environ.get("PYTHONPATH", "")])} | variables
        ran = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True)
        self.assertEqual(0, ran.returncode, ran.stderr[-2000:])
        return float(ran.stdout.split()[-1]), re.findall(r"^rvk: tuned (.*?): ", ran.stderr, re.MULTILINE), ran.stderr

    def test_products_are_right_and_choices_are_remembered(self):
        with tempfile.TemporaryDirectory() as folder:
            error, measured, _ = self.run_script(folder, REKINDLE_AUTOTUNE="1")
            self.assertLess(error, 1e-2)
            self.assertEqual(8, len(measured), measured)  # four shapes, with and without a matrix that is added
            self.assertEqual(len(measured), len(set(measured)), "a product was measured twice")
            files = list((pathlib.Path(folder) / "tuning").iterdir())
            self.assertEqual(1, len(files))

            error, measured, _ = self.run_script(folder, REKINDLE_AUTOTUNE="1")
            self.assertLess(error, 1e-2)
            self.assertEqual([], measured)

            files[0].write_bytes(files[0].read_bytes()[:-1])
            error, measured, messages = self.run_script(folder, REKINDLE_AUTOTUNE="1")
            self.assertLess(error, 1e-2)
            self.assertEqual(8, len(measured))
            self.assertIn("is damaged", messages)

    def test_nothing_is_measured_unless_asked_for(self):
        with tempfile.TemporaryDirectory() as folder:
            for variables in ({}, {"REKINDLE_AUTOTUNE": "0"}):
                error, measured, _ = self.run_script(folder, **variables)
                self.assertLess(error, 1e-2)
                self.assertEqual([], measured)
            self.assertFalse((pathlib.Path(folder) / "tuning").exists())


if __name__ == "__main__":
    unittest.main()
