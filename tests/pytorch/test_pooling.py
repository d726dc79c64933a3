"""Pooling compared with the CPU."""

import itertools
import unittest

import torch
import torch.nn.functional as F

from both_devices import NativeOnBoth

SHAPES = {1: (2, 3, 13), 2: (2, 3, 9, 13), 3: (2, 2, 5, 6, 7)}
FLOATING = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
LAST = {2: torch.channels_last, 3: torch.channels_last_3d}


def image(axes, dtype=torch.float32, gradient=True):
    """Distinct values, so that the maximum of a window is unique in every dtype."""
    shape = SHAPES[axes]
    size = torch.Size(shape).numel()
    values = (torch.randperm(size) - size // 2).reshape(shape)
    return values.to(dtype).div(4 if dtype.is_floating_point else 1).to(dtype).requires_grad_(gradient)


def pool(name, axes):
    return getattr(F, f"{name}_pool{axes}d")


class Maximum(NativeOnBoth):
    CASES = ({"kernel_size": 2}, {"kernel_size": 3, "stride": 2, "padding": 1}, {"kernel_size": 3, "stride": 1, "dilation": 2},
             {"kernel_size": 2, "stride": 3, "ceil_mode": True})

    def test_values_indices_and_gradients(self):
        for axes, case in itertools.product(SHAPES, self.CASES):
            if axes == 3 and case.get("dilation"):
                case = {**case, "kernel_size": 2}
            with self.subTest(axes=axes, **case):
                self.same(lambda x: pool("max", axes)(x, **case), image(axes))
                self.same(lambda x: pool("max", axes)(x, return_indices=True, **case), image(axes, gradient=False))

    def test_dtypes(self):
        for dtype in FLOATING:
            with self.subTest(dtype=dtype):
                self.same(lambda x: F.max_pool2d(x, 3, 2, 1), image(2, dtype))
        for dtype in (torch.int64, torch.int32):
            with self.subTest(dtype=dtype):
                self.same(lambda x: F.max_pool2d(x, 3, 2, 1), image(2, dtype, gradient=False))

    def test_layouts(self):
        for axes, format in LAST.items():
            x = image(axes, gradient=False).to(memory_format=format)
            with self.subTest(axes=axes):
                self.same(lambda x: pool("max", axes)(x, 2), x, strides=axes == 2)
                self.same(lambda x: pool("max", axes)(x, 2), x.requires_grad_())
                self.same(lambda x: pool("max", axes)(x, 2), image(axes, gradient=False)[0].transpose(1, 2))
        self.same(lambda x: F.max_pool2d(x, 2), torch.randn(0, 3, 4, 4))

    def test_special_values(self):
        x = torch.tensor([[[[1.0, float("nan"), 3.0, 4.0], [5.0, 6.0, -float("inf"), -float("inf")],
                            [-float("inf")] * 4, [-float("inf")] * 4]]])
        self.same(lambda x: F.max_pool2d(x, 2, return_indices=True), x)
        self.same(lambda x: F.max_pool2d(x, 2, return_indices=True), torch.zeros(1, 1, 4, 4))

    def test_adaptive(self):
        for axes, sizes in ((1, (4,)), (2, (4, 5)), (2, (1, 1)), (2, (11, 3)), (3, (2, 3, 4))):
            with self.subTest(sizes=sizes):
                self.same(lambda x: pool("adaptive_max", axes)(x, sizes), image(axes))
                self.same(lambda x: pool("adaptive_max", axes)(x, sizes, return_indices=True), image(axes, gradient=False))
        self.same(lambda x: F.adaptive_max_pool2d(x, 3), image(2, gradient=False).to(memory_format=torch.channels_last))

    def test_long_axis(self):
        """The number of positions times the number of windows does not fit in 32 bits."""
        x = torch.randperm(70_001).float().reshape(1, 1, 70_001).requires_grad_()
        self.same(lambda x: F.adaptive_max_pool1d(x, 66_000), x)

    def test_unpooling(self):
        for axes in SHAPES:
            x, places = pool("max", axes)(image(axes, gradient=False), 2, return_indices=True)
            with self.subTest(axes=axes):
                self.same(lambda x, i: getattr(F, f"max_unpool{axes}d")(x, i, 2, output_size=SHAPES[axes][2:]),
                          x.requires_grad_(), places)


class Average(NativeOnBoth):
    def test_values_and_gradients(self):
        cases = ({"kernel_size": 2}, {"kernel_size": 3, "stride": 2, "padding": 1},
                 {"kernel_size": 3, "stride": 2, "padding": 1, "count_include_pad": False},
                 {"kernel_size": 3, "stride": 2, "ceil_mode": True, "padding": 1})
        for axes, case in itertools.product(SHAPES, cases):
            with self.subTest(axes=axes, **case):
                self.same(lambda x: pool("avg", axes)(x, **case), image(axes))
        for axes in (2, 3):
            self.same(lambda x: pool("avg", axes)(x, 2, divisor_override=3), image(axes))

    def test_dtypes_and_layouts(self):
        for dtype in FLOATING:
            with self.subTest(dtype=dtype):
                self.same(lambda x: (F.avg_pool2d(x, 3, 2, 1), F.adaptive_avg_pool2d(x, (4, 5))), image(2, dtype), tolerance=None
                          if dtype in (torch.float32, torch.float64) else 0.05)
        for axes, format in LAST.items():
            x = image(axes, gradient=False).to(memory_format=format)
            self.same(lambda x: (pool("avg", axes)(x, 2), pool("adaptive_avg", axes)(x, 3)), x)
            self.same(lambda x: (pool("avg", axes)(x, 2), pool("adaptive_avg", axes)(x, 3)), x.requires_grad_())
            self.same(lambda x: pool("avg", axes)(x, 2), image(axes, gradient=False)[0].transpose(1, 2))
        self.same(lambda x: (F.avg_pool2d(x, 2), F.adaptive_avg_pool2d(x, 2)), torch.randn(0, 3, 4, 4))

    def test_adaptive(self):
        for axes, sizes in ((1, (4,)), (2, (4, 5)), (2, (1, 1)), (2, (11, 3)), (3, (2, 3, 4)), (3, (1, 1, 1))):
            with self.subTest(sizes=sizes):
                self.same(lambda x: pool("adaptive_avg", axes)(x, sizes), image(axes))
        self.same(lambda x: F.adaptive_avg_pool2d(x, (3, None)), image(2)[0].detach())


if __name__ == "__main__":
    unittest.main()
