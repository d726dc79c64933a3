"""Runs functions on the CPU and on the device and compares the results.

Three test cases compare in three ways. Each moves the arguments to the device with their strides:

* CloseOnBoth: values, and gradients of the arguments that require them, within tolerances of the dtype; also against
  float64 on the CPU.
* NativeOnBoth: the same within PyTorch's own tolerances, optionally also strides; no operator may fall back to the CPU.
* ScaledOnBoth: the largest difference relative to the largest number, for products; no operator may fall back.
"""

import unittest

import torch
from torch.utils._pytree import tree_leaves, tree_map

from support import DEVICE, fallback_counts, require_device


def moved(value, device=DEVICE, whole_storage=False):
    """A copy of the value whose tensors, also those in lists and tuples, are leaves on the device with the same strides
    and requires_grad; with whole_storage, they also have the same offset and the rest of the storage."""
    return tree_map(lambda x: moved_tensor(x, device, whole_storage) if isinstance(x, torch.Tensor) else x, value)


def moved_tensor(tensor, device, whole_storage):
    source = tensor.detach()
    plain = source.layout == torch.strided and not source.is_conj() and not source.is_neg() and not source.is_quantized
    if not plain or source.is_nested or not torch._C._has_storage(source):
        copy = source.clone().to(device)
    elif whole_storage:
        elements = source.untyped_storage().nbytes() // source.element_size()
        flat = source.as_strided((elements,), (1,), 0).clone().to(device)
        copy = flat.as_strided(source.shape, source.stride(), source.storage_offset())
    else:
        last = sum((size - 1) * stride for size, stride in zip(source.shape, source.stride()))
        elements = last + 1 if source.numel() else 0
        flat = source.as_strided((elements,), (1,)).clone().to(device)
        copy = flat.as_strided(source.shape, source.stride(), 0)
    return copy.requires_grad_(tensor.requires_grad)


def tensors_of(value):
    return [leaf for leaf in tree_leaves(value) if isinstance(leaf, torch.Tensor)]


def those_with_gradients(value):
    return [tensor for tensor in tensors_of(value) if tensor.requires_grad]


def in_float64(value):
    if isinstance(value, torch.Tensor) and value.is_floating_point():
        return value.detach().double().requires_grad_(value.requires_grad)
    return value


class DeviceTestCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        require_device()

    def assert_on_device(self, tensor, message=None):
        self.assertEqual(tensor.device.type, torch.device(DEVICE).type, message)

    def assert_native(self, counts_before):
        self.assertEqual(fallback_counts(), counts_before, "an operator ran on the CPU")


class NativeTestCase(DeviceTestCase):
    """Each test fails if an operator ran on the CPU."""

    def setUp(self):
        self.before = fallback_counts()

    def tearDown(self):
        self.assert_native(self.before)


class CloseOnBoth(DeviceTestCase):
    TOLERANCES = {torch.float16: (2e-3, 2e-3), torch.bfloat16: (1.6e-2, 1e-2), torch.float32: (1e-5, 1e-5),
                  torch.float64: (1e-9, 1e-9)}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        torch.manual_seed(5)

    def assert_close(self, actual, expected, tolerance=None, what="", exact=False):
        self.assertEqual(len(actual), len(expected))
        for found, reference in zip(actual, expected):
            self.assert_on_device(found)
            relative, absolute = tolerance or self.TOLERANCES.get(reference.dtype, (0, 0))
            torch.testing.assert_close(found.cpu(), reference, rtol=relative, atol=absolute, equal_nan=True,
                                       check_dtype=not exact, msg=lambda text: f"{what}: {text}")

    def compare(self, function, *arguments, tolerance=None, gradients=None, exact=False, **keywords):
        """Compares values, and gradients of the arguments that require them, with a fixed gradient for each result.
        exact: the CPU computes in float64, for sums so long that its float32 results are less accurate than the
        device's."""
        there, keywords_there = moved(arguments), moved(keywords)
        if exact:
            arguments = [in_float64(argument) for argument in arguments]
        expected = function(*arguments, **keywords)
        actual = function(*there, **keywords_there)
        self.assert_close(tensors_of(actual), tensors_of(expected), tolerance, "values", exact)
        sources = those_with_gradients((arguments, list(keywords.values())))
        if not sources:
            return
        sources_there = those_with_gradients((there, list(keywords_there.values())))
        outputs, outputs_there = those_with_gradients(expected), those_with_gradients(actual)
        weights = [torch.linspace(-1, 2, t.numel(), dtype=t.dtype).reshape(t.shape) for t in outputs]
        weights_there = [moved(weight.to(t.dtype)) for weight, t in zip(weights, outputs_there)]
        self.assert_close(torch.autograd.grad(outputs_there, sources_there, weights_there),
                          torch.autograd.grad(outputs, sources, weights), gradients or tolerance, "gradients", exact)


class NativeOnBoth(DeviceTestCase):
    TOLERANCES = {torch.float16: (2e-3, 2e-3), torch.bfloat16: (2e-2, 2e-2)}  # other dtypes: PyTorch's own

    def setUp(self):
        torch.manual_seed(1)

    @staticmethod
    def results(function, arguments, device, gradients):
        """(values and gradients on the host, outputs on the device)"""
        here = moved(arguments, device)
        outputs = tensors_of(function(*here))
        results = [x.detach().cpu() for x in outputs]
        if gradients:
            weighted = sum((x * torch.linspace(0.5, 1.5, x.numel(), dtype=x.dtype).reshape(x.shape).to(device)).sum()
                           for x in outputs if x.requires_grad)
            results += [x.cpu() for x in torch.autograd.grad(weighted, those_with_gradients(here))]
        return results, outputs

    def same(self, function, *arguments, gradients=None, tolerance=None, strides=False):
        """Checks that both give the same values (and gradients, if an argument requires them)."""
        if gradients is None:
            gradients = bool(those_with_gradients(arguments))
        before = fallback_counts()
        expected, on_cpu = self.results(function, arguments, "cpu", gradients)
        actual, on_device = self.results(function, arguments, DEVICE, gradients)
        self.assertEqual(len(expected), len(actual))
        for want, got in zip(expected, actual):
            rtol, atol = self.TOLERANCES.get(want.dtype, (None, None)) if tolerance is None else (tolerance, tolerance)
            torch.testing.assert_close(got, want, rtol=rtol, atol=atol, equal_nan=True, check_stride=False)
        for output, reference in zip(on_device, on_cpu):
            self.assert_on_device(output)
            if strides:
                self.assertEqual(output.stride(), reference.stride())
        self.assert_native(before)


def relative_error(expected: torch.Tensor, found: torch.Tensor) -> float:
    """The largest difference, relative to the largest expected number."""
    if expected.numel() == 0:
        return 0.0
    wide = torch.complex128 if expected.is_complex() else torch.float64
    expected, found = expected.detach().to(wide), found.detach().to(wide)
    return float((expected - found).abs().max() / expected.abs().max().clamp(min=1e-30))


class ScaledOnBoth(DeviceTestCase):
    TOLERANCES = {torch.float32: 1e-5, torch.float16: 4e-3, torch.bfloat16: 3e-2, torch.float64: 1e-12}

    def setUp(self):
        torch.manual_seed(0)
        self.before = fallback_counts()

    def tearDown(self):
        self.assert_native(self.before)

    def same(self, expected, found, tolerance, message=""):
        self.assertEqual(expected.dtype, found.dtype, message)
        self.assertEqual(expected.shape, found.shape, message)
        self.assert_on_device(found, message)
        self.assertLessEqual(relative_error(expected, found.cpu()), tolerance, message)

    def compare(self, function, *tensors, tolerance=None, message=""):
        expected = function(*tensors)
        if tolerance is None:
            tolerance = self.TOLERANCES.get(expected.dtype, 0)
        self.same(expected, function(*moved(tensors, whole_storage=True)), tolerance, message)

    def compare_gradients(self, function, *tensors, tolerance=None, message=""):
        """Compares values, and the gradients of all floating-point inputs for one random gradient of the result."""
        inputs = [t.detach().requires_grad_() for t in tensors]
        inputs_there = moved(inputs, whole_storage=True)
        expected, found = function(*inputs), function(*inputs_there)
        if tolerance is None:
            tolerance = self.TOLERANCES[expected.dtype]
        gradient = torch.randn(expected.shape).to(expected.dtype)
        self.same(expected, found, tolerance, message)
        gradients = zip(torch.autograd.grad(expected, inputs, gradient),
                        torch.autograd.grad(found, inputs_there, gradient.to(DEVICE)))
        for i, (one, other) in enumerate(gradients):
            self.same(one, other, tolerance, f"{message} gradient {i}")
