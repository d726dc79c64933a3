"""Convolutions compared with the CPU, values and gradients; first those that crashed or hung an RX 5600 XT under
ROCm."""

import unittest

import torch
import torch.nn.functional as F
from torch import randn

from both_devices import ScaledOnBoth
from support import DEVICE


class Convolution(ScaledOnBoth):
    def check(self, function, x, w, b=None, tolerance=None, message="", **options):
        tensors = (x, w) if b is None else (x, w, b)
        self.compare_gradients(lambda *t: function(*t, **options), *tensors, tolerance=tolerance, message=message)

    def test_kernel_of_64_by_1(self):
        self.check(F.conv2d, randn(16, 1, 64, 256), randn(32, 1, 64, 1), randn(32))

    def test_3_by_3_of_growing_images(self):
        for size in (32, 40, 44, 64, 128, 224): # 44 and more hung
            self.check(F.conv2d, randn(1, 3, size, size), randn(8, 3, 3, 3), randn(8), padding=1, message=str(size),
                       tolerance=3e-5)

    def test_layers_of_real_networks(self):
        self.check(F.conv2d, randn(4, 16, 64, 64), randn(32, 16, 3, 3), randn(32), padding=1, tolerance=3e-5)
        self.check(F.conv2d, randn(4, 32, 32, 32), randn(32, 1, 3, 3), randn(32), padding=1, groups=32, tolerance=3e-5)
        self.check(F.conv2d, randn(4, 32, 32, 32), randn(64, 32, 1, 1), randn(64), tolerance=3e-5)
        self.check(F.conv_transpose2d, randn(2, 64, 16, 16), randn(64, 32, 4, 4), randn(32), stride=2, padding=1,
                   tolerance=3e-5)
        self.check(F.conv2d, randn(2, 3, 56, 56), randn(16, 3, 7, 7), stride=2, padding=3, tolerance=3e-5)

    def test_stride_padding_dilation(self):
        self.check(F.conv2d, randn(2, 5, 17, 13), randn(6, 5, 3, 2), randn(6), stride=(2, 3), dilation=(2, 1),
                   padding=(1, 2))
        self.check(F.conv2d, randn(2, 8, 7, 9), randn(16, 8, 1, 1), stride=2)
        self.check(F.conv2d, randn(2, 8, 7, 9), randn(16, 8, 1, 1), padding=1)
        self.check(F.conv2d, randn(2, 8, 12, 12), randn(6, 8, 3, 3), randn(6), padding="same")

    def test_groups(self):
        self.check(F.conv2d, randn(2, 6, 9, 8), randn(9, 2, 3, 3), randn(9), groups=3, padding=1)
        self.check(F.conv2d, randn(2, 6, 9, 8), randn(12, 1, 3, 3), randn(12), groups=6, padding=1, stride=2)
        self.check(F.conv2d, randn(2, 6, 9, 8), randn(6, 1, 3, 3), groups=6, dilation=2)

    def test_one_and_three_dimensions(self):
        self.check(F.conv1d, randn(2, 6, 50), randn(9, 6, 5), randn(9), stride=2, padding=3)
        self.check(F.conv3d, randn(2, 3, 6, 7, 8), randn(4, 3, 2, 3, 2), randn(4), stride=(1, 2, 1), padding=(1, 0, 1))

    def test_transposed(self):
        self.check(F.conv_transpose1d, randn(2, 6, 17), randn(6, 4, 4), randn(4), stride=3)
        self.check(F.conv_transpose2d, randn(2, 6, 7, 8), randn(6, 4, 3, 3), randn(4), stride=2, padding=1,
                   output_padding=1)
        self.check(F.conv_transpose2d, randn(2, 6, 7, 8), randn(6, 2, 3, 2), randn(4), stride=(1, 2), dilation=2, groups=2)
        self.check(F.conv_transpose3d, randn(1, 3, 4, 5, 3), randn(3, 2, 2, 2, 2), randn(2), stride=2)

    def test_larger_tiles(self):
        self.check(F.conv2d, randn(4, 40, 32, 32), randn(48, 40, 3, 3), randn(48), padding=1, tolerance=3e-5)
        self.check(F.conv2d, randn(8, 36, 56, 56), randn(64, 36, 1, 1), randn(64), tolerance=3e-5)

    def test_tiles_of_one_tap(self):
        """Many channels: whole tiles and edges, with strides, groups and transposed."""
        self.check(F.conv2d, randn(6, 64, 60, 60), randn(64, 64, 3, 3), randn(64), padding=1, tolerance=3e-5)
        self.check(F.conv2d, randn(5, 128, 33, 32), randn(72, 128, 3, 3), padding=1, tolerance=3e-5)
        self.check(F.conv_transpose2d, randn(2, 128, 44, 44), randn(128, 40, 4, 4), stride=2, padding=1, groups=2,
                   tolerance=3e-5)

    def test_weight_gradients_in_parts(self):
        self.check(F.conv2d, randn(3, 48, 33, 32), randn(40, 48, 3, 3), padding=1, dilation=2, tolerance=3e-5)
        self.check(F.conv2d, randn(3, 72, 32, 32), randn(48, 72, 1, 1), stride=(1, 2), tolerance=3e-5)
        self.check(F.conv3d, randn(2, 64, 6, 16, 12), randn(48, 64, 2, 3, 1), padding=(1, 1, 0), tolerance=3e-5)

    def test_long_sums_of_few_pixels(self):
        self.check(F.conv2d, randn(2, 128, 6, 5), randn(40, 128, 3, 3), randn(40), padding=1, tolerance=3e-5)
        self.check(F.conv2d, randn(2, 128, 6, 5), randn(40, 128, 3, 3), stride=2, padding=1, tolerance=3e-5)

    def test_layouts_without_batch_and_strides(self):
        x, w = randn(2, 8, 9, 7).contiguous(memory_format=torch.channels_last), randn(6, 8, 3, 3)
        self.check(F.conv2d, x, w, padding=1)
        self.check(F.conv2d, randn(2, 16, 9, 7)[:, ::2], w.transpose(2, 3), padding=1)
        self.check(F.conv2d, randn(8, 9, 7), w, padding=1)

    def test_empty_batch(self):
        self.check(F.conv2d, randn(0, 3, 8, 8), randn(4, 3, 3, 3), randn(4))

    def test_dtypes(self):
        for dtype, tolerance in ((torch.float16, 4e-3), (torch.bfloat16, 3e-2), (torch.float64, 1e-12)):
            x, w, b = randn(2, 4, 8, 8).to(dtype), randn(8, 4, 3, 3).to(dtype), randn(8).to(dtype)
            self.check(F.conv2d, x, w, b, padding=1, tolerance=tolerance, message=str(dtype))
            self.check(F.conv2d, x, w[:4, :1], b[:4], groups=4, tolerance=tolerance, message=str(dtype))

    def test_gradcheck(self):
        def double(*sizes):
            return randn(sizes, dtype=torch.float64).to(DEVICE).requires_grad_()
        self.assertTrue(torch.autograd.gradcheck(
            lambda x, w, b: F.conv2d(x, w, b, stride=2, padding=1), (double(1, 2, 4, 5), double(3, 2, 3, 2), double(3))))


if __name__ == "__main__":
    unittest.main()
