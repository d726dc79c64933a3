"""One tensor in another dtype (a forgotten .half()): if the CPU rejects it, the device must reject it too, or return the result
for the tensor converted to the others' dtype."""

import itertools
import unittest

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._pytree import tree_flatten, tree_unflatten

from support import DEVICE, device_module, require_device

SAMPLES = 3
OTHERS = (torch.float16, torch.int64)


def call(op, tensors, spec):
    first, args, keywords = tree_unflatten(tensors, spec)
    result = op.op(first, *args, **keywords)
    device_module().synchronize()
    return [value.cpu() for value in tree_flatten(result)[0] if isinstance(value, torch.Tensor)]


def moved(flat, device, place, *dtypes):
    values = [value.detach().clone().to(device) if isinstance(value, torch.Tensor) else value for value in flat]
    for dtype in dtypes:
        values[place] = values[place].to(dtype)
    return values


class MixedDtypes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        require_device(cpu=False)

    def test_the_list_of_operators(self):
        refused = 0
        for op in op_db:
            if "jiterator" in op.name or op.full_name.startswith("torch.ops"):
                continue
            try:
                samples = list(itertools.islice(op.sample_inputs("cpu", torch.float32), SAMPLES))
            except (RuntimeError, ValueError, TypeError, AssertionError):
                continue  # no samples for this dtype
            for sample in samples:
                flat, spec = tree_flatten((sample.input, sample.args, sample.kwargs))
                places = [i for i, v in enumerate(flat) if isinstance(v, torch.Tensor) and v.dtype == torch.float32]
                for place, dtype in itertools.product(places if len(places) > 1 else [], OTHERS):
                    with self.subTest(operator=op.full_name, place=place, dtype=dtype), torch.no_grad():
                        refused += self.check(op, flat, spec, place, dtype)
        self.assertGreater(refused, 100)

    def check(self, op, flat, spec, place, dtype) -> bool:
        """Whether the CPU rejects it; if so, the device must reject it too or give the right result."""
        try:
            call(op, moved(flat, "cpu", place, dtype), spec)
            return False
        except Exception:  # PyTorch raises various exceptions here
            pass
        try:
            found = call(op, moved(flat, DEVICE, place, dtype), spec)
        except Exception:
            return True
        expected = call(op, moved(flat, "cpu", place, dtype, torch.float32), spec)
        for a, b in zip(found, expected, strict=True):
            if a.dtype.is_floating_point and b.dtype.is_floating_point:
                torch.testing.assert_close(a.double(), b.double(), rtol=2e-2, atol=2e-2, equal_nan=True)
            else:
                self.assertEqual(a.dtype, b.dtype)
        return True

    def test_products_name_both(self):
        a, b = torch.ones(2, 3, 3, device=DEVICE), torch.ones(2, 3, 3, device=DEVICE, dtype=torch.float16)
        for product in (lambda: a @ b, lambda: b @ a, lambda: a[0] @ b[0], lambda: torch.nn.functional.linear(a, b[0])):
            with self.assertRaisesRegex(RuntimeError, "to have the same dtype, but got: .* != "):
                product()

    def test_a_half_layer_and_a_whole_input(self):
        for layer, shape in ((torch.nn.Linear(4, 4), (2, 4)), (torch.nn.Conv2d(3, 4, 3), (1, 3, 8, 8)),
                             (torch.nn.ConvTranspose2d(3, 4, 3), (1, 3, 8, 8)), (torch.nn.BatchNorm2d(3), (2, 3, 4, 4)),
                             (torch.nn.LayerNorm(4), (2, 4)), (torch.nn.GroupNorm(1, 4), (2, 4, 3)),
                             (torch.nn.LSTM(4, 4), (5, 2, 4)), (torch.nn.GRU(4, 4), (5, 2, 4)),
                             (torch.nn.MultiheadAttention(4, 2), None)):
            with self.subTest(layer=type(layer).__name__):
                layer = layer.to(DEVICE).half()
                x = torch.randn(shape or (3, 2, 4), device=DEVICE)
                with self.assertRaises((RuntimeError, ValueError)):
                    layer(x, x, x) if shape is None else layer(x)
                    device_module().synchronize()


if __name__ == "__main__":
    unittest.main()
