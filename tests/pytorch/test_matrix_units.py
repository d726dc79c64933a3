"""Which kernels ran: on a device with matrix units, 16-bit products, convolutions and attention must use them. The values that
these kernels compute are tested in test_products, test_convolution_units and test_attention."""

import unittest

import torch
import torch.nn.functional as F

from support import DEVICE, kernels_of, require_matrix_units


class MatrixUnits(unittest.TestCase):
    dtype = torch.float16

    def random(self, *sizes):
        return torch.randn(sizes).to(self.dtype).to(DEVICE).requires_grad_()

    def assert_ran(self, families, run):
        """families: the beginning of a kernel's name, or a tuple of such."""
        run()  # what is prepared once, such as a calibration, launches other kernels
        kernels = kernels_of(run)
        self.assertTrue(any(name.startswith(families) for name in kernels), f"expected {families}…, but these ran: {sorted(kernels)}")

    def assert_both_directions(self, families, function, *tensors):
        self.assert_ran(families, lambda: function(*tensors))
        result = function(*tensors)
        gradient = torch.ones_like(result)
        for tensor in tensors:
            self.assert_ran(families, lambda: torch.autograd.grad(result, tensor, gradient, retain_graph=True))

    def test_products(self):
        require_matrix_units(self.dtype)
        self.assert_both_directions("product_units", torch.mm, self.random(256, 512), self.random(512, 256))
        self.assert_both_directions("product_units", torch.bmm, self.random(4, 128, 128), self.random(4, 128, 128))
        self.assert_both_directions("product_units", F.linear, self.random(256, 512), self.random(256, 512))

    def test_convolutions(self):
        require_matrix_units(self.dtype)
        self.assert_both_directions("convolution_units", lambda x, w: F.conv2d(x, w, padding=1),
                                    self.random(4, 64, 32, 32), self.random(64, 64, 3, 3))

    def test_attention(self):
        require_matrix_units(self.dtype, "matrix_attention")
        self.assert_both_directions(("attention_units", "attention_columns"), F.scaled_dot_product_attention,
                                    *(self.random(2, 4, 128, 64) for _ in range(3)))


class BFloat16(MatrixUnits):
    dtype = torch.bfloat16


if __name__ == "__main__":
    unittest.main()
