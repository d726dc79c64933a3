"""Runs a function of tensors on the CPU and on the device and compares the results, including gradients."""

import unittest

import torch
from torch.utils._pytree import tree_leaves, tree_map

import support
from support import DEVICE

TOLERANCES = {torch.float16: (2e-3, 2e-3), torch.bfloat16: (2e-2, 2e-2)}


def moved(tensor: torch.Tensor, device: str) -> torch.Tensor:
    """A leaf with the same values and strides."""
    if tensor.numel() == 0 or not torch._C._has_storage(tensor):
        copy = tensor.detach().to(device)
    else:
        extent = 1 + sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride()))
        memory = tensor.detach().as_strided((extent,), (1,)).to(device)
        copy = memory.clone().as_strided(tensor.shape, tensor.stride())
    return copy.requires_grad_(tensor.requires_grad)


class OnBoth(unittest.TestCase):
    """Tests that compare the device with the CPU. No operator may fall back to the CPU unless a test allows it."""

    @classmethod
    def setUpClass(cls):
        if not support.device_is_there():
            raise unittest.SkipTest(f"there is no device {DEVICE}")

    def setUp(self):
        torch.manual_seed(1)

    def results(self, function, arguments, device, gradients):
        here = tree_map(lambda x: moved(x, device) if isinstance(x, torch.Tensor) else x, arguments)
        output = function(*here)
        outputs = [x for x in tree_leaves(output) if isinstance(x, torch.Tensor)]
        results = [x.detach().cpu() for x in outputs]
        if gradients:
            weighted = sum((x * torch.linspace(0.5, 1.5, x.numel(), dtype=x.dtype).reshape(x.shape).to(device)).sum()
                           for x in outputs if x.requires_grad)
            leaves = [x for x in tree_leaves(here) if isinstance(x, torch.Tensor) and x.requires_grad]
            results += [x.cpu() for x in torch.autograd.grad(weighted, leaves)]
        return results, outputs

    def same(self, function, *arguments, gradients=None, tolerance=None, strides=False):
        """Checks that both give the same values (and gradients, if an argument requires them)."""
        if gradients is None:
            gradients = any(isinstance(x, torch.Tensor) and x.requires_grad for x in tree_leaves(arguments))
        before = support.fallback_counts()
        expected, on_cpu = self.results(function, arguments, "cpu", gradients)
        actual, on_device = self.results(function, arguments, DEVICE, gradients)
        self.assertEqual(len(expected), len(actual))
        for want, got in zip(expected, actual):
            if tolerance is not None:
                rtol, atol = tolerance, tolerance
            else:
                rtol, atol = TOLERANCES.get(want.dtype, (None, None))
            torch.testing.assert_close(got, want, rtol=rtol, atol=atol, equal_nan=True, check_stride=False)
        for output, reference in zip(on_device, on_cpu):
            self.assertEqual(output.device.type, torch.device(DEVICE).type)
            if strides:
                self.assertEqual(output.stride(), reference.stride())
        self.assertEqual(support.fallback_counts(), before, "an operator ran on the CPU")
