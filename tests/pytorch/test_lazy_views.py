"""Operators that write into a conjugated or negated view (tensor.conj(), tensor.imag of it). Such views are lazy, so an operator
must conjugate or negate the values that it writes to memory."""

import itertools
import unittest

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._pytree import tree_map

from support import DEVICE, device_is_there

SAMPLES = 6
DTYPE = torch.complex64
VIEWS = {
    "conjugated": lambda tensor: tensor.conj_physical().conj(),
    "negated": lambda tensor: torch._neg_view(tensor.neg()),
}


def on(device, values):
    return tree_map(lambda value: value.detach().clone().to(device) if isinstance(value, torch.Tensor) else value, values)


@unittest.skipUnless(device_is_there(), f"there is no device {DEVICE}")
class LazyViews(unittest.TestCase):
    def result(self, function, device, view, *values):
        try:
            return function(view, *on(device, values)).cpu()
        except Exception:  # PyTorch raises various exceptions here
            return None

    def compare(self, function, view, *values) -> bool:
        """Whether the CPU can write into such a view; if so, the device must match the CPU's result on a plain tensor."""
        if self.result(function, "cpu", view, *values) is None:
            return False
        expected = self.result(function, "cpu", torch.clone, *values)
        found = self.result(function, DEVICE, view, *values)
        self.assertIsNotNone(found, "the device refuses it")
        torch.testing.assert_close(found.resolve_conj().resolve_neg(), expected.resolve_conj().resolve_neg(), rtol=1e-3,
                                   atol=1e-3, equal_nan=True)
        return True

    def samples(self, op):
        if DTYPE not in op.supported_dtypes("cpu"):
            return
        torch.manual_seed(0)
        for sample in itertools.islice(op.sample_inputs("cpu", DTYPE), SAMPLES):
            if isinstance(sample.input, torch.Tensor) and sample.input.dtype == DTYPE and not sample.broadcasts_input:
                yield sample

    def test_in_place(self):
        compared = 0
        for op in op_db:
            if op.inplace_variant is None or "random" in op.name or op.name in ("bernoulli", "uniform", "normal", "resize_"):
                continue
            for sample, (name, view) in itertools.product(self.samples(op), VIEWS.items()):
                def run(view, tensor, args, kwargs, op=op):
                    target = view(tensor)
                    op.inplace_variant(target, *args, **kwargs)
                    return target
                with self.subTest(operator=op.full_name, view=name):
                    compared += self.compare(run, view, sample.input, sample.args, sample.kwargs)
        self.assertGreater(compared, 300)

    def test_out(self):
        compared = 0
        for op in op_db:
            if not op.supports_out:
                continue
            for sample, (name, view) in itertools.product(self.samples(op), VIEWS.items()):
                try:
                    shape = op.op(sample.input, *sample.args, **sample.kwargs)
                except Exception:
                    continue
                if not isinstance(shape, torch.Tensor) or shape.dtype != DTYPE or "empty" in op.name:
                    continue

                def run(view, tensor, args, kwargs, target, op=op):
                    out = view(target)
                    op.op(tensor, *args, out=out, **kwargs)
                    return out
                with self.subTest(operator=op.full_name, view=name):
                    compared += self.compare(run, view, sample.input, sample.args, sample.kwargs, torch.zeros_like(shape))
        self.assertGreater(compared, 300)

    def test_negation_of_a_negated_view(self):
        tensor = torch.tensor([1, 2j], dtype=DTYPE, device=DEVICE)
        view = torch._neg_view(tensor)
        view.neg_()
        self.assertEqual(view.tolist(), [1, 2j])
        self.assertEqual(tensor.tolist(), [-1, -2j])


if __name__ == "__main__":
    unittest.main()
