"""Frameworks learn the name rvk when a script imports them, and not before; tests/frameworks trains with each of them."""

import subprocess
import sys
import unittest

import torch

from run_support import SECONDS
from support import child_environment

NAMES = ("accelerate", "lightning", "pytorch_lightning", "transformers", "ultralytics")
ALLOWED = """
import torch_rvk, torch
from transformers.utils import import_utils
print(import_utils.is_torch_bf16_gpu_available())
"""


def printed(program, **variables):
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=SECONDS, check=True,
                            env=child_environment(**variables))
    return result.stdout.strip()


class Frameworks(unittest.TestCase):
    def test_registering_the_device_imports_none(self):
        program = f"import torch_rvk, torch, sys; torch.ones(2, device='rvk'); print([n for n in {NAMES!r} if n in sys.modules])"
        self.assertEqual(printed(program), "[]")

    def test_transformers_allows_bfloat16_on_the_chosen_device(self):
        otherwise = str(torch.cuda.is_available())  # transformers looks for a CUDA device
        for device, answer in (("rvk", "True"), ("rvk:0", "True"), ("cpu", otherwise), ("", otherwise)):
            with self.subTest(device):
                self.assertEqual(printed(ALLOWED, ACCELERATE_TORCH_DEVICE=device), answer)


if __name__ == "__main__":
    unittest.main()
