"""Automatic mixed precision: which operator runs in which dtype, and the gradient scaler."""

import unittest

import torch
from torch import nn

from support import DEVICE, device_module

TYPE = torch.device(DEVICE).type


class Autocast(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.module = device_module()
        torch.manual_seed(0)

    def test_supported_types(self):
        self.assertEqual(set(self.module.get_amp_supported_dtype()), {torch.float16, torch.bfloat16})

    def test_lower_precision_float32_and_promotion(self):
        one, two = torch.randn(4, 4).to(DEVICE), torch.randn(4, 4).to(DEVICE)
        for dtype in (torch.float16, torch.bfloat16):
            with torch.autocast(TYPE, dtype):
                self.assertEqual((one @ two).dtype, dtype)
                self.assertEqual(nn.functional.linear(one, two).dtype, dtype)
                self.assertEqual(torch.bmm(one[None], two[None]).dtype, dtype)
                self.assertEqual(nn.functional.conv2d(one[None, None], two[None, None, :3, :3]).dtype, dtype)
                self.assertEqual(torch.softmax((one @ two), -1).dtype, torch.float32)
                self.assertEqual(nn.functional.mse_loss((one @ two), two).dtype, torch.float32)
                self.assertEqual(torch.cat((one @ two, one)).dtype, torch.float32)
                self.assertEqual((one + two).dtype, torch.float32)
            self.assertEqual((one @ two).dtype, torch.float32)

    def test_the_same_operators_as_on_cuda(self):
        """PyTorch's CPU build registers CUDA's autocast policies, too. cuDNN's operators exist on CUDA only; the device casts
        for whole recurrent layers, for which CUDA has the policy of `_cudnn_rnn`."""

        def with_policy(key):
            names = torch._C._dispatch_get_all_op_names()
            return {name for name in names if torch._C._dispatch_has_kernel_for_dispatch_key(name, key)}

        cuda = {name for name in with_policy("AutocastCUDA") if "cudnn" not in name}
        self.assertGreater(len(cuda), 100)
        layers = {f"aten::{layer}.input" for layer in ("lstm", "gru", "rnn_relu", "rnn_tanh")}
        self.assertEqual(with_policy("AutocastPrivateUse1"), cuda | layers)

    def test_binary_cross_entropy_of_probabilities_is_refused(self):
        probabilities, targets = torch.rand(4).to(DEVICE), torch.ones(4).to(DEVICE)
        with torch.autocast(TYPE, torch.float16):
            with self.assertRaisesRegex(RuntimeError, "binary_cross_entropy_with_logits"):
                nn.functional.binary_cross_entropy(probabilities, targets)
            with torch.autocast(TYPE, enabled=False):
                nn.functional.binary_cross_entropy(probabilities, targets)

    def test_disabled_and_nested(self):
        one = torch.randn(4, 4).to(DEVICE)
        with torch.autocast(TYPE, torch.float16):
            with torch.autocast(TYPE, enabled=False):
                self.assertEqual((one @ one).dtype, torch.float32)
            self.assertEqual((one @ one).dtype, torch.float16)

    def test_weights_are_cast_once(self):
        layer = nn.Linear(8, 8).to(DEVICE)
        inputs = torch.randn(2, 8).to(DEVICE)
        with torch.autocast(TYPE, torch.float16):
            (layer(inputs) + layer(inputs)).float().sum().backward()
        self.assertEqual(layer.weight.grad.dtype, torch.float32)


class Scaler(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        device_module()

    def make(self):
        weights = nn.Parameter(torch.ones(4, device=DEVICE))
        return weights, torch.optim.SGD([weights], 0.5), torch.amp.GradScaler(TYPE, init_scale=8.0, growth_interval=2)

    def test_finite_gradients_are_unscaled_and_used(self):
        weights, optimizer, scaler = self.make()
        scaler.scale(weights.sum()).backward()
        self.assertEqual(weights.grad.cpu().tolist(), [8.0] * 4)
        scaler.unscale_(optimizer)
        self.assertEqual(weights.grad.cpu().tolist(), [1.0] * 4)
        scaler.step(optimizer)
        scaler.update()
        self.assertEqual(weights.detach().cpu().tolist(), [0.5] * 4)

    def test_infinite_gradients_skip_the_step(self):
        weights, optimizer, scaler = self.make()
        for value in (float("inf"), float("nan")):
            before = scaler.get_scale()
            optimizer.zero_grad()
            scaler.scale((weights * torch.tensor([1, 1, value, 1], device=DEVICE)).sum()).backward()
            scaler.step(optimizer)
            scaler.update()
            self.assertEqual(weights.detach().cpu().tolist(), [1.0] * 4)
            self.assertEqual(scaler.get_scale(), before / 2)

    def test_the_scale_grows(self):
        weights, optimizer, scaler = self.make()
        for _ in range(2):
            optimizer.zero_grad()
            scaler.scale(weights.sum()).backward()
            scaler.step(optimizer)
            scaler.update()
        self.assertEqual(scaler.get_scale(), 16.0)

    def test_nothing_uses_float64(self):
        found = torch.zeros(1, device=DEVICE)
        gradients = [torch.full((3,), 4.0, device=DEVICE), torch.full((2,), 8.0, device=DEVICE)]
        torch._amp_foreach_non_finite_check_and_unscale_(gradients, found, torch.full((), 0.25, device=DEVICE))
        self.assertEqual([gradient.tolist() for gradient in gradients], [[1.0] * 3, [2.0] * 2])
        self.assertEqual((found.dtype, found.item()), (torch.float32, 0.0))


if __name__ == "__main__":
    unittest.main(verbosity=2)
