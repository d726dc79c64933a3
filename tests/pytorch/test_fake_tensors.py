"""Every operator returns the sizes, strides, dtypes and aliases that PyTorch predicts for it (fake_tensors.py).

Operators that once differed, and a sample of PyTorch's list; exhaustive/test_samples.py runs the whole list.
"""

import itertools
import unittest

import torch
import torch.nn.functional as F

import fake_tensors
from both_devices import DeviceTestCase, tensors_of
from support import DEVICE, in_sample

FORMATS = {4: torch.channels_last, 5: torch.channels_last_3d}
ATTENTION = "aten._scaled_dot_product_fused_attention_overrideable"
CONVOLUTION = "aten.convolution"


def with_grad(*sizes, dtype=torch.float32):
    return torch.rand(sizes, device=DEVICE, dtype=dtype).requires_grad_()


def heads(rows, dtype=torch.float32):
    """[batch, heads, rows, width] as most networks have it: a view of rows of all heads."""
    return with_grad(2, rows, 3, 16, dtype=dtype).transpose(1, 2)


def arrangements(x):
    """The tensor in both memory formats, slices of it, and one entry."""
    for y in (x, x.contiguous(memory_format=FORMATS.get(x.dim(), torch.contiguous_format))):
        yield from (y, y[:1], y[..., 1:])
    yield x.transpose(-1, -2)


class Predicted(DeviceTestCase):
    def check(self, predictions, *operators):
        self.assertEqual(list(predictions.wrong.values()), [])
        for operator in operators:
            self.assertIn(operator, predictions.compared)

    def run_and_check(self, function, inputs, *operators):
        with fake_tensors.Predictions() as predictions, torch.autograd.set_multithreading_enabled(False):
            outputs = [output for output in tensors_of(function(*inputs)) if output.requires_grad]
            if outputs:
                torch.autograd.grad(outputs, [x for x in inputs if x.requires_grad], [torch.ones_like(y) for y in outputs])
        self.check(predictions, *operators)


class OnceDifferent(Predicted):
    """Operators whose outputs once differed from PyTorch's predictions."""

    def test_attention(self):
        operators = f"{ATTENTION}.default", f"{ATTENTION}_backward.default"
        q, k, v = with_grad(2, 3, 5, 16), heads(7), heads(7)
        for inputs, options in (((q, k, v), {}), ((k, k, v), {"is_causal": True}), ((k[:1], k[:1], v[:1]), {}),
                                ((q, k, v[..., :9]), {}), ([heads(7, torch.float16)] * 3, {}),
                                ((q, k[:, :1], v[:, :1]), {"enable_gqa": True}), ([with_grad(2, 3, 5, 200)] * 3, {})):
            self.run_and_check(lambda *x: F.scaled_dot_product_attention(*x, **options), inputs, *operators)
        for mask in (with_grad(5, 7), with_grad(2, 1, 5, 7), torch.ones(5, 7, device=DEVICE).bool()):
            self.run_and_check(lambda *x: F.scaled_dot_product_attention(*x[:3], attn_mask=x[3]), (q, k, v, mask), *operators)

    def test_convolution(self):
        operators = f"{CONVOLUTION}.default", f"{CONVOLUTION}_backward.default"
        for functions, kernel in (((F.conv1d, F.conv2d, F.conv3d), 2), ((F.conv1d, F.conv2d, F.conv3d), 1),
                                  ((F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d), 2)):
            for axes, function in enumerate(functions, 1):
                weight = with_grad(4, 4, *[kernel] * axes)
                for w in (weight, weight.contiguous(memory_format=FORMATS.get(weight.dim(), torch.contiguous_format))):
                    for x in arrangements(with_grad(2, 4, *range(4, 4 + axes))):
                        self.run_and_check(function, (x, w), *operators)

    def test_results_in_a_memory_format(self):
        index = torch.tensor([[[[[3]]]]], device=DEVICE)
        for x in arrangements(with_grad(2, 4, 3, 5)):
            for function in (lambda x: F.pixel_shuffle(x, 2), lambda x: F.pixel_shuffle(x, 1), lambda x: x.roll(1, 1),
                             lambda x: x.roll((1, 2), (2, 3)), lambda x: x.roll(3), lambda x: (x > 0.5).nonzero(),
                             lambda x: F.max_unpool3d(x[:1, :1, :1, :1, None], index, 2)):
                self.run_and_check(function, (x,))

    def test_padding(self):
        for sizes, mode in itertools.product(((2, 4, 3, 5), (2, 4, 3, 4, 5)), ("reflect", "replicate")):
            for x in arrangements(with_grad(*sizes)):
                self.run_and_check(lambda x: F.pad(x, (1, 1) * (x.dim() - 2), mode), (x,))

    def test_batch_norm_without_training(self):
        for x in arrangements(with_grad(2, 4, 3, 5)):
            mean, variance = torch.zeros(4, device=DEVICE), torch.ones(4, device=DEVICE)
            self.run_and_check(lambda x: F.batch_norm(x, mean, variance), (x,), "aten.native_batch_norm.default")


class FakeTensors(Predicted):
    share = 40
    samples = 1

    def test_outputs_are_as_predicted(self):
        compared = 0
        for op in fake_tensors.comparable():
            if in_sample(op.full_name, self.share):
                with self.subTest(op.full_name):
                    predictions = fake_tensors.compare(op, DEVICE, self.samples)
                    compared += len(predictions.compared)
                    self.check(predictions)
        self.assertGreater(compared, 20)


class TheComparison(unittest.TestCase):
    """The comparison detects each kind of difference. Runs on the CPU."""

    def test_each_difference(self):
        x = torch.randn(3, 4)
        y = x.sin()
        changes = {"": y, "strides": y.t().contiguous().t(), "shape": y[:2].clone(), "dtype": y.double(),
                   "offset": torch.cat((y, y))[3:], "shares input 0": x.view_as(x), "is input 0": x, "NoneType": None}
        for name, output in changes.items():
            with self.subTest(name):
                sentences = " ".join(fake_tensors.differences([output], [x], [y], [x]))
                self.assertIn(name, sentences) if name else self.assertEqual(sentences, "")
        one_pixel, column = torch.empty(2, 8, 1, 1), torch.empty(2, 1)
        as_channels_last = one_pixel.to(memory_format=torch.channels_last).as_strided((2, 8, 1, 1), (8, 1, 8, 8))
        self.assertIn("memory_format", " ".join(fake_tensors.differences([as_channels_last], [], [one_pixel], [])))
        self.assertEqual(list(fake_tensors.differences([column], [], [column.as_strided((2, 1), (1, 9))], [])), [])


if __name__ == "__main__":
    unittest.main()
