"""Batch, layer, group and RMS norm, forward and backward."""

import unittest

import torch
import torch.nn.functional as F
from torch import nn

from both_devices import CloseOnBoth, NativeOnBoth, moved
from support import DEVICE

TOLERANCE = (1e-4, 1e-4)


def weights(size, dtype=torch.float32):
    return torch.rand(size, dtype=torch.float64).add(0.5).to(dtype).requires_grad_()


def inputs(shape, dtype=torch.float32):
    return torch.randn(shape, dtype=torch.float64).mul(2).add(1).to(dtype).requires_grad_()


class BatchNorm(CloseOnBoth):
    SHAPES = ((8, 5), (4, 6, 9), (3, 5, 7, 8), (3, 8, 6, 4), (2, 4, 3, 4, 5), (2, 16, 130, 140))

    def test_training(self):
        for shape in self.SHAPES:
            with self.subTest(shape=shape):
                channels = shape[1]
                mean, variance = torch.randn(channels), torch.rand(channels) + 0.5
                there = moved(mean), moved(variance)
                values, scale, shift = inputs(shape), weights(channels), weights(channels)
                arguments = [moved(values), moved(scale), moved(shift)]
                expected = F.batch_norm(values, mean, variance, scale, shift, training=True, momentum=0.3)
                actual = F.batch_norm(arguments[0], *there, *arguments[1:], training=True, momentum=0.3)
                self.assert_close([actual], [expected], TOLERANCE)
                self.assert_close(there, (mean, variance), TOLERANCE, "running statistics")
                gradient = torch.randn(shape)
                self.assert_close(torch.autograd.grad(actual, arguments, moved(gradient)),
                                  torch.autograd.grad(expected, (values, scale, shift), gradient), (1e-3, 5e-3))

    def test_evaluation(self):
        for shape in self.SHAPES:
            with self.subTest(shape=shape):
                channels = shape[1]
                self.compare(F.batch_norm, inputs(shape), torch.randn(channels), torch.rand(channels) + 0.5,
                             weights(channels), weights(channels), tolerance=TOLERANCE, gradients=(1e-3, 2e-3),
                             exact=True)
        self.compare(F.batch_norm, inputs((4, 3, 2)), torch.randn(3), torch.rand(3) + 0.5)

    def test_without_weights_or_statistics(self):
        self.compare(F.batch_norm, inputs((6, 4, 5)), None, None, training=True, tolerance=TOLERANCE)
        self.compare(F.batch_norm, inputs((6, 4, 5), torch.float64), None, None, weights(4, torch.float64),
                     training=True)

    def test_running_statistics_with_gaps(self):
        mean, variance = torch.randn(10), torch.rand(10) + 0.5
        there = moved(mean), moved(variance)
        values = inputs((4, 5, 6)).detach()
        expected = F.batch_norm(values, mean[::2], variance[1::2], training=True)
        actual = F.batch_norm(moved(values), there[0][::2], there[1][1::2], training=True)
        self.assert_close([actual, *there], [expected, mean, variance], TOLERANCE)

    def test_channels_last(self):
        for shape in ((3, 8, 6, 4), (2, 5, 7, 3), (2, 16, 90, 70)):
            values = inputs(shape).detach().contiguous(memory_format=torch.channels_last).requires_grad_()
            for training in (True, False):
                with self.subTest(shape=shape, training=training):
                    channels = shape[1]
                    self.compare(F.batch_norm, values, torch.zeros(channels), torch.ones(channels), weights(channels),
                                 weights(channels), training=training, tolerance=TOLERANCE, gradients=(1e-3, 2e-3),
                                 exact=True)
            result = F.batch_norm(moved(values), None, None, training=True)
            self.assertTrue(result.is_contiguous(memory_format=torch.channels_last))
        values = inputs((2, 4, 3, 5, 6)).detach().contiguous(memory_format=torch.channels_last_3d).requires_grad_()
        self.compare(F.batch_norm, values, None, None, training=True, tolerance=TOLERANCE)

    def test_other_layouts(self):
        self.compare(F.batch_norm, inputs((5, 4, 6)).detach().transpose(0, 2).requires_grad_(), None, None,
                     training=True, tolerance=TOLERANCE)
        sliced = inputs((4, 12, 8)).detach()[:, ::2, 1:6].requires_grad_()
        self.compare(F.batch_norm, sliced, None, None, weights(6), weights(6), training=True, tolerance=TOLERANCE)

    def test_half(self):
        for dtype in (torch.float16, torch.bfloat16):
            self.compare(F.batch_norm, inputs((6, 4, 10, 10), dtype), None, None, weights(4), weights(4), training=True,
                         tolerance=(2e-2, 2e-2), gradients=(3e-2, 1e-1))

    def test_module_trains_and_evaluates(self):
        torch.manual_seed(1)
        module = nn.BatchNorm2d(6, momentum=None)
        there = nn.BatchNorm2d(6, momentum=None).to(DEVICE)
        for _ in range(3):
            values = inputs((4, 6, 5, 5)).detach()
            self.assert_close([there(moved(values))], [module(values)], TOLERANCE)
        self.assert_close([there.running_var, there.running_mean], [module.running_var, module.running_mean], TOLERANCE)
        self.assert_close([there.eval()(moved(values))], [module.eval()(values)], TOLERANCE)

    def test_empty(self):
        self.compare(F.batch_norm, inputs((0, 4, 3)).detach(), torch.zeros(4), torch.ones(4))


class RowNorms(CloseOnBoth):
    def test_layer_norm(self):
        for shape, normalized in (((6, 20), (20,)), ((4, 3, 1000), (1000,)), ((3, 4, 5, 6), (5, 6)), ((2, 3), (2, 3)),
                                  ((5000, 7), (7,)), ((2, 70_001), (70_001,))):
            with self.subTest(shape=shape):
                self.compare(F.layer_norm, inputs(shape), normalized, weights(normalized), weights(normalized),
                             tolerance=TOLERANCE, gradients=(1e-3, 3e-3))
                self.compare(F.layer_norm, inputs(shape), normalized, tolerance=TOLERANCE, gradients=(1e-3, 3e-3))
        self.compare(F.layer_norm, inputs((9, 6, 5)).detach().transpose(0, 1).requires_grad_(), (5,), weights(5),
                     weights(5), tolerance=TOLERANCE)
        self.compare(F.layer_norm, inputs((0, 5)), (5,), weights(5), weights(5))

    def test_rms_norm(self):
        for shape, normalized in (((6, 20), (20,)), ((3, 4, 5, 6), (5, 6)), ((5000, 7), (7,))):
            with self.subTest(shape=shape):
                self.compare(F.rms_norm, inputs(shape), normalized, weights(normalized), tolerance=TOLERANCE,
                             gradients=(1e-3, 3e-3))
                self.compare(F.rms_norm, inputs(shape), normalized, eps=1e-3, tolerance=TOLERANCE)

    def test_group_norm(self):
        for shape, groups in (((3, 6, 5, 7), 3), ((2, 8, 9), 2), ((4, 6), 6), ((2, 4, 130, 140), 1), ((1, 12, 3, 3, 3), 4)):
            with self.subTest(shape=shape, groups=groups):
                channels = shape[1]
                self.compare(F.group_norm, inputs(shape), groups, weights(channels), weights(channels),
                             tolerance=TOLERANCE, gradients=(1e-3, 3e-3))
                self.compare(F.group_norm, inputs(shape), groups, tolerance=TOLERANCE, gradients=(1e-3, 3e-3))
        last = inputs((2, 8, 6, 5)).detach().contiguous(memory_format=torch.channels_last).requires_grad_()
        self.compare(F.group_norm, last, 4, weights(8), weights(8), tolerance=TOLERANCE)
        self.compare(F.instance_norm, inputs((3, 4, 6, 5)), weight=weights(4), bias=weights(4), tolerance=TOLERANCE,
                     gradients=(1e-3, 3e-3))

    def test_dtypes(self):
        for dtype, tolerance in ((torch.float64, None), (torch.float16, (1e-2, 1e-2)), (torch.bfloat16, (4e-2, 4e-2))):
            with self.subTest(dtype=dtype):
                self.compare(F.layer_norm, inputs((6, 40), dtype), (40,), weights(40, dtype), weights(40, dtype),
                             tolerance=tolerance, gradients=tolerance and (5e-2, 2e-1))
                self.compare(F.group_norm, inputs((6, 4, 10), dtype), 2, weights(4, dtype), weights(4, dtype),
                             tolerance=tolerance, gradients=tolerance and (5e-2, 3e-1))

    def test_gradcheck(self):
        values = inputs((3, 4, 5), torch.float64)
        scale, shift = weights(4, torch.float64), weights(4, torch.float64)
        there = [moved(values), moved(scale), moved(shift)]
        self.assertTrue(torch.autograd.gradcheck(lambda x, w, b: F.group_norm(x, 2, w, b), there))
        self.assertTrue(torch.autograd.gradcheck(
            lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True), there))
        wide = [moved(inputs((3, 5), torch.float64)), moved(weights(5, torch.float64)), moved(weights(5, torch.float64))]
        self.assertTrue(torch.autograd.gradcheck(lambda x, w, b: F.layer_norm(x, (5,), w, b), wide))


class WeightNorm(NativeOnBoth):
    def test_values_and_gradients(self):
        for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
            for shape, dim in (((5, 7), 0), ((5, 7), 1), ((4, 3, 2, 5), 0), ((4, 3, 2, 5), 3), ((6, 2, 3), 1), ((9,), 0)):
                size = [shape[dim] if d == dim else 1 for d in range(len(shape))]
                self.same(lambda v, g: torch._weight_norm(v, g, dim), inputs(shape, dtype),
                          weights(shape[dim], dtype).detach().reshape(size).requires_grad_(), strides=True)
        self.same(lambda v, g: torch._weight_norm(v, g, 0), inputs((7, 5)).detach().t().requires_grad_(),
                  weights((5, 1)))

    def test_numerical(self):
        there = [moved(inputs((3, 4), torch.float64)), moved(weights((3, 1), torch.float64))]
        self.assertTrue(torch.autograd.gradcheck(lambda v, g: torch._weight_norm(v, g, 0), there))

    def test_modules(self):
        def loss(x, device):
            torch.manual_seed(3)
            layer = nn.utils.parametrizations.weight_norm(nn.Linear(8, 5)).to(device)
            layer(x).square().sum().backward()
            return [p.grad for p in layer.parameters()]
        x = torch.randn(6, 8)
        self.same(lambda x: loss(x, x.device), x, gradients=False)


if __name__ == "__main__":
    unittest.main()
