"""A test case that compares values and gradients with PyTorch on the CPU: the same call on both devices."""

import unittest

import torch

from support import DEVICE, device_is_there

TOLERANCES = {torch.float16: (2e-3, 2e-3), torch.bfloat16: (1.6e-2, 1e-2), torch.float32: (1e-5, 1e-5),
              torch.float64: (1e-9, 1e-9)}


def moved(value):
    """Moves tensors, also in lists and tuples, to the device, keeping their strides."""
    if isinstance(value, torch.Tensor):
        copy = torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device=DEVICE)
        copy.copy_(value.detach())
        return copy.requires_grad_(value.requires_grad)
    if isinstance(value, (list, tuple)):
        return type(value)(moved(item) for item in value)
    return value


def in_float64(value):
    if isinstance(value, torch.Tensor) and value.is_floating_point():
        return value.detach().double().requires_grad_(value.requires_grad)
    return value


def tensors_of(value):
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [tensor for item in value for tensor in tensors_of(item)]
    return []


class AgainstCPU(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not device_is_there():
            raise unittest.SkipTest(f"there is no device {DEVICE}")
        torch.manual_seed(5)

    def assert_close(self, actual, expected, tolerance=None, what="", exact=False):
        self.assertEqual(len(actual), len(expected))
        for found, wanted in zip(actual, expected):
            self.assertEqual(found.device.type, torch.device(DEVICE).type)
            relative, absolute = tolerance or TOLERANCES.get(wanted.dtype, (0, 0))
            torch.testing.assert_close(found.cpu(), wanted, rtol=relative, atol=absolute, equal_nan=True, check_dtype=not exact,
                                       msg=lambda text: f"{what}: {text}")

    def compare(self, function, *arguments, tolerance=None, gradients=None, exact=False, **keywords):
        """Compares values, and gradients of the arguments that require them, with a fixed gradient for each result.
        exact: the CPU computes in float64, for sums so long that its float32 results are less accurate than the
        device's."""
        on_device = moved(arguments)
        if exact:
            arguments = [in_float64(argument) for argument in arguments]
        keywords_there = {name: moved(value) for name, value in keywords.items()}
        expected = function(*arguments, **keywords)
        actual = function(*on_device, **keywords_there)
        self.assert_close(tensors_of(actual), tensors_of(expected), tolerance, "values", exact)
        sources = [t for t in tensors_of(arguments) + tensors_of(list(keywords.values())) if t.requires_grad]
        if not sources:
            return
        there = [t for t in tensors_of(on_device) + tensors_of(list(keywords_there.values())) if t.requires_grad]
        wanted = [t for t in tensors_of(expected) if t.requires_grad]
        found = [t for t in tensors_of(actual) if t.requires_grad]
        weights = [torch.linspace(-1, 2, t.numel(), dtype=t.dtype).reshape(t.shape) for t in wanted]
        weights_there = [moved(weight.to(t.dtype)) for weight, t in zip(weights, found)]
        self.assert_close(torch.autograd.grad(found, there, weights_there),
                          torch.autograd.grad(wanted, sources, weights), gradients or tolerance, "gradients", exact)
