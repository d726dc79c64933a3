"""python -m torch_rvk: checks that PyTorch can train on the device."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import torch

from support import DEVICE, device_module

SECONDS = 600


def run(*arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "torch_rvk", *arguments],
        capture_output=True, text=True, timeout=SECONDS, check=False, env={**os.environ, **environment},
    )  # fmt: skip


class Command(unittest.TestCase):
    def setUp(self):
        if DEVICE != "rvk":
            self.skipTest("tests the package torch_rvk, not another device")

    def test_prints_every_device_and_passes(self):
        result = run()
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        lines = result.stdout.splitlines()
        self.assertIn(f"PyTorch {torch.__version__}", lines[0])
        names = [device_module().get_device_name(index) for index in range(device_module().device_count())]
        self.assertEqual([line for line in lines if line.startswith("rvk:")], [f"rvk:{n}: {name}" for n, name in enumerate(names)])
        for name in ("driver", "memory", "self-test", "training"):
            self.assertEqual(sum(line.split()[0] == name for line in lines), len(names), name)
        self.assertRegex(result.stdout, r"self-test +[1-9]\d* passed")
        losses = re.search(r"10 steps, loss ([\d.]+) to ([\d.]+); largest difference from the CPU ([\d.e+-]+)", result.stdout)
        self.assertLess(float(losses[2]), float(losses[1]))
        self.assertLess(float(losses[3]), 1e-4)
        self.assertRegex(lines[-1], r"^PyTorch can train on rvk\. \(\d+\.\d s\)$")

    def test_without_a_device(self):
        result = run(VK_DRIVER_FILES="/none", VK_ICD_FILENAMES="/none")
        self.assertEqual(result.returncode, 1, result.stdout)
        self.assertRegex(result.stderr, r"There is no device rvk: .*\.\nWhat to do: .*apt install libvulkan1")

    def test_without_a_library_that_fits(self):
        import torch_rvk

        with tempfile.TemporaryDirectory() as folder:
            package = os.path.join(folder, "torch_rvk")
            shutil.copytree(os.path.dirname(torch_rvk.__file__), package, ignore=shutil.ignore_patterns("*.so*", "__pycache__"))
            result = run(PYTHONPATH=folder)
        self.assertEqual((result.returncode, result.stdout), (1, ""), result.stderr)
        self.assertRegex(result.stderr, r"\AThe device rvk is not available: .*\.\n\Z")

    def test_help_and_wrong_use(self):
        result = run("--help")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("usage: python -m torch_rvk", result.stdout)
        result = run("--devices")
        self.assertEqual(result.returncode, 2)
        self.assertIn("unknown argument --devices", result.stderr)


class Checks(unittest.TestCase):
    """The checks find errors that are put in on purpose."""

    def setUp(self):
        device_module()

    def test_wrong_training_is_found(self):
        from torch_rvk import checks

        original = torch.optim.AdamW.step

        def step(optimizer):
            original(optimizer)
            for parameter in optimizer.param_groups[0]["params"]:
                if parameter.device.type != "cpu":
                    parameter.data.add_(1e-3)

        torch.optim.AdamW.step = step
        try:
            with self.assertRaisesRegex(checks.Failed, "differs from the CPU by"):
                checks.training(DEVICE)
        finally:
            torch.optim.AdamW.step = original

    def test_wrong_answers_are_found(self):
        from torch_rvk import checks

        rows = {"sums": "passed", "products": "failed: expected 2, found 3", "float64": "unsupported: no float64"}
        with self.assertRaisesRegex(checks.Failed, "wrong answers: products: expected 2, found 3$"):
            checks.judged(rows)
        self.assertEqual(checks.judged({name: row for name, row in rows.items() if name != "products"}), (1, 1))


if __name__ == "__main__":
    unittest.main()
