"""Compares one function on the CPU and on the device, values and gradients, with the same input strides."""

import unittest

import torch

from support import DEVICE, fallback_counts

TOLERANCES = {torch.float32: 1e-5, torch.float16: 4e-3, torch.bfloat16: 3e-2, torch.float64: 1e-12}


def on_device(tensor: torch.Tensor) -> torch.Tensor:
    """A copy on the device with the tensor's strides and offset; expanded dimensions stay expanded."""
    if tensor.numel() == 0:
        return tensor.to(DEVICE)
    whole = torch.empty(0, dtype=tensor.dtype).set_(tensor.untyped_storage()).to(DEVICE)
    return torch.as_strided(whole, tensor.size(), tensor.stride(), tensor.storage_offset())


def relative_error(expected: torch.Tensor, found: torch.Tensor) -> float:
    """The largest difference, relative to the largest expected number."""
    if expected.numel() == 0:
        return 0.0
    wide = torch.complex128 if expected.is_complex() else torch.float64
    expected, found = expected.detach().to(wide), found.detach().to(wide)
    return float((expected - found).abs().max() / expected.abs().max().clamp(min=1e-30))


class AgainstCpu(unittest.TestCase):
    """Every operator that the test calls must run on the device."""

    def setUp(self):
        torch.manual_seed(0)
        self.before = sum(fallback_counts().values())

    def tearDown(self):
        self.assertEqual(self.before, sum(fallback_counts().values()), fallback_counts())

    def same(self, expected, found, tolerance, message=""):
        self.assertEqual(expected.dtype, found.dtype, message)
        self.assertEqual(expected.shape, found.shape, message)
        self.assertEqual("cpu" if DEVICE == "cpu" else torch.device(DEVICE).type, found.device.type, message)
        self.assertLessEqual(relative_error(expected, found.cpu()), tolerance, message)

    def compare(self, function, *tensors, tolerance=None, message=""):
        expected = function(*tensors)
        if tolerance is None:
            tolerance = TOLERANCES.get(expected.dtype, 0)
        self.same(expected, function(*map(on_device, tensors)), tolerance, message)

    def compare_gradients(self, function, *tensors, tolerance=None, message=""):
        """Compares values, and the gradients of all floating-point inputs for one random gradient of the result."""
        inputs = [t.detach().requires_grad_() for t in tensors]
        copies = [on_device(t).detach().requires_grad_() for t in tensors]
        expected, found = function(*inputs), function(*copies)
        if tolerance is None:
            tolerance = TOLERANCES[expected.dtype]
        gradient = torch.randn(expected.shape).to(expected.dtype)
        self.same(expected, found, tolerance, message)
        wanted = torch.autograd.grad(expected, inputs, gradient)
        got = torch.autograd.grad(found, copies, gradient.to(DEVICE))
        for i, (one, other) in enumerate(zip(wanted, got)):
            self.same(one, other, tolerance, f"{message} gradient {i}")
