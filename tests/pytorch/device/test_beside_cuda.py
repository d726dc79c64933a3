"""A process that also uses a CUDA or ROCm device: what pytorch/README.md promises. Needs such a device."""

import subprocess
import sys
import textwrap
import unittest

import torch
from torch import nn
from torch.nn.parallel import comm

from support import DEVICE, child_environment, device_module

SECONDS = 600


class BesideCuda(unittest.TestCase):
    def setUp(self):
        device_module()
        if not torch.cuda.is_available():
            self.skipTest("PyTorch can use no CUDA or ROCm device here")

    def python(self, text):
        environment = child_environment()
        environment.pop("TORCH_DEVICE_BACKEND_AUTOLOAD", None)
        return subprocess.run(
            [sys.executable, "-c", textwrap.dedent(text)],
            capture_output=True, text=True, timeout=SECONDS, check=False, env=environment,
        )  # fmt: skip

    def test_training_on_the_device(self):
        torch.manual_seed(0)
        network = nn.Linear(4, 2)
        x = torch.randn(8, 4)
        network(x).square().sum().backward()
        expected = network.weight.grad.clone()
        network.zero_grad()
        network = network.to(DEVICE)
        network(x.to(DEVICE)).square().sum().backward()
        torch.testing.assert_close(network.weight.grad.cpu(), expected)

    def test_cuda_computes_forward(self):
        x = torch.arange(6.0)
        self.assertEqual((x.to(DEVICE).cpu().cuda() * 2).sum().item(), 30)

    def test_backward_on_cuda_fails(self):
        """If this ever passes, `import torch` can register the device beside CUDA (registration.py, pytorch/README.md)."""
        result = self.python(
            """
            import torch, torch_rvk
            torch.ones(3, device="cuda", requires_grad=True).exp().sum().backward()
            """
        )
        self.assertIn("opt_ready_stream", result.stderr)

    def test_import_torch_leaves_cuda_alone(self):
        result = self.python(
            """
            import torch
            assert not hasattr(torch, "rvk")
            torch.ones(3, device="cuda", requires_grad=True).exp().sum().backward()
            """
        )
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_moving_functions_take_both_kinds(self):
        for device in (DEVICE, "cuda"):
            with self.subTest(device):
                x = torch.arange(4.0, device=device)
                parts = comm.scatter(x, [0, 0])
                self.assertEqual([part.device.type for part in parts], [torch.device(device).type] * 2)
                self.assertEqual(comm.gather(parts, 0, 0).tolist(), [0, 1, 2, 3])


if __name__ == "__main__":
    unittest.main()
