"""Convolutions in float16 and bfloat16 that are large enough for a device's matrix units (convolution_units.h), with every kind
of edge. The numbers are small integers, so that every order of the sums is exact: the results must equal float64's, rounded."""

import itertools
import unittest

import torch
import torch.nn.functional as F

from both_devices import NativeTestCase, ScaledOnBoth
from support import DEVICE, in_sample, is_cpu_driver

FORMATS = (torch.contiguous_format, torch.channels_last)

# Sizes of the input and of the weight; options.
CASES = {
    "3 x 3": ((4, 64, 32, 30), (64, 64, 3, 3), dict(padding=1)),
    "channels and pixels beside whole tiles": ((4, 72, 31, 29), (56, 72, 3, 3), dict(padding=1)),
    "any number of outputs": ((5, 64, 33, 32), (50, 64, 3, 3), dict()),
    "any number of inputs": ((4, 50, 33, 32), (64, 50, 3, 3), dict(padding=1)),
    "5 x 5": ((2, 48, 28, 28), (64, 48, 5, 5), dict(padding=2)),
    "7 x 7, stride 2": ((2, 32, 57, 40), (64, 32, 7, 7), dict(stride=2, padding=3)),
    "7 x 7, stride 2, three channels": ((3, 3, 112, 112), (64, 3, 7, 7), dict(stride=2, padding=3)),
    "patches of three channels": ((4, 3, 64, 64), (192, 3, 16, 16), dict(stride=16)),
    # In most of these, the host joins adjacent pixels of a row (convolution_padded.h).
    "pairs of pixels, odd widths": ((3, 3, 61, 63), (60, 3, 7, 7), dict(stride=2, padding=3)),
    "pairs of pixels, padding on whole pairs": ((3, 4, 40, 60), (64, 4, 5, 9), dict(stride=(3, 6), padding=(0, 4))),
    "pairs of pixels that save nothing": ((4, 3, 64, 66), (64, 3, 6, 2), dict(stride=2, padding=(0, 1))),
    "pairs of one channel": ((4, 1, 50, 66), (64, 1, 7, 7), dict(stride=2, padding=2)),
    "four pixels of two channels": ((4, 2, 50, 61), (64, 2, 6, 7), dict(stride=4, padding=(1, 3))),
    "eight pixels of one channel": ((4, 1, 40, 183), (48, 1, 5, 13), dict(stride=(3, 8), padding=(2, 5))),
    "pairs of pixels, dilation": ((4, 3, 64, 66), (64, 3, 5, 5), dict(stride=2, dilation=2, padding=2)),
    "1 x 7": ((3, 64, 24, 40), (96, 64, 1, 7), dict(padding=(0, 3))),
    "dilation": ((3, 64, 32, 32), (64, 64, 3, 3), dict(dilation=2, padding=2)),
    "stride": ((4, 64, 45, 47), (128, 64, 3, 3), dict(stride=2, padding=1)),
    "other strides and dilations in each dimension": ((4, 64, 50, 33), (128, 64, 3, 2),
                                                      dict(stride=(2, 1), dilation=(1, 2), padding=(0, 2))),
    "stride and dilation": ((12, 64, 40, 40), (128, 64, 3, 3), dict(stride=3, dilation=2, padding=3)),
    "windows outside the image": ((4, 64, 30, 30), (64, 64, 3, 3), dict(padding=3)),
    "one image": ((1, 128, 28, 27), (128, 128, 3, 3), dict(padding=1)),
    "sums in parts": ((3, 512, 7, 7), (256, 512, 3, 3), dict(padding=1)),
    "more channels than a tile": ((2, 136, 20, 20), (200, 136, 3, 3), dict(padding=1)),
    "one tap": ((6, 256, 28, 28), (160, 256, 1, 1), dict()),
    "one tap, an odd number of pixels": ((7, 256, 27, 27), (160, 256, 1, 1), dict()),
    "one tap, stride": ((3, 512, 40, 40), (384, 512, 1, 1), dict(stride=2)),
    "one tap, padding": ((5, 192, 40, 40), (192, 192, 1, 1), dict(padding=1)),
}


def integers(sizes, generator):
    return torch.randint(-1, 2, sizes, generator=generator).double()


class Float16(NativeTestCase):
    dtype = torch.float16
    share = 16  # a CPU driver, where a case takes seconds, runs one case in this many; a GPU runs all

    def chosen(self, *case):
        return not is_cpu_driver() or in_sample(f"{self.dtype} {case}", self.share)

    def same(self, found, expected, message=""):
        self.assert_on_device(found, message)
        self.assertEqual(found.shape, expected.shape, message)
        self.assertTrue(torch.equal(found.cpu(), expected.to(self.dtype)), message)

    def check(self, function, of_input, of_weight, options, formats=FORMATS):
        generator = torch.Generator().manual_seed(of_input[-1])
        channels = of_weight[1 if function is F.conv_transpose2d else 0]
        tensors = [integers(sizes, generator).requires_grad_() for sizes in (of_input, of_weight, (channels,))]
        expected = function(*tensors, **options)
        gradient = integers(expected.shape, generator)
        gradients = torch.autograd.grad(expected, tensors, gradient)
        for memory_format in formats:
            with self.subTest(memory_format=memory_format):
                there = [t.detach().to(self.dtype).to(DEVICE) for t in tensors]
                there[0] = there[0].contiguous(memory_format=memory_format)
                for t in there:
                    t.requires_grad_()
                found = function(*there, **options)
                self.same(found, expected)
                self.assertTrue(found.is_contiguous(memory_format=memory_format))
                results = torch.autograd.grad(found, there, gradient.to(self.dtype).to(DEVICE))
                for name, result, reference in zip(("input", "weight", "bias"), results, gradients):
                    self.same(result, reference, name)
                self.assertTrue(results[0].is_contiguous(memory_format=memory_format))
                self.assertTrue(results[1].is_contiguous(memory_format=memory_format))

    def test_edges(self):
        for name, (of_input, of_weight, options) in CASES.items():
            if not self.chosen(name):
                continue
            with self.subTest(case=name):
                one_channel = of_input[1] == 1  # an image with one channel is contiguous and in channels_last
                self.check(F.conv2d, of_input, of_weight, options, FORMATS[:1] if one_channel else FORMATS)

    def test_one_dimension(self):
        self.check(F.conv1d, (2, 64, 2600), (64, 64, 5), dict(padding=2), FORMATS[:1])
        self.check(F.conv1d, (2, 1, 6001), (64, 1, 80), dict(stride=4, padding=38), FORMATS[:1])

    def test_transposed(self):
        self.check(F.conv_transpose2d, (2, 128, 20, 20), (128, 64, 4, 4), dict(stride=2, padding=1))
        self.check(F.conv_transpose2d, (3, 64, 30, 32), (64, 64, 3, 3), dict(padding=1))
        self.check(F.conv_transpose2d, (3, 64, 30, 31), (64, 3, 4, 4), dict(stride=2, padding=1, output_padding=1))

    def test_many_images_at_once(self):
        """A batch that has more than 65,535 tiles of 32 pixels, but that matrix units compute in one launch."""
        if is_cpu_driver():
            self.skipTest("takes minutes on a CPU driver")
        self.check(F.conv2d, (45, 3, 224, 224), (16, 3, 3, 3), dict(stride=2, padding=1))

    def test_weights_and_gradients_in_any_order(self):
        generator = torch.Generator().manual_seed(6)
        x, weight = integers((3, 64, 32, 30), generator), integers((64, 64, 3, 3), generator)
        gradient = integers((3, 64, 30, 28), generator)
        here = [t.clone().requires_grad_() for t in (x, weight)]
        expected = F.conv2d(*here)
        gradients = torch.autograd.grad(expected, here, gradient)
        orders = {"contiguous": lambda t: t, "channels_last": lambda t: t.contiguous(memory_format=torch.channels_last),
                  "transposed": lambda t: t.transpose(2, 3).contiguous().transpose(2, 3),
                  "at an odd address": lambda t: torch.cat([t.flatten()[:1], t.flatten()])[1:].view_as(t)}
        for of_weight, order in orders.items():
            for of_gradient, other in orders.items():
                if not self.chosen(of_weight, of_gradient):
                    continue
                with self.subTest(weight=of_weight, gradient=of_gradient):
                    there = [other(x.to(self.dtype).to(DEVICE)).requires_grad_(), order(weight.to(self.dtype).to(DEVICE)).requires_grad_()]
                    found = F.conv2d(*there)
                    self.same(found, expected)
                    for result, reference in zip(torch.autograd.grad(found, there, other(gradient.to(self.dtype).to(DEVICE))), gradients):
                        self.same(result, reference)

    def test_each_gradient_alone(self):
        generator = torch.Generator().manual_seed(7)
        tensors = [integers(sizes, generator) for sizes in ((3, 64, 32, 30), (64, 64, 3, 3), (64,))]
        gradient = integers((3, 64, 32, 30), generator)
        for alone in range(3):
            for memory_format in FORMATS:
                if not self.chosen(alone, memory_format):
                    continue
                with self.subTest(gradient=alone, memory_format=memory_format):
                    here = [t.clone() for t in tensors]
                    there = [t.to(self.dtype).to(DEVICE) for t in tensors]
                    there[0] = there[0].contiguous(memory_format=memory_format)
                    for some in (here, there):
                        some[alone].requires_grad_()
                    F.conv2d(*here, padding=1).backward(gradient)
                    F.conv2d(*there, padding=1).backward(gradient.to(self.dtype).to(DEVICE))
                    self.same(there[alone].grad, here[alone].grad)

    def test_what_lies_outside_is_not_read(self):
        """A NaN reaches only the windows that contain it, also where tiles and slices extend past the edges."""
        generator = torch.Generator().manual_seed(8)
        x, weight = integers((5, 72, 27, 25), generator), integers((136, 72, 3, 3), generator)
        gradient = integers((5, 136, 27, 25), generator)
        for memory_format in FORMATS:
            for place in ((0, 0, 0, 0), (-1, -1, -1, -1)):
                for of_gradient in (False, True):
                    if not self.chosen(memory_format, place, of_gradient):
                        continue
                    with self.subTest(memory_format=memory_format, place=place, of_gradient=of_gradient):
                        marked = [x.clone(), gradient.clone()]
                        marked[of_gradient][place] = torch.nan
                        here = [t.clone().requires_grad_() for t in (marked[0], weight)]
                        there = [marked[0].to(self.dtype).to(DEVICE).contiguous(memory_format=memory_format), weight.to(self.dtype).to(DEVICE)]
                        there = [t.requires_grad_() for t in there]
                        expected, found = (F.conv2d(*tensors, padding=1) for tensors in (here, there))
                        expected.backward(marked[1])
                        found.backward(marked[1].to(self.dtype).to(DEVICE))
                        for one, other in ((expected, found), *((one.grad, other.grad) for one, other in zip(here, there))):
                            torch.testing.assert_close(other.cpu(), one.to(self.dtype), rtol=0, atol=0, equal_nan=True)


class BFloat16(Float16):
    dtype = torch.bfloat16


class Rounding(ScaledOnBoth):
    """Sums in float32 of products of 16-bit numbers: compared with the CPU's in float64, which are then rounded."""

    def test_random_numbers(self):
        for (dtype, tolerance), memory_format in itertools.product(((torch.float16, 1e-3), (torch.bfloat16, 8e-3)), FORMATS):
            x = torch.randn(3, 128, 24, 24).to(dtype).contiguous(memory_format=memory_format)
            weight, bias = torch.randn(128, 128, 3, 3).to(dtype), torch.randn(128).to(dtype)
            there = [t.to(DEVICE).requires_grad_() for t in (x, weight, bias)]
            here = [t.double().requires_grad_() for t in (x, weight, bias)]
            expected, found = F.conv2d(*here, padding=1), F.conv2d(*there, padding=1)
            gradient = torch.randn(expected.shape).to(dtype)
            self.same(expected.to(dtype), found, tolerance)
            pairs = zip(torch.autograd.grad(expected, here, gradient.double()),
                        torch.autograd.grad(found, there, gradient.to(DEVICE)))
            for one, other in pairs:
                self.same(one.to(dtype), other, tolerance)


if __name__ == "__main__":
    unittest.main()
