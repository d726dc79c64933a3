"""out= of every operator of PyTorch's list: an input itself, a tensor that partially overlaps one, the result's own dtype and
others. With an output that is an input, the result must be right, or the call rejected. A partial overlap, and a dtype that the
CPU rejects, must be rejected. Everything that the CPU accepts must be accepted."""

import itertools
import unittest

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._pytree import tree_map

from both_devices import tensors_of
from support import DEVICE, device_module, fallback_counts, in_sample, require_device

SAMPLES = 3
RANDOM = ("empty", "rand", "bernoulli", "multinomial", "normal", "dropout", "jiterator", "linalg.eig", "svd")
OTHER_DTYPES = (torch.int64, torch.bool, torch.float64, torch.float16, torch.complex64)
# Outputs that the device accepts and the CPU does not, with the reason.
TAKEN = {"diff": "a difference of slices of the input", "addmv": "composed of a product and a sum",
         "addr": "composed of a product and a sum"}


def copies(sample, device):
    def copy(x):
        if isinstance(x, torch.Tensor):
            return x.detach().clone().to(device)
        return torch.device(device) if isinstance(x, torch.device) or x == "cpu" else x
    return tree_map(copy, sample)


def listed(results):
    return list(results) if isinstance(results, (tuple, list)) else [results]


def samples_of(op):
    dtype = torch.float32 if torch.float32 in op.dtypes else next(iter(op.dtypes))
    for sample in itertools.islice(op.sample_inputs("cpu", dtype), SAMPLES):
        if "out" in sample.kwargs:
            continue
        arguments = (sample.input, sample.args, sample.kwargs)
        try:
            results = listed(op.op(sample.input, *sample.args, **sample.kwargs))
        except (RuntimeError, NotImplementedError) as error:  # the CPU cannot do it, so there is no reference
            print(f"{op.full_name} skipped: {str(error).splitlines()[0][:120]}")
            continue
        if all(isinstance(result, torch.Tensor) for result in results):
            yield arguments, results


def shifted(sample, number):
    """The sample with that tensor inside a larger one, and the tensor that starts one element later."""
    tensor = tensors_of(sample)[number]
    memory = torch.zeros(tensor.numel() + 1, dtype=tensor.dtype, device=tensor.device)
    memory[:-1] = tensor.flatten()
    inside = memory[:-1].view(tensor.shape)
    return tree_map(lambda x: inside if x is tensor else x, sample), memory[1:].view(tensor.shape)


class Outputs(unittest.TestCase):
    #: test_dtypes runs one of this many cases; exhaustive/test_samples.py runs all.
    share = 4

    @classmethod
    def setUpClass(cls):
        require_device(cpu=False)

    def call(self, op, sample, outputs):
        """The outputs on the host, or None and the reason for the refusal."""
        try:
            op.op(sample[0], *sample[1], out=tuple(outputs) if len(outputs) > 1 else outputs[0], **sample[2])
            if outputs[0].device.type != "cpu":
                device_module().synchronize()
            return [output.cpu() for output in outputs], ""
        except (RuntimeError, NotImplementedError, IndexError, TypeError, ValueError) as error:
            return None, str(error)

    def equal(self, found, expected):
        wide = [(a.to(torch.complex128), b.to(torch.complex128)) for a, b in zip(found, expected)]
        return all(a.shape == b.shape and torch.allclose(a, b, 1e-4, 1e-4, equal_nan=True) for a, b in wide)

    def places(self):
        """Operators with an output and an input of the same shape and dtype, the first of each pair."""
        for op in op_db:
            if not op.supports_out or any(word in op.name for word in RANDOM):
                continue
            seen = set()
            for sample, results in samples_of(op):
                for (k, result), (j, tensor) in itertools.product(enumerate(results), enumerate(tensors_of(sample))):
                    if tensor.shape == result.shape and tensor.dtype == result.dtype and tensor.numel() > 1 and (k, j) not in seen:
                        seen.add((k, j))
                        yield op, sample, results, k, j

    def outcome(self, op, sample, results, k, j, device, overlap):
        sample = copies(sample, device)
        outputs = [torch.empty_like(result, device=device) for result in results]
        if overlap:
            sample, outputs[k] = shifted(sample, j)
        else:
            outputs[k] = tensors_of(sample)[j]
        return self.call(op, sample, outputs)

    def test_an_input(self):
        for op, sample, results, k, j in self.places():
            with self.subTest(operator=op.full_name, output=k, input=j):
                on_cpu, _ = self.outcome(op, sample, results, k, j, "cpu", False)
                found, refused = self.outcome(op, sample, results, k, j, DEVICE, False)
                if found is not None:
                    # PyTorch's own implementation may write before it reads, as linear_out does with the bias; then the
                    # CPU does too.
                    right = self.equal(found, results) or (on_cpu is not None and self.equal(found, on_cpu))
                    self.assertTrue(right, f"{found}, expected {results}, on the CPU {on_cpu}")
                else:
                    self.assertFalse(on_cpu is not None and self.equal(on_cpu, results), f"refused: {refused}")

    def test_part_of_an_input(self):
        for op, sample, results, k, j in self.places():
            if op.name in TAKEN or not tensors_of(sample)[j].is_contiguous():
                continue
            with self.subTest(operator=op.full_name, output=k, input=j):
                on_cpu, why = self.outcome(op, sample, results, k, j, "cpu", True)
                before = fallback_counts()
                found, _ = self.outcome(op, sample, results, k, j, DEVICE, True)
                if on_cpu is None and fallback_counts() != before:
                    # The fallback copies its arguments, so that nothing overlaps.
                    self.assertTrue(found is None or self.equal(found, results))
                elif on_cpu is None:
                    self.assertIsNone(found, f"the CPU: {why}")

    def test_dtypes(self):
        for op in op_db:
            if not op.supports_out or any(word in op.name for word in RANDOM):
                continue
            seen = set()
            for sample, results in samples_of(op):
                for (k, result), other in itertools.product(enumerate(results), (None, *OTHER_DTYPES)):
                    dtype = other or result.dtype
                    if (k, dtype) in seen:
                        continue
                    seen.add((k, dtype))
                    if not in_sample(f"{op.full_name} {k} {dtype}", self.share):
                        continue
                    with self.subTest(operator=op.full_name, output=k, dtype=dtype):
                        outcomes = []
                        for device in ("cpu", DEVICE):
                            outputs = [torch.zeros(r.shape, dtype=dtype if n == k else r.dtype, device=device)
                                       for n, r in enumerate(results)]
                            outcomes.append(self.call(op, copies(sample, device), outputs))
                        (expected, why), (found, error) = outcomes
                        self.assertEqual(found is None, expected is None, f"CPU: {why}; device: {error}")
                        if expected is not None:
                            self.assertTrue(self.equal(found, expected), f"{found}, expected {expected}")


if __name__ == "__main__":
    unittest.main()
