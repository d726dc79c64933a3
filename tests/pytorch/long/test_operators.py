"""Every operator that is native according to operators.json: its in-place and out= variants, gradcheck, and edge cases.

exhaustive/test_dtypes.py tests every dtype.

The operators and samples are PyTorch's own (op_db), instantiate_device_type_tests creates the classes.
"""

import unittest

import torch
from torch.testing._internal.common_device_type import instantiate_device_type_tests, ops
from torch.testing._internal.common_utils import TestCase

import comparison
from support import DEVICE, device_is_there, require_device, without_flushed

TYPE = torch.device(DEVICE).type


NATIVE = comparison.native_operators()

SPARSE_OUTPUT = {"sparse.sampled_addmm"}  # the listed function returns a dense copy; device/test_layouts.py tests out=

# Families whose derivative is implemented by hand: PyTorch checks it against finite differences in float64.
GRADCHECKED = frozenset((
    "add", "mul", "div", "pow", "exp", "log", "tanh", "sigmoid", "sqrt", "sin", "where", "clamp", "sum", "mean", "var", "prod",
    "amax", "cumsum", "cumprod", "logsumexp", "softmax", "log_softmax", "mm", "bmm", "addmm", "addmv", "baddbmm", "matmul",
    "gather", "scatter", "scatter_add", "index_select", "index_put", "masked_fill", "cat", "stack", "roll", "flip", "tril",
    "nn.functional.conv1d", "nn.functional.conv2d", "nn.functional.conv3d", "nn.functional.conv_transpose2d",
    "nn.functional.max_pool2d", "nn.functional.avg_pool2d", "nn.functional.adaptive_avg_pool2d", "nn.functional.interpolate",
    "nn.functional.batch_norm", "nn.functional.layer_norm", "nn.functional.group_norm", "nn.functional.rms_norm",
    "nn.functional.gelu", "nn.functional.silu", "nn.functional.softplus", "nn.functional.elu", "nn.functional.mse_loss",
    "nn.functional.smooth_l1_loss", "nn.functional.cross_entropy", "nn.functional.nll_loss", "nn.functional.embedding",
    "nn.functional.pad", "nn.functional.linear"))


def first_samples(op, dtype: torch.dtype, count: int, requires_grad: bool = False) -> list:
    torch.manual_seed(0)
    samples = []
    for sample in op.sample_inputs("cpu", dtype, requires_grad=requires_grad):
        samples.append(sample)
        if len(samples) == count:
            break
    return samples


@unittest.skipUnless(device_is_there(), f"there is no device {DEVICE}")
class TestNativeOperators(TestCase):
    @ops([op for op in NATIVE if op.inplace_variant], allowed_dtypes=(torch.float32,))
    def test_in_place(self, device, dtype, op):
        for sample in first_samples(op, dtype, 3):
            expected_input = comparison.sample_on(op, sample, "cpu")
            try:
                expected = op.inplace_variant(expected_input.input, *expected_input.args, **expected_input.kwargs)
            except RuntimeError:
                continue  # the result's shape or dtype differs from the input's
            given = comparison.sample_on(op, sample, device)
            result = op.inplace_variant(given.input, *given.args, **given.kwargs)
            if isinstance(result, torch.Tensor):
                self.assertIs(result, given.input)
                torch.testing.assert_close(result.cpu(), expected, rtol=1e-3, atol=1e-3, equal_nan=True)

    @ops([op for op in NATIVE if op.supports_out and op.full_name not in SPARSE_OUTPUT], allowed_dtypes=(torch.float32,))
    def test_out(self, device, dtype, op):
        for sample in first_samples(op, dtype, 2):
            given = comparison.sample_on(op, sample, device)
            expected = op(given.input, *given.args, **given.kwargs)
            if not isinstance(expected, torch.Tensor):
                continue
            out = torch.empty_like(expected)
            self.assertIs(op(given.input, *given.args, **given.kwargs, out=out), out)
            # mvlgamma adds in another order for out=.
            torch.testing.assert_close(out.cpu(), expected.cpu(), rtol=1e-6, atol=1e-6, equal_nan=True)
            mine, untouched = self.into_every_second(op, given, expected)
            torch.testing.assert_close(mine.cpu(), expected.cpu(), rtol=1e-6, atol=1e-6, equal_nan=True)
            on_cpu = comparison.sample_on(op, sample, "cpu")
            self.assertTrue(untouched or not self.into_every_second(op, on_cpu, expected.cpu())[1], "wrote outside its output")

    def into_every_second(self, op, given, expected):
        """Writes the operator's output into every second element of a tensor and checks that the others are unchanged;
        the CPU, too, gives some outputs new strides (nn.functional.linear of a vector)."""
        before = torch.tensor(77).to(expected.dtype)
        out = torch.full((*expected.shape, 2), before.item(), dtype=expected.dtype, device=expected.device)
        target = out[..., 0]
        self.assertIs(op(given.input, *given.args, **given.kwargs, out=target), target)
        return target, bool((out[..., 1].cpu() == before).all())

    @ops([op for op in NATIVE if op.full_name in GRADCHECKED], allowed_dtypes=(torch.float64,))
    def test_gradcheck(self, device, dtype, op):
        for sample in first_samples(op, dtype, 2, requires_grad=True):
            given = comparison.sample_on(op, sample, device)
            inputs = [tensor for tensor in comparison.inputs_of(given) if tensor.requires_grad]
            if not inputs or sum(tensor.numel() for tensor in inputs) > 200:
                continue

            def function(*_):
                result = sample.output_process_fn_grad(op(given.input, *given.args, **given.kwargs))
                return tuple(leaf for leaf in torch.utils._pytree.tree_leaves(result)
                             if isinstance(leaf, torch.Tensor) and leaf.is_floating_point())
            self.assertTrue(torch.autograd.gradcheck(function, inputs, fast_mode=True))


instantiate_device_type_tests(TestNativeOperators, globals(), only_for=(TYPE,))


class Edges(unittest.TestCase):
    """Empty, scalar and large inputs, and sizes around workgroup boundaries, compared with the CPU."""

    @classmethod
    def setUpClass(cls):
        require_device()

    def same(self, function, *inputs, rtol=1e-4, atol=1e-5):
        expected = function(*inputs)
        actual = function(*(value.to(DEVICE) for value in inputs))
        torch.testing.assert_close(actual.cpu(), expected, rtol=rtol, atol=atol, equal_nan=True)

    def test_empty(self):
        empty = torch.empty(0, 4)
        functions = {"add": lambda x: x + 1, "sum": lambda x: x.sum(), "sum_0": lambda x: x.sum(0), "mean": lambda x: x.mean(),
                     "prod": lambda x: x.prod(1), "softmax": lambda x: torch.softmax(x, 1), "mm": lambda x: x @ x.t(),
                     "mm_inner": lambda x: x.t() @ x, "cat": lambda x: torch.cat((x, x)), "cumsum": lambda x: x.cumsum(0),
                     "sort": lambda x: x.sort(0)[0], "gather": lambda x: x.gather(0, torch.zeros(0, 4, dtype=torch.int64, device=x.device)),
                     "layer_norm": lambda x: torch.nn.functional.layer_norm(x, (4,)), "nonzero": lambda x: x.nonzero(),
                     "relu": torch.relu, "flip": lambda x: x.flip(0), "where": lambda x: torch.where(x > 0, x, -x)}
        for name, function in functions.items():
            with self.subTest(name):
                self.same(function, empty)

    def test_scalars(self):
        scalar = torch.tensor(2.5)
        functions = {"mean": lambda x: x.mean(), "sum": lambda x: x.sum(0), "cumsum": lambda x: x.cumsum(0),
                     "sort": lambda x: x.sort()[0], "argmax": lambda x: x.argmax(), "softmax": lambda x: torch.softmax(x, 0),
                     "roll": lambda x: x.roll(0), "flip": lambda x: x.flip(()), "std": lambda x: x.std(unbiased=False),
                     "index_select": lambda x: x.index_select(0, torch.tensor([0], device=x.device)), "pow": lambda x: x ** x,
                     "topk": lambda x: x.topk(1)[0], "unsqueeze": lambda x: x.unsqueeze(0).expand(3).contiguous()}
        for name, function in functions.items():
            with self.subTest(name):
                self.same(function, scalar)

    def test_functional_operators_make_new_tensors_where_the_cpu_does(self):
        def returns_its_input(function, values):
            return function(values).untyped_storage().data_ptr() == values.untyped_storage().data_ptr()
        values = torch.arange(6.0).reshape(2, 3)
        functions = {"mean_of_scalar": lambda x: x[0, 0].mean(), "roll_by_nothing": lambda x: x.roll(0), "roll_empty": lambda x: x.roll((0, 0), (0, 1)),
                     "sum_of_scalar": lambda x: x[0, 0].sum(), "clone": torch.clone, "abs": torch.abs, "round_int": lambda x: x.long().round(),
                     "clamp": lambda x: x.clamp(-100, 100), "flip_nothing": lambda x: x.flip(()), "cumsum_scalar": lambda x: x[0, 0].cumsum(0),
                     "repeat_once": lambda x: x.repeat(1, 1), "cat_one": lambda x: torch.cat((x,)), "pad_nothing": lambda x: torch.nn.functional.pad(x, (0, 0)).clone(),
                     "dropout_0": lambda x: torch.nn.functional.dropout(x, 0.0, True), "tril_all": lambda x: x.tril(10), "amax_scalar": lambda x: x[0, 0].amax()}
        for name, function in functions.items():
            with self.subTest(name):
                self.assertEqual(returns_its_input(function, values.to(DEVICE)), returns_its_input(function, values))

    def test_sizes_around_powers_of_two(self):
        for count in (1, 2, 3, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 1023, 1024, 1025, 4097, 65537):
            with self.subTest(count=count):
                values = torch.linspace(-2, 2, count)
                rounding = max(1e-5, 1e-7 * count)  # of a sum of values up to 2, in float32
                self.same(lambda x: torch.tanh(x) * 2 + x, values)
                self.same(lambda x: x.sum(), values, atol=rounding)
                self.same(lambda x: torch.softmax(x, 0), values)
                self.same(lambda x: x.cumsum(0), values, atol=rounding)
                self.same(lambda x: x.max(), values)

    def test_large(self):
        values = torch.linspace(-1, 1, (1 << 22) + 5)
        self.same(lambda x: x * 3 + 1, values)
        self.same(lambda x: (x * x).sum(), values, rtol=1e-4)
        self.same(lambda x: x[:-5].reshape(2048, -1).sum(0), values, atol=1e-2)
        self.same(lambda x: x[:-5].reshape(-1, 2048).t().contiguous(), values)
        self.same(lambda x: x.argmax(), values)

    def test_many_rows(self):
        rows = torch.randn(70_000, 3, generator=torch.Generator().manual_seed(0))
        self.same(lambda x: torch.softmax(x, 1), rows)
        self.same(lambda x: torch.nn.functional.layer_norm(x, (3,)), rows)
        self.same(lambda x: torch.nn.functional.conv1d(x[:, None], torch.ones(1, 1, 2, device=x.device)), rows)
        self.same(lambda x: x.sum(1), rows)

    def test_eight_dimensions(self):
        values = torch.arange(2.0 ** 8).reshape([2] * 8)
        self.same(lambda x: x.permute(7, 1, 5, 3, 0, 2, 6, 4) + x, values)
        self.same(lambda x: x.permute(7, 6, 5, 4, 3, 2, 1, 0).contiguous(), values)
        self.same(lambda x: x.permute(7, 1, 5, 3, 0, 2, 6, 4).sum((0, 3, 5)), values)

    def test_special_values(self):
        values = without_flushed(torch.tensor([float("nan"), float("inf"), -float("inf"), 0.0, -0.0, 1e-40, 3e38, -1.5]))
        for name in ("exp", "log", "sqrt", "tanh", "sigmoid", "abs", "sign", "floor", "isnan", "isinf", "relu", "erf", "log1p"):
            with self.subTest(name):
                self.same(getattr(torch, name), values)
        self.same(lambda x: x.max(), values)
        self.same(lambda x: torch.maximum(x, x.flip(0)), values)
        self.same(lambda x: x.sort()[0], values)


if __name__ == "__main__":
    unittest.main(verbosity=2)
