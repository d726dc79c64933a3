"""torch.backends.cuda.matmul.allow_fp16_accumulation lets devices without matrix units add float16 products in float16."""

import unittest

import torch
from torch.nn.functional import conv2d, linear

from support import DEVICE, device_module, is_cpu_driver, require_device


def possible_sums(allowed: bool) -> set[float]:
    """What the sum of TERMS can be. A device with matrix units always adds in float32, and so does a GPU whose measured float16
    rate is low."""
    properties = device_module().get_device_properties(0)
    if not allowed or not properties.has_float16_arithmetic or "float16" in properties.matrix_units:
        return {1.0}
    return {0.0} if is_cpu_driver() else {0.0, 1.0}


#: 2048 + 1 is 2048 in float16, and 2049 in float32.
TERMS = torch.tensor([2048.0, 1.0, -2048.0] + [0.0] * 29, dtype=torch.float16)


def product():
    rows = TERMS.expand(40, 32).contiguous().to(DEVICE)
    return rows @ torch.ones(32, 36, dtype=torch.float16, device=DEVICE)


def convolution():
    image = TERMS.view(1, 32, 1, 1).expand(2, 32, 8, 8).contiguous().to(DEVICE)
    return conv2d(image, torch.ones(24, 32, 1, 1, dtype=torch.float16, device=DEVICE))


class HalfSums(unittest.TestCase):
    def setUp(self):
        require_device()
        before = torch.backends.cuda.matmul.allow_fp16_accumulation
        self.addCleanup(setattr, torch.backends.cuda.matmul, "allow_fp16_accumulation", before)

    def allow(self, allowed):
        torch.backends.cuda.matmul.allow_fp16_accumulation = allowed

    def test_they_are_used_only_if_allowed(self):
        for work in product, convolution:
            for allowed in False, True:
                with self.subTest(work.__name__, allowed=allowed):
                    self.allow(allowed)
                    self.assertLessEqual(set(work().unique().tolist()), possible_sums(allowed))

    def test_other_dtypes_do_not_change(self):
        for dtype in torch.float32, torch.bfloat16:
            a, b = (torch.randn(70, 70).to(DEVICE, dtype) for _ in range(2))
            results = []
            for allowed in False, True:
                self.allow(allowed)
                results.append(a @ b)
            self.assertTrue(torch.equal(*results), dtype)

    def test_results_and_gradients(self):
        """Sums of 8 or 16 products in float16 are accurate enough."""
        torch.manual_seed(0)
        self.allow(True)
        cases = {
            "linear": (linear, (150, 300), (140, 300), (140,)),
            "bmm": (torch.bmm, (3, 33, 64), (3, 64, 50)),
            "conv2d": (lambda *operands: conv2d(*operands, padding=1), (3, 20, 17, 16), (40, 20, 3, 3), (40,)),
            "conv2d, strides": (lambda *operands: conv2d(*operands, stride=2), (3, 64, 17, 16), (70, 64, 3, 3)),
        }
        for name, (function, *shapes) in cases.items():
            operands = [torch.randn(shape, dtype=torch.float16) for shape in shapes]
            on_cpu = [one.double().requires_grad_() for one in operands]
            on_device = [one.to(DEVICE).requires_grad_() for one in operands]
            expected, found = function(*on_cpu), function(*on_device)
            gradient = torch.randn(expected.shape, dtype=torch.float16)
            right = [expected, *torch.autograd.grad(expected, on_cpu, gradient.double())]
            results = [found, *torch.autograd.grad(found, on_device, gradient.to(DEVICE))]
            for position, (one, other) in enumerate(zip(results, right)):
                with self.subTest(name, position=position):
                    error = (one.cpu().double() - other).abs().max() / other.abs().max()
                    self.assertLess(error, 3e-3)


if __name__ == "__main__":
    unittest.main()
