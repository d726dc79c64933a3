"""Arguments that an operator refuses, from PyTorch's own list (OpInfo.error_inputs): what the CPU refuses, the device
refuses too, with an exception of the same kind and with PyTorch's message, at the latest when it is synchronized."""

import re
import unittest
import warnings

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._pytree import tree_leaves, tree_map

from both_devices import moved
from support import DEVICE, device_module, require_device

#: PyTorch 2.13 lists 688 samples that the CPU refuses: with far fewer, the list was not read.
FEWEST_OPERATORS, FEWEST_SAMPLES = 100, 500

#: Exceptions and messages that differ from the CPU's: operator → (what the device says, the reason).
INDEX = "index [0-9]+ is out of bounds for dimension with size"
REPORTED = "kernels report an index after the call, without its dimension; as for most operators, it is an IndexError"
DIFFERENT = {
    "gather": (INDEX, REPORTED),
    "scatter": (INDEX, REPORTED),
    "scatter_add": (INDEX, REPORTED),
    "narrow_copy": ("Dimension out of range|length must be non-negative",
                    "only the CPU has its own function; every other device's is composed of narrow and clone"),
}


class Mover:
    """Copies values to the device. Aliasing is preserved: identical tensors stay identical, and shared memory stays shared."""

    def __init__(self):
        self.tensors, self.memory = {}, {}

    def move(self, value):
        return tree_map(self.move_leaf, value)

    def move_leaf(self, leaf):
        if isinstance(leaf, torch.device):
            return torch.device(DEVICE)
        if not isinstance(leaf, torch.Tensor):
            return leaf
        if id(leaf) not in self.tensors:
            self.tensors[id(leaf)] = leaf, self.copy(leaf)  # keeps the leaf alive, so that its id stays unique
        return self.tensors[id(leaf)][1]

    def copy(self, tensor):
        if tensor.layout != torch.strided or not torch._C._has_storage(tensor) or tensor.is_conj() or tensor.is_neg():
            return moved(tensor)
        storage = tensor.untyped_storage()
        key = storage._cdata, tensor.dtype
        if key not in self.memory:
            elements = storage.nbytes() // tensor.element_size()
            self.memory[key] = tensor.detach().as_strided((elements,), (1,), 0).clone().to(DEVICE)
        copy = self.memory[key].as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())
        return copy.requires_grad_() if tensor.requires_grad else copy


def refusal(op, arguments):
    """The exception that the operator raises for (input, arguments, keywords), or None."""
    first, positional, keywords = arguments
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            op(first, *positional, **keywords)
        if DEVICE != "cpu":
            device_module().synchronize()
    except Exception as error:  # PyTorch raises various exceptions here
        return error
    return None


def has_no_data(arguments):
    """Whether a tensor is on the device meta: the sample mixes devices, and this tensor cannot be copied."""
    return any(isinstance(leaf, torch.Tensor) and leaf.is_meta for leaf in tree_leaves(arguments))


class RefusedArguments(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        require_device(cpu=False)

    def assert_refused_alike(self, op, expected, found, message):
        self.assertIsNotNone(found, f"taken; the CPU: {expected}")
        says, reason = DIFFERENT.get(op.full_name, (None, None))
        if says and re.search(says, str(found)):
            return
        alike = isinstance(found, type(expected)) or isinstance(expected, type(found))
        self.assertTrue(alike, f"{type(found).__name__}: {found}; the CPU: {type(expected).__name__}: {expected}")
        if re.search(message, str(expected)):  # PyTorch's list is not exact for every version
            self.assertTrue(re.search(message, str(found)), f"{found}; the CPU: {expected}")

    def test_the_list_of_operators(self):
        operators, samples, meta = set(), 0, 0
        for op in op_db:
            if op.error_inputs_func is None:
                continue
            for number, listed in enumerate(op.error_inputs("cpu")):
                sample = listed.sample_input
                here = sample.input, sample.args, sample.kwargs
                if has_no_data(here):
                    meta += 1
                    continue
                there = Mover().move(here)  # before the CPU resizes an output
                expected = refusal(op, here)
                if expected is None:
                    continue  # the list is not exact
                operators.add(op.full_name)
                samples += 1
                with self.subTest(operator=op.full_name, sample=number):
                    self.assert_refused_alike(op, expected, refusal(op, there), listed.error_regex)
        print(f"{samples} samples of {len(operators)} operators compared; {meta} left out, which have a tensor on meta")
        self.assertGreaterEqual(samples, FEWEST_SAMPLES)
        self.assertGreaterEqual(len(operators), FEWEST_OPERATORS)
        self.assertEqual((torch.ones(3, device=DEVICE) + 1).sum().item(), 6)


if __name__ == "__main__":
    unittest.main()
