"""Convolutions of float32 large enough for Winograd's algorithm (convolution_winograd.h), with every kind of edge,
compared with float64."""

import unittest

import torch
import torch.nn.functional as F

from both_devices import NativeTestCase, relative_error
from support import DEVICE, is_cpu_driver

FORMATS = (torch.contiguous_format, torch.channels_last)

# Sizes of the input; output channels; padding.
CASES = {
    "whole tiles": ((4, 128, 16, 16), 128, 1),
    "channels of any number": ((3, 67, 33, 38), 130, 1),
    "no padding": ((5, 130, 22, 27), 67, 0),
    "padding of 2, one image": ((1, 96, 47, 54), 100, 2),
    "another padding in each dimension": ((2, 72, 31, 40), 132, (2, 0)),
    "windows outside of the image": ((2, 72, 31, 40), 132, (3, 4)),
}
TOLERANCE = 3e-5


def operands(of_input, out_channels, padding):
    generator = torch.Generator().manual_seed(of_input[-1])
    weight, bias = (torch.randn(sizes, generator=generator) for sizes in ((out_channels, of_input[1], 3, 3), (out_channels,)))
    x = torch.randn(of_input, generator=generator)
    return x, weight, bias, torch.randn(F.conv2d(x[:, :1], weight[:, :1], padding=padding).shape, generator=generator)


class Winograd(NativeTestCase):
    def same(self, found, expected, message=""):
        self.assert_on_device(found, message)
        self.assertEqual(found.shape, expected.shape, message)
        self.assertLessEqual(relative_error(expected, found.cpu()), TOLERANCE, message)

    def check(self, function, tensors, gradient, padding, formats=FORMATS):
        here = [t.double().requires_grad_() for t in tensors]
        expected = function(*here, padding=padding)
        gradients = torch.autograd.grad(expected, here, gradient.double())
        for memory_format in formats:
            with self.subTest(memory_format=memory_format):
                there = [t.to(DEVICE) for t in tensors]
                there[0] = there[0].contiguous(memory_format=memory_format)
                there = [t.requires_grad_() for t in there]
                found = function(*there, padding=padding)
                self.same(found, expected)
                results = torch.autograd.grad(found, there, gradient.to(DEVICE))
                for name, result, reference in zip(("input", "weight", "bias"), results, gradients):
                    self.same(result, reference, name)
                for result in (found, *results[:2]):
                    self.assertTrue(result.is_contiguous(memory_format=memory_format))

    def test_edges(self):
        for name, (of_input, out_channels, padding) in CASES.items():
            with self.subTest(case=name):
                *tensors, gradient = operands(of_input, out_channels, padding)
                self.check(F.conv2d, tensors, gradient, padding)
                self.check(F.conv2d, tensors[:2], gradient, padding, FORMATS[:1])

    def test_several_chunks(self):
        """7,500 tiles with 64 + 64 channels; a chunk has at most 7,281 tiles."""
        *tensors, gradient = operands((3, 64, 200, 200), 64, 1)
        self.check(F.conv2d, tensors, gradient, 1, FORMATS[:1])

    def test_transposed(self):
        generator = torch.Generator().manual_seed(1)
        tensors = [torch.randn(sizes, generator=generator) for sizes in ((4, 128, 17, 18), (128, 80, 3, 3), (80,))]
        self.check(F.conv_transpose2d, tensors, torch.randn(4, 80, 17, 18, generator=generator), 1)

    def test_any_order_of_memory(self):
        x, weight, _, gradient = operands((4, 128, 16, 16), 128, 1)
        here = [t.double().requires_grad_() for t in (x, weight)]
        expected = F.conv2d(*here, padding=1)
        gradients = torch.autograd.grad(expected, here, gradient.double())
        orders = {"channels_last": lambda t: t.contiguous(memory_format=torch.channels_last),
                  "transposed": lambda t: t.transpose(2, 3).contiguous().transpose(2, 3),
                  "at an odd address": lambda t: torch.cat([t.flatten()[:1], t.flatten()])[1:].view_as(t)}
        for one, of_weight in orders.items():
            for other, of_pixels in orders.items():
                with self.subTest(weight=one, pixels=other):
                    there = [of_pixels(x.to(DEVICE)).requires_grad_(), of_weight(weight.to(DEVICE)).requires_grad_()]
                    found = F.conv2d(*there, padding=1)
                    self.same(found, expected)
                    for result, reference in zip(torch.autograd.grad(found, there, of_pixels(gradient.to(DEVICE))), gradients):
                        self.same(result, reference)

    def test_expanded_gradient(self):
        x, weight, _, gradient = operands((4, 128, 16, 16), 128, 1)
        here, there = ([t.detach().to(kind).requires_grad_() for t in (x, weight)] for kind in (torch.float64, DEVICE))
        F.conv2d(*here, padding=1).sum().backward()
        F.conv2d(*there, padding=1).sum().backward()
        for one, other in zip(here, there):
            self.same(other.grad, one.grad)

    def test_the_algorithm_is_used(self):
        """Only Winograd's algorithm lets a NaN reach a pixel whose 3 x 3 window does not contain it."""
        images, side = (4, 16) if is_cpu_driver() else (32, 64)  # a GPU may convolve small images directly
        x, weight, _, gradient = (t.to(DEVICE) for t in operands((images, 128, side, side), 128, 1))
        x[0, 0, 0, 0] = gradient[0, 0, 0, 0] = torch.nan
        x, weight = x.requires_grad_(), weight.requires_grad_()
        result = F.conv2d(x, weight, padding=1)
        of_input, of_weight = torch.autograd.grad(result, (x, weight), gradient)
        for found in (result, of_input):
            self.assertTrue(found[0, :, :4, :4].isnan().all())
            self.assertFalse(found[0, :, 4:, 4:].isnan().any())
            self.assertFalse(found[1:].isnan().any())
        # Tap (2, 2) does not multiply pixel (0, 0), nor tap (0, 0) the gradient there.
        self.assertTrue(of_weight[0].isnan().all() and of_weight[:, 0].isnan().all())
        self.assertFalse(of_weight[1:, 1:].isnan().any())

    def test_reproducible(self):
        x, weight, _, gradient = (t.to(DEVICE) for t in operands((3, 67, 33, 38), 130, 1))
        x, weight = x.requires_grad_(), weight.requires_grad_()
        results = []
        for _ in range(2):
            result = F.conv2d(x, weight, padding=1)
            results.append((result, *torch.autograd.grad(result, (x, weight), gradient)))
        for one, other in zip(*results):
            self.assertTrue(torch.equal(one, other))


if __name__ == "__main__":
    unittest.main()
