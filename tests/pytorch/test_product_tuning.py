"""REKINDLE_AUTOTUNE=1: products, convolutions and attention whose tiles are chosen by measurement are right, and the choice is
remembered."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from support import DEVICE

FOLDER = pathlib.Path(__file__).resolve().parent

#: The largest error of a product, relative to its largest result: float32 sums 600 terms;
#: the 16-bit results may be rounded twice.
TOLERANCES = {"float32": 2e-6, "float16": 1e-3, "bfloat16": 8e-3}
SCRIPT = f"""
import json
import torch
from support import load_device
load_device({DEVICE!r})
torch.manual_seed(1)
worst = {{}}
def note(dtype, found, expected):
    name = str(dtype).removeprefix("torch.")
    error = ((found - expected).abs().max() / expected.abs().max()).item()
    worst[name] = max(worst.get(name, 0.0), error)
for m, n, k, batch, dtype in ((70, 90, 600, 1, torch.float32), (130, 66, 33, 3, torch.float32),
                              (70, 90, 600, 1, torch.float16), (33, 40, 64, 2, torch.bfloat16)):
    a, b = torch.randn(batch, m, k).to(dtype), torch.randn(batch, k, n).to(dtype)
    expected = a.double() @ b.double()
    for _ in range(2):
        found = (a.to({DEVICE!r}) @ b.to({DEVICE!r})).cpu().double()
        note(dtype, found, expected)
    c = torch.randn(m, n).to(dtype)
    found = torch.addmm(c.to({DEVICE!r}), a[0].to({DEVICE!r}), b[0].to({DEVICE!r}), beta=0.5, alpha=2).cpu().double()
    note(dtype, found, 0.5 * c.double() + 2 * expected[0])
bad = torch.full((40, 40), float("nan"), device={DEVICE!r})
assert (bad @ bad).isnan().all()
print(json.dumps(worst))
"""

#: Prints the largest errors of convolutions and of attention, forward and backward, relative to the largest result.
OTHERS = f"""
import json
import torch
from torch.nn import functional
from support import load_device
load_device({DEVICE!r})
torch.manual_seed(2)
worst = {{"convolution": 0.0, "attention": 0.0, "attention over 91000 keys": 0.0}}
def run(device, kind, *operands):
    leaves = [one.to(device).requires_grad_() for one in operands]
    if kind == "convolution":
        result = functional.conv2d(*leaves, padding=1)
    else:
        result = functional.scaled_dot_product_attention(*leaves)
    result.backward(torch.ones_like(result) * 0.5)
    return [result.detach(), *(leaf.grad for leaf in leaves)]
# In the last case, attention takes several launches, because a launch handles fewer than 91,000 keys.
for kind, shapes in (("convolution", ((2, 20, 17, 15), (40, 20, 3, 3))), ("attention", ((1, 2, 40, 24),) * 3),
                     ("attention over 91000 keys", ((1, 1, 12, 8), (1, 1, 91000, 8), (1, 1, 91000, 8)))):
    operands = [torch.randn(*shape) for shape in shapes]
    expected = run("cpu", kind, *(one.double() for one in operands))
    for _ in range(2):
        for found, right in zip(run({DEVICE!r}, kind, *operands), expected):
            error = ((found.cpu().double() - right).abs().max() / right.abs().max()).item()
            worst[kind] = max(worst[kind], error)
print(json.dumps(worst))
"""


class ProductTuning(unittest.TestCase):
    def run_script(self, folder: str, script: str = SCRIPT, **variables: str) -> tuple[list[str], str, dict[str, float]]:
        """What was measured, everything on standard error, and the errors that the script prints."""
        environment = os.environ | {"REKINDLE_CACHE_DIR": folder, "REKINDLE_LOG": "1", "PYTHONPATH": os.pathsep.join(
            [str(FOLDER), os.environ.get("PYTHONPATH", "")])} | variables
        ran = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True)
        self.assertEqual(0, ran.returncode, ran.stderr[-2000:])
        return re.findall(r"^rvk: tuned (.*?): ", ran.stderr, re.MULTILINE), ran.stderr, json.loads(ran.stdout)

    def run_products(self, folder: str, **variables: str) -> tuple[list[str], str]:
        """The products that were measured, and everything on standard error; checks the values."""
        measured, messages, errors = self.run_script(folder, SCRIPT, **variables)
        self.assertEqual(TOLERANCES.keys(), errors.keys())
        for dtype, error in errors.items():
            self.assertLess(error, TOLERANCES[dtype], dtype)
        return measured, messages

    def test_convolutions_and_attention_are_right_and_choices_are_remembered(self):
        with tempfile.TemporaryDirectory() as folder:
            measured, messages, errors = self.run_script(folder, OTHERS, REKINDLE_AUTOTUNE="1")
            self.assertIn("rows 4, wide ", messages)
            self.assertEqual(9, len(measured), measured)  # three passes of each
            self.assertLess(errors["convolution"], 2e-6)
            self.assertLess(errors["attention"], 5e-6)
            self.assertLess(errors["attention over 91000 keys"], 3e-5)
            measured, _, errors = self.run_script(folder, OTHERS, REKINDLE_AUTOTUNE="1")
            self.assertEqual([], measured)
            self.assertLess(errors["convolution"], 2e-6)

    def test_products_are_right_and_choices_are_remembered(self):
        with tempfile.TemporaryDirectory() as folder:
            measured, _ = self.run_products(folder, REKINDLE_AUTOTUNE="1")
            self.assertEqual(8, len(measured), measured)  # four shapes, with and without a matrix that is added
            self.assertEqual(len(measured), len(set(measured)), "a product was measured twice")
            files = list((pathlib.Path(folder) / "tuning").glob("*.bin"))
            self.assertEqual(1, len(files))

            measured, _ = self.run_products(folder, REKINDLE_AUTOTUNE="1")
            self.assertEqual([], measured)

            files[0].write_bytes(files[0].read_bytes()[:-1])
            measured, messages = self.run_products(folder, REKINDLE_AUTOTUNE="1")
            self.assertEqual(8, len(measured))
            self.assertIn("is damaged", messages)

    def test_nothing_is_measured_unless_asked_for(self):
        with tempfile.TemporaryDirectory() as folder:
            for variables in ({}, {"REKINDLE_AUTOTUNE": "0"}):
                measured, _ = self.run_products(folder, REKINDLE_CALIBRATE="0", **variables)
                self.assertEqual([], measured)
            self.assertFalse((pathlib.Path(folder) / "tuning").exists())


if __name__ == "__main__":
    unittest.main()
