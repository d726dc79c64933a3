"""Operators and dtypes that CUDA supports and the CPU does not: they run here too, or MISSING gives the reason."""

import itertools
import unittest

import torch
import torch.nn.functional as F
from torch.testing._internal.common_dtype import all_types_and_complex_and
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._pytree import tree_map

from support import DEVICE, device_module, require_device

DTYPES = set(all_types_and_complex_and(torch.bool, torch.float16, torch.bfloat16))
MISSING = {
    "fft.": "PyTorch rejects float16 on every device except CUDA before it calls a kernel",
    "torch.ops.aten._flash_attention_forward": "CUDA only; scaled_dot_product_attention is the public operator",
    "torch.ops.aten._efficient_attention_forward": "CUDA only; scaled_dot_product_attention is the public operator",
}


# What the device computes in dtypes that neither the CPU nor CUDA supports.
TAKEN = {
    "nn.functional.max_pool1d": "PyTorch implements it with max_pool2d, which accepts integers on the CPU",
}


def reason_not_to_run(op):
    return next((reason for name, reason in MISSING.items() if op.full_name.startswith(name)), None)


def there(value):
    return tree_map(lambda x: x.detach().to(DEVICE) if isinstance(x, torch.Tensor) else x, value)


def samples_of(op, dtype):
    try:
        return list(itertools.islice(op.sample_inputs("cpu", dtype), 3))
    except (RuntimeError, ValueError, TypeError, AssertionError):
        return []  # there are not even samples for this dtype


def raises(op, sample, move) -> bool:
    """Whether the operator rejects a copy of the sample."""
    given = sample.transform(lambda x: move(x.detach().clone()) if isinstance(x, torch.Tensor) else x)
    try:
        op.op(given.input, *given.args, **given.kwargs)
        device_module().synchronize()
    except Exception:  # PyTorch raises various exceptions here
        return True
    return False


class BeyondTheCPU(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        require_device(cpu=False)

    def test_the_list_of_operators(self):
        for op in op_db:
            for dtype in [d for d in op.dtypesIfCUDA if d not in op.dtypes and d != torch.complex32]:
                if reason_not_to_run(op):
                    continue
                with self.subTest(operator=op.full_name, dtype=dtype):
                    for sample in itertools.islice(op.sample_inputs("cpu", dtype), 3):
                        op.op(there(sample.input), *there(sample.args), **there(sample.kwargs))
                        device_module().synchronize()

    def test_what_neither_supports_is_rejected(self):
        for op in op_db:
            if reason_not_to_run(op) or op.full_name in TAKEN or "jiterator" in op.name:
                continue
            for dtype in DTYPES - op.dtypes - op.dtypesIfCUDA:
                for sample in samples_of(op, dtype):
                    if not raises(op, sample, lambda x: x):
                        continue  # the list is not exact
                    with self.subTest(operator=op.full_name, dtype=dtype):
                        self.assertTrue(raises(op, sample, lambda x: x.to(DEVICE)), f"{sample} was taken")

    def test_histc_of_integers(self):
        for dtype in (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64):
            values = torch.randint(0, 100, (1000,), dtype=dtype)
            for bins, low, high in ((10, 0, 99), (7, 10, 50), (100, 0, 100), (4, 0, 0), (1, 5, 5), (16, 200, 210)):
                with self.subTest(dtype=dtype, bins=bins, low=low, high=high):
                    if dtype == torch.int8 and high > 127:
                        continue
                    found = torch.histc(values.to(DEVICE), bins, low, high)
                    self.assertEqual(found.dtype, dtype)
                    minimum, maximum = (low, high) if low != high else (int(values.min()), int(values.max()))
                    expected = [0] * bins
                    for value in values.tolist():
                        if minimum <= value <= maximum:
                            expected[min((value - minimum) * bins // (maximum - minimum), bins - 1)] += 1
                    self.assertEqual(found.long().cpu().tolist(), torch.tensor(expected).to(dtype).long().tolist())

    def test_histc_of_one_value_and_of_none(self):
        ones = torch.ones(5, dtype=torch.int32, device=DEVICE)
        self.assertEqual(torch.histc(ones, 3).tolist(), [0, 5, 0])
        self.assertEqual(torch.histc(ones[:0], 3).tolist(), [0, 0, 0])
        with self.assertRaises(RuntimeError):
            torch.histc(ones, 3, 5, 2)

    def test_margin_losses_of_16_bits(self):
        scores, targets = torch.randn(5, 4), torch.randint(0, 4, (5,))
        labels = torch.tensor([[0, 2, -1, 1]] * 5)
        for dtype in (torch.float16, torch.bfloat16):
            for function, target in ((F.multi_margin_loss, targets), (F.multilabel_margin_loss, labels)):
                with self.subTest(dtype=dtype, loss=function.__name__):
                    rounded = scores.to(dtype)
                    x = rounded.to(DEVICE).requires_grad_()
                    reference = rounded.float().requires_grad_()
                    loss, expected = function(x, target.to(DEVICE)), function(reference, target)
                    loss.backward(), expected.backward()
                    self.assertEqual((loss.dtype, x.grad.dtype), (dtype, dtype))
                    torch.testing.assert_close(loss.float().cpu(), expected, rtol=2e-2, atol=2e-2)
                    torch.testing.assert_close(x.grad.float().cpu(), reference.grad, rtol=2e-2, atol=2e-2)

    def test_nansum_of_complex_numbers(self):
        nan = float("nan")
        values = torch.tensor([1 + 2j, complex(nan, 1), 3 - 1j, complex(2, nan)], device=DEVICE)
        self.assertEqual(torch.nansum(values).item(), 4 + 1j)

    def test_rrelu(self):
        for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
            x = torch.linspace(-4, 4, 41, dtype=dtype, device=DEVICE)
            drawn = F.rrelu(x, .1, .3, training=True)
            slopes = (drawn / x)[x < 0].float()
            self.assertTrue(torch.equal(drawn[x >= 0], x[x >= 0]))
            self.assertTrue((slopes.min() >= .0999 - 1e-2).item() and (slopes.max() <= .3001 + 1e-2).item())
            self.assertGreater(slopes.unique().numel(), 5)
            torch.testing.assert_close(F.rrelu(x, .1, .3).cpu(), F.leaky_relu(x.cpu(), .2))


if __name__ == "__main__":
    unittest.main()
