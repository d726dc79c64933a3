"""Deferred copies (torch._lazy_clone): two tensors share memory until one of them is written to, by any operator."""

import gc
import unittest

import torch
from torch.testing._internal.common_methods_invocations import op_db

from support import DEVICE, device_module

# Operators that write random numbers.
DRAWN = frozenset(("bernoulli", "cauchy", "exponential", "geometric", "log_normal", "normal", "uniform", "nn.functional.dropout",
                   "nn.functional.alpha_dropout", "nn.functional.feature_alpha_dropout", "nn.functional.rrelu"))
MIB = 1 << 20


def is_deferred(*tensors: torch.Tensor) -> list[bool]:
    return [torch._C._is_cow_tensor(tensor) for tensor in tensors]


class CopyOnWrite(unittest.TestCase):
    def setUp(self):
        self.memory = device_module()

    def test_a_clone_and_its_source_are_independent(self):
        base = torch.arange(12.0, device=DEVICE)
        for view in (base, base[2:], base.view(3, 4).t(), base[::3], base[:0]):
            for written in (0, 1):
                tensors = [view.clone(memory_format=torch.preserve_format), None]
                tensors[1] = tensors[0]._lazy_clone()
                self.assertEqual([tensors[0].stride(), tensors[0].storage_offset()],
                                 [tensors[1].stride(), tensors[1].storage_offset()])
                expected = (tensors[0] + 1).tolist()
                tensors[written].add_(1)
                self.assertEqual(tensors[written].tolist(), expected)
                self.assertEqual(tensors[1 - written].tolist(), view.tolist())

    def test_readers_share_and_the_first_writer_copies(self):
        tensor = torch.ones(4, device=DEVICE)
        first, second = tensor._lazy_clone(), tensor._lazy_clone()
        self.assertEqual((first + second + tensor).tolist(), [3.0] * 4)
        self.assertEqual(is_deferred(tensor, first, second), [True] * 3)
        addresses = {torch._C._data_address(one) for one in (tensor, first, second)}
        self.assertEqual(len(addresses), 1)
        first.mul_(2)
        self.assertEqual(is_deferred(tensor, first, second), [True, False, True])
        second.mul_(3)
        tensor.mul_(4)  # the last one keeps the memory
        self.assertEqual(torch._C._data_address(tensor), addresses.pop())
        self.assertEqual([one[0].item() for one in (tensor, first, second)], [4, 2, 3])

    def test_memory_is_allocated_on_write_and_freed_with_the_last_tensor(self):
        gc.collect()
        before = self.memory.memory_allocated()
        tensor = torch.ones(MIB, device=DEVICE)
        alone = self.memory.memory_allocated() - before
        clone = tensor._lazy_clone()
        self.assertEqual(self.memory.memory_allocated() - before, alone)
        tensor.record_stream(self.memory.current_stream())
        clone.record_stream(self.memory.current_stream())
        clone.add_(1)
        self.assertEqual(self.memory.memory_allocated() - before, 2 * alone)
        del tensor
        self.assertEqual(self.memory.memory_allocated() - before, alone)
        self.assertEqual(clone.sum().item(), 2 * MIB)
        del clone
        self.assertEqual(self.memory.memory_allocated() - before, 0)

    def test_writes_without_an_operator(self):
        """Copies from the host, resizing, statistics of a batch norm, lists of tensors, a fallback to the CPU."""
        def write(name, write_to, values):
            tensor = torch.ones(3, device=DEVICE)
            clone = tensor._lazy_clone()
            write_to(clone)
            with self.subTest(name):
                self.assertEqual(tensor.tolist(), [1.0] * 3)
                self.assertEqual(clone.tolist()[:3], values)

        write("copy", lambda x: x.copy_(torch.tensor([4.0, 5.0, 6.0])), [4, 5, 6])
        write("resize", lambda x: x.resize_(100)[:3].zero_(), [0] * 3)
        write("foreach", lambda x: torch._foreach_add_([x], 1), [2] * 3)
        write("out", lambda x: torch.add(torch.ones(3, device=DEVICE), 4, out=x), [5] * 3)
        write("set item", lambda x: x.__setitem__(1, 7), [1, 7, 1])
        write("fallback", lambda x: torch.special.bessel_j0(torch.zeros(3, device=DEVICE), out=x.zero_()), [1] * 3)
        image = torch.zeros(2, 3, 4, 4, device=DEVICE)
        write("batch norm", lambda x: torch.batch_norm(image, None, None, x, x.clone(), True, .5, 1e-5, False), [.5] * 3)


def samples(op):
    """The first sample that the operator takes in place, on both devices."""
    for sample in op.sample_inputs("cpu", torch.float32):
        if sample.broadcasts_input or not isinstance(sample.input, torch.Tensor) or sample.input.numel() == 0:
            continue
        on_cpu = sample.transform(lambda x: x.clone() if isinstance(x, torch.Tensor) else x)
        try:
            expected = op.get_inplace()(on_cpu.input, *on_cpu.args, **on_cpu.kwargs)
        except RuntimeError:
            continue
        yield sample.transform(lambda x: x.to(DEVICE) if isinstance(x, torch.Tensor) else x), expected
        return


class EveryOperatorInPlace(unittest.TestCase):
    def setUp(self):
        device_module()

    def test_the_other_tensor_is_unchanged(self):
        compared = 0
        for op in op_db:
            if op.get_inplace() is None or op.name in DRAWN or torch.float32 not in op.dtypes:
                continue
            for sample, expected in samples(op):
                before = sample.input.cpu()
                clone = sample.input._lazy_clone()
                with self.subTest(op.formatted_name):
                    op.get_inplace()(clone, *sample.args, **sample.kwargs)
                    torch.testing.assert_close(sample.input.cpu(), before, rtol=0, atol=0, equal_nan=True)
                    torch.testing.assert_close(clone.cpu(), expected, rtol=1e-3, atol=1e-3, equal_nan=True)
                compared += 1
        self.assertGreater(compared, 130)


if __name__ == "__main__":
    unittest.main(verbosity=2)
