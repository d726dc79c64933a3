"""Operators and dtypes that CUDA supports and the CPU does not: they run here too, or MISSING gives the reason."""

import itertools
import unittest

import torch
import torch.nn.functional as F
from torch.testing._internal.common_dtype import all_types_and_complex_and
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._pytree import tree_leaves, tree_map

from comparison import RANDOM_OPERATORS, TOLERANCE
from support import DEVICE, device_module, in_sample, require_device

DTYPES = set(all_types_and_complex_and(torch.bool, torch.float16, torch.bfloat16))
MISSING = {
    "fft.": "PyTorch rejects float16 and complex32 on every device except CUDA before it calls a kernel",
    "torch.ops.aten._flash_attention_forward": "CUDA only; scaled_dot_product_attention is the public operator",
    "torch.ops.aten._efficient_attention_forward": "CUDA only; scaled_dot_product_attention is the public operator",
}
# The CPU computes complex numbers for the device, but has no kernels for complex numbers of 2 x 16 bits: an operator that cannot
# give the right values must raise an error.
MAY_BE_REFUSED = {torch.complex32}

# The CPU's reference is computed in the first of these dtypes that it has a kernel for.
WIDER = {
    torch.float16: (torch.float32,), torch.bfloat16: (torch.float32,), torch.float32: (torch.float64,),
    torch.float64: (torch.float64,), torch.complex32: (torch.complex64,), torch.complex64: (torch.complex128,),
    torch.complex128: (torch.complex128,),
}
WIDER_THAN_INTEGERS = (torch.int64, torch.float64)


def without_nan(x):
    return torch.where(x.isnan(), 0, x)


# The CPU refuses these with complex numbers of any width: the reference uses its other operators.
REFERENCES = {
    "nansum": lambda x, *dims, **keywords: torch.sum(without_nan(x), *dims, **keywords),
    "nanmean": lambda x, *dims, **keywords: torch.sum(without_nan(x), *dims, **keywords)
    / torch.sum(~x.isnan(), *dims, **keywords),
}
# float16's own tolerances serve its complex numbers, and complex128 is as accurate as float64.
TOLERANCES = {**TOLERANCE, torch.complex32: TOLERANCE[torch.float16], torch.complex128: TOLERANCE[torch.float64]}

# Dtypes that the device supports and neither the CPU nor CUDA does.
TAKEN = {
    "nn.functional.max_pool1d": "PyTorch implements it with max_pool2d, which accepts integers on the CPU",
}


def reason_not_to_run(op):
    return next((reason for name, reason in MISSING.items() if op.full_name.startswith(name)), None)


def there(value):
    return tree_map(lambda x: x.detach().to(DEVICE) if isinstance(x, torch.Tensor) else x, value)


def widened(value, dtype, wider):
    """The value with its tensors of `dtype`, and `dtype` itself, in the wider dtype."""
    def widen(leaf):
        if isinstance(leaf, torch.Tensor):
            return leaf.detach().to(wider) if leaf.dtype == dtype else leaf.detach()
        return wider if leaf is dtype else leaf
    return tree_map(widen, value)


def called(function, sample, change):
    """The tensors and numbers that the function returns for a changed copy of the sample."""
    return tree_leaves(function(change(sample.input), *change(sample.args), **change(sample.kwargs)))


def reference(op, sample, dtype):
    """The CPU's result in a wider dtype. Raises the last error if it has no kernel for any of them."""
    function = REFERENCES.get(op.name, op.op) if dtype.is_complex else op.op
    error = None
    for wider in WIDER.get(dtype, WIDER_THAN_INTEGERS):
        try:
            return called(function, sample, lambda value: widened(value, dtype, wider))
        except (RuntimeError, TypeError) as refusal:
            error = refusal
    raise error


def samples_of(op, dtype):
    try:
        return list(itertools.islice(op.sample_inputs("cpu", dtype), 3))
    except (RuntimeError, ValueError, TypeError, AssertionError):
        return []  # PyTorch has no samples for this dtype


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
    #: test_what_neither_supports_is_rejected runs one of this many cases; exhaustive/test_samples.py runs all.
    share = 4

    @classmethod
    def setUpClass(cls):
        require_device(cpu=False)

    def test_the_list_of_operators(self):
        compared, refused, missing = [], [], []
        for op in op_db:
            for dtype in [d for d in op.dtypesIfCUDA if d not in op.dtypes]:
                if reason_not_to_run(op):
                    missing.append((op.full_name, dtype))
                    continue
                with self.subTest(operator=op.full_name, dtype=dtype):
                    (refused if self.is_refused(op, dtype) else compared).append((op.full_name, dtype))
        print(f"{len(compared)} operators x dtypes that only CUDA supports agree with the CPU in a wider dtype, "
              f"{len(refused)} of complex32 are refused, {len(missing)} are not called: {', '.join(MISSING)}")

    def is_refused(self, op, dtype):
        """Compares the first samples with the CPU; returns whether the device has no kernel for them, as it may."""
        torch.manual_seed(0)
        number = 0
        for number, sample in enumerate(itertools.islice(op.sample_inputs("cpu", dtype), 3), 1):
            try:
                found = called(op.op, sample, there)
                device_module().synchronize()
            except (RuntimeError, NotImplementedError):
                if dtype in MAY_BE_REFUSED:
                    return True
                raise
            expected = reference(op, sample, dtype)
            self.assertEqual(len(found), len(expected))
            for have, want in zip(found, expected):
                self.assert_like_wider(op, dtype, have, want)
        self.assertGreater(number, 0, "no samples")
        return False

    def assert_like_wider(self, op, dtype, have, want):
        if not isinstance(want, torch.Tensor):
            self.assertEqual(have, want)
            return
        self.assertEqual(have.shape, want.shape)
        if op.name in RANDOM_OPERATORS:
            self.assertTrue(have.isfinite().all().item())
            return
        rtol, atol = TOLERANCES.get(have.dtype, (0, 0))
        if have.dtype == torch.complex32 and "conv" in op.name:
            # PyTorch makes a complex convolution of three real ones, whose differences cancel.
            atol *= want.abs().max().item()
        have = have.cpu()
        if not (have.dtype.is_floating_point or have.dtype.is_complex) and want.is_floating_point():
            have, want = have[want.isfinite()], want[want.isfinite()]  # an integer's remainder by zero is undefined
        torch.testing.assert_close(have, want.to(have.dtype), rtol=rtol, atol=atol, equal_nan=True)

    def test_what_neither_supports_is_rejected(self):
        for op in op_db:
            if reason_not_to_run(op) or op.full_name in TAKEN or "jiterator" in op.name:
                continue
            for dtype in DTYPES - op.dtypes - op.dtypesIfCUDA:
                if not in_sample(f"{op.full_name} {dtype}", self.share):
                    continue
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
