"""Input gradients of strided convolutions, which are computed in phases if they are large (convolution_phases.h), and
transposed convolutions. The numbers are small integers, so that every order of the sums is exact: the results must equal
float64's."""

import unittest

import torch
import torch.nn.functional as F

from both_devices import NativeTestCase
from support import DEVICE

TRANSPOSED = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}

# Sizes of the input [batch, channels, ...] and of the weight [channels, output channels of a group, ...]; options.
JOINED = {
    "kernel 7, stride 2": ((2, 32, 40, 36), (32, 3, 7, 7), dict(stride=2, padding=3, output_padding=1)),
    "all phases with the same taps": ((2, 64, 48, 40), (64, 3, 4, 4), dict(stride=2, padding=1)),
    "phases without overlap": ((2, 128, 40, 48), (128, 4, 2, 2), dict(stride=2)),
    "other strides in each dimension": ((2, 64, 24, 40), (64, 4, 3, 5), dict(stride=(3, 2), padding=(0, 2), output_padding=(2, 1))),
    "stride 1 in one dimension": ((2, 64, 48, 48), (64, 6, 3, 4), dict(stride=(1, 4), padding=(2, 0))),
    "groups": ((2, 64, 40, 40), (64, 3, 5, 5), dict(stride=2, padding=2, output_padding=1, groups=2)),
    "one dimension": ((3, 64, 9000), (64, 5, 8), dict(stride=4, padding=3, output_padding=2)),
    "three dimensions": ((2, 32, 9, 10, 14), (32, 3, 3, 4, 2), dict(stride=(2, 3, 2), padding=(1, 0, 1), output_padding=(1, 2, 0))),
    "dilation without a common divisor": ((2, 64, 30, 32), (64, 3, 4, 3), dict(stride=(2, 3), dilation=(3, 2), padding=(2, 0))),
    "dilation with a common divisor": ((2, 64, 30, 32), (64, 3, 4, 3), dict(stride=(2, 4), dilation=(2, 6), padding=(1, 3))),
    "more padding than the kernel reaches": ((4, 64, 40, 40), (64, 3, 3, 3), dict(stride=2, padding=(9, 6))),
    "output padding that no tap reaches": ((2, 128, 40, 40), (128, 4, 1, 2), dict(stride=(4, 3), output_padding=(3, 2))),
    "tiles of one tap": ((4, 64, 64, 64), (64, 3, 7, 7), dict(stride=2, padding=3, output_padding=1)),
    "sums in parts": ((1, 1024, 12, 12), (1024, 3, 7, 7), dict(stride=2, padding=3, output_padding=1)),
}
SEPARATE = {
    "many channels": ((5, 32, 40, 40), (32, 64, 3, 3), dict(stride=2, padding=1, output_padding=1)),
    "many channels and strides": ((6, 40, 22, 40), (40, 64, 4, 5), dict(stride=(3, 2), padding=(2, 1), output_padding=(1, 0))),
    "one tap": ((2, 128, 50, 64), (128, 64, 1, 1), dict(stride=2, output_padding=1)),
    "one tap, strides of 4": ((2, 128, 20, 32), (128, 48, 1, 1), dict(stride=4, output_padding=3, padding=1)),
    "one dimension": ((2, 64, 6000), (64, 64, 4), dict(stride=3, padding=1, output_padding=2)),
    "three dimensions": ((2, 16, 12, 10, 20), (16, 64, 3, 3, 3), dict(stride=(2, 1, 2), padding=1, output_padding=(1, 0, 1))),
    "dilation": ((4, 32, 40, 40), (32, 64, 3, 3), dict(stride=2, dilation=(3, 1), padding=(2, 1), output_padding=(1, 0))),
    "groups": ((5, 64, 40, 40), (64, 32, 3, 3), dict(stride=2, padding=1, groups=2)),
    "a channel for each group": ((4, 64, 64, 60), (64, 1, 7, 7), dict(stride=2, padding=3, output_padding=1, groups=64)),
    "a channel for each group, dilation": ((2, 64, 64, 60), (64, 1, 5, 7), dict(stride=(2, 3), dilation=(2, 1), groups=64)),
}
# Too small for phases.
SMALL = {
    "joined": ((2, 8, 5, 6), (8, 3, 7, 7), dict(stride=2, padding=3, output_padding=1)),
    "separate": ((2, 8, 5, 6), (8, 40, 3, 3), dict(stride=(3, 2), padding=1)),
    "a channel for each group": ((2, 4, 9, 7), (4, 1, 3, 3), dict(stride=(2, 3), dilation=(3, 2), padding=1, groups=4)),
    "one dimension": ((2, 3, 11), (3, 2, 4), dict(stride=3, dilation=2, output_padding=2)),
    "three dimensions": ((1, 3, 4, 5, 3), (3, 2, 2, 3, 2), dict(stride=(1, 2, 3), dilation=(2, 1, 1), padding=(0, 1, 0))),
    "a single tap and output padding": ((2, 3, 11), (3, 4, 1), dict(dilation=2, output_padding=1)),
    "a single tap, stride and output padding": ((2, 3, 7, 6), (3, 4, 1, 1), dict(stride=2, output_padding=1)),
}


def integers(sizes, generator, dtype=torch.float32):
    return torch.randint(-4, 5, sizes, generator=generator).to(dtype)


class Phases(NativeTestCase):
    def same(self, found, expected):
        self.assert_on_device(found)
        self.assertEqual(found.shape, expected.shape)
        self.assertTrue(torch.equal(found.cpu().double(), expected.double()))

    def check(self, cases, dtype=torch.float32, with_bias=(False, True)):
        for name, (of_input, of_weight, options) in cases.items():
            for bias in with_bias:
                with self.subTest(case=name, bias=bias, dtype=dtype):
                    generator = torch.Generator().manual_seed(len(name))
                    x, weight = integers(of_input, generator, dtype), integers(of_weight, generator, dtype)
                    channels = of_weight[1] * options.get("groups", 1)
                    of_bias = integers((channels,), generator, dtype) if bias else None
                    function = TRANSPOSED[x.dim() - 2]
                    expected = function(x.double(), weight.double(), None if of_bias is None else of_bias.double(), **options)
                    found = function(x.to(DEVICE), weight.to(DEVICE), None if of_bias is None else of_bias.to(DEVICE), **options)
                    self.same(found, expected)

    def test_phases_in_one_convolution(self):
        self.check(JOINED)

    def test_phases_in_separate_convolutions(self):
        self.check(SEPARATE)

    def test_small_sizes(self):
        self.check(SMALL)

    def test_other_dtypes(self):
        some = {name: JOINED[name] for name in ("kernel 7, stride 2", "dilation with a common divisor", "sums in parts")}
        some |= {name: SEPARATE[name] for name in ("one tap", "a channel for each group")}
        for dtype in (torch.float64, torch.int64):
            self.check(some, dtype, with_bias=(False,))
        self.check(SMALL, torch.float64)

    def test_16_bits(self):
        """Numbers so small that float16 represents all results, and that bfloat16 rounds only the few above 256."""
        generator = torch.Generator().manual_seed(1)
        for of_weight, groups in (((32, 3, 7, 7), 1), ((32, 40, 3, 3), 1), ((32, 1, 7, 7), 32)):
            x, weight = torch.randint(-1, 2, (2, 32, 40, 40), generator=generator), torch.randint(-1, 2, of_weight, generator=generator)
            expected = F.conv_transpose2d(x.double(), weight.double(), stride=2, padding=1, groups=groups)
            for dtype in (torch.float16, torch.bfloat16):
                with self.subTest(weight=of_weight, dtype=dtype):
                    found = F.conv_transpose2d(x.to(DEVICE, dtype), weight.to(DEVICE, dtype), stride=2, padding=1, groups=groups)
                    self.same(found, expected.to(dtype))

    def test_gradients_of_convolutions(self):
        """The input's gradient of a convolution whose last pixels no window reaches, in any memory format."""
        for in_channels, out_channels, kernel, options in ((3, 64, 7, dict(stride=2, padding=3)), (40, 32, 3, dict(stride=3)),
                                                           (16, 16, 7, dict(stride=4, padding=3, groups=16))):
            for memory_format in (torch.contiguous_format, torch.channels_last):
                with self.subTest(channels=in_channels, memory_format=memory_format):
                    generator = torch.Generator().manual_seed(2)
                    groups = options.get("groups", 1)
                    x = integers((2, in_channels, 83, 82), generator).contiguous(memory_format=memory_format)
                    weight = integers((out_channels, in_channels // groups, kernel, kernel), generator)
                    here, there = x.double().requires_grad_(), x.to(DEVICE).requires_grad_()
                    expected = F.conv2d(here, weight.double(), **options)
                    gradient = integers(expected.shape, generator)
                    expected.backward(gradient.double())
                    F.conv2d(there, weight.to(DEVICE), **options).backward(gradient.to(DEVICE))
                    self.same(there.grad, here.grad)

    def test_batches_in_pieces(self):
        """More elements than the limit of one piece of a phase."""
        generator = torch.Generator().manual_seed(3)
        x, weight = integers((3, 2, 1500, 1500), generator), integers((2, 3, 2, 2), generator)
        found = F.conv_transpose2d(x.to(DEVICE, torch.float16), weight.to(DEVICE, torch.float16), stride=2)
        self.assertTrue(torch.equal(found.cpu(), F.conv_transpose2d(x, weight, stride=2).half()))


class Windows(NativeTestCase):
    """Convolutions for groups of one or two channels, whose threads compute four adjacent pixels."""

    def check(self, function, of_input, of_weight, dtype=torch.float32, with_bias=True, **options):
        generator = torch.Generator().manual_seed(4)
        tensors = [integers(of_input, generator), integers(of_weight, generator)]
        tensors += [integers(of_weight[:1], generator)] if with_bias else []
        here = [t.double().requires_grad_() for t in tensors]
        there = [t.to(DEVICE, dtype).requires_grad_() for t in tensors]
        expected, found = function(*here, **options), function(*there, **options)
        gradient = integers(expected.shape, generator)
        pairs = zip(torch.autograd.grad(expected, here, gradient.double()),
                    torch.autograd.grad(found, there, gradient.to(DEVICE, dtype)))
        for one, other in [(expected, found), *pairs]:
            self.assert_on_device(other)
            self.assertTrue(torch.equal(one.to(dtype), other.cpu()))

    def test_widths(self):
        for width in (1, 2, 3, 4, 5, 6, 7, 8, 13):
            for kernel in (1, 2, 3):
                with self.subTest(width=width, kernel=kernel):
                    self.check(F.conv2d, (2, 3, 4, width), (3, 1, 2, kernel), padding=(0, kernel // 2 + 1), groups=3)

    def test_kernels_strides_dilations(self):
        for kernel in ((7, 7), (1, 9), (3, 17), (5, 8)):
            for options in (dict(), dict(stride=(1, 2)), dict(dilation=(1, 2)), dict(stride=(2, 1)), dict(stride=3, dilation=(2, 3))):
                with self.subTest(kernel=kernel, **options):
                    self.check(F.conv2d, (2, 4, 19, 42), (4, 1, *kernel), padding=(3, 4), groups=4, **options)

    def test_two_channels_in_and_out(self):
        self.check(F.conv2d, (2, 6, 9, 11), (6, 2, 3, 5), padding=2, groups=3)
        self.check(F.conv2d, (3, 1, 20, 18), (2, 1, 5, 5), padding=2)
        self.check(F.conv2d, (3, 2, 20, 18), (1, 2, 5, 5))
        self.check(F.conv2d, (2, 4, 9, 11), (8, 1, 3, 3), padding=1, groups=4)

    def test_one_and_three_dimensions(self):
        self.check(F.conv1d, (3, 5, 61), (5, 1, 31), padding=15, groups=5)
        self.check(F.conv3d, (2, 4, 5, 6, 7), (4, 1, 3, 2, 5), padding=(1, 1, 2), groups=4)
        self.check(F.conv3d, (2, 4, 5, 6, 9), (4, 1, 3, 2, 2), stride=(2, 1, 2), dilation=(1, 2, 3), groups=4)

    def test_many_workgroups(self):
        """So many groups that the kernel for the weight's gradient computes several taps of a row."""
        for kernel in (1, 3, 7, 9, 17):
            with self.subTest(kernel=kernel):
                self.check(F.conv2d, (2, 128, 10, 20), (128, 1, 2, kernel), padding=(0, kernel // 2), groups=128)

    def test_dtypes(self):
        for dtype in (torch.float16, torch.bfloat16, torch.float64):
            with self.subTest(dtype=dtype):
                for width in (8, 11):
                    self.check(F.conv2d, (1, 4, 5, width), (4, 1, 3, 3), dtype, padding=1, groups=4)


if __name__ == "__main__":
    unittest.main()
