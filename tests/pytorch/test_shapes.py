"""cat, flip, padding, repetition and interpolation compared with the CPU."""

import itertools
import unittest

import torch
import torch.nn.functional as F

from both_devices import NativeOnBoth
from support import DEVICE

DTYPES = (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.int8,
          torch.uint8, torch.bool, torch.complex64)


def numbers(*shape, dtype=torch.float32):
    return torch.randint(0, 2 if dtype == torch.bool else 100, shape).to(dtype)


class Concatenation(NativeOnBoth):
    def test_cat_of_every_dtype(self):
        for dtype in DTYPES:
            with self.subTest(dtype=dtype):
                self.same(lambda a, b: (torch.cat((a, b)), torch.cat((a, b), -1), torch.stack((a, b), 1)),
                          numbers(3, 4, dtype=dtype), numbers(3, 4, dtype=dtype))

    def test_cat_of_different_tensors(self):
        self.same(lambda a, b: torch.cat((a, b), 1), torch.randn(3, 4), torch.randn(5, 3).t())
        self.same(lambda a, b: torch.cat((a, b)), torch.randn(3), torch.tensor([1, 2]))
        self.same(lambda a, b: torch.cat((a, b)), torch.randn(0), torch.randn(2, 3))
        self.same(lambda a, b: torch.cat((a, b), 1), torch.randn(2, 0, 3), torch.randn(2, 4, 3))
        self.same(lambda *list: torch.cat(list, 1), *(torch.randn(2, n % 3 + 1) for n in range(40)))
        self.same(lambda a, b: torch.cat((a, b), 1), *(torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last)
                                                      for _ in range(2)), strides=True)
        self.same(lambda a, b: torch.cat((a, b), 1), torch.randn(2, 3, requires_grad=True), torch.randn(2, 1, requires_grad=True))

    def test_parts_of_one_tensor(self):
        for dtype in (torch.float32, torch.bfloat16, torch.int8, torch.complex64):
            x = numbers(12, 5, dtype=dtype)
            with self.subTest(dtype=dtype):
                self.same(lambda x: torch.cat(x.split(5)), x)
                self.same(lambda x: torch.cat(x.split(5)[::-1]), x)
                self.same(lambda x: torch.cat((*x[:6].split(2), *x[8:].split(3))), x)
                self.same(lambda x: torch.cat((x[:4], x[4:4], x[4:9], x[4:9])), x)
                self.same(lambda x: torch.cat(x.split(4), 1), x)
                self.same(lambda x: torch.cat(x.t().split(1)), x)
                self.same(lambda x: torch.cat(x.t().split(4, 1), 1), x)
                self.same(lambda x: torch.stack(x.unbind()), x)
                self.same(lambda x: torch.stack(x.flatten().unbind()[3:40]), x)
                self.same(lambda x: torch.cat((x[:4], x[4:8].conj(), x[8:].conj())), x)
                self.same(lambda x: torch.cat((x[:4], x[4:8].t().reshape(4, 5))), x)
        self.same(lambda x: torch.cat((x[:2], x.view(torch.int32)[2:4])), torch.randn(4, 3))
        self.same(lambda x: torch.cat((x[:1], x[1:3])), torch.randn(3, 4, 1, 1).to(memory_format=torch.channels_last), strides=True)

    def test_out(self):
        a, b = torch.randn(2, 3), torch.randn(2, 3)
        out = torch.empty(0, device=DEVICE)
        torch.cat((a.to(DEVICE), b.to(DEVICE)), out=out)
        torch.testing.assert_close(out.cpu(), torch.cat((a, b)))
        with self.assertRaises(RuntimeError):
            torch.cat((out[:2], out[:2]), out=out[1:5])
        one = torch.cat((out,))
        self.assertNotEqual(one.data_ptr(), out.data_ptr())


class FlipsAndTriangles(NativeOnBoth):
    def test_flip_and_roll(self):
        for dtype in DTYPES:
            x = numbers(4, 5, 6, dtype=dtype)
            with self.subTest(dtype=dtype):
                self.same(lambda x: (x.flip(0), x.flip(1, 2), x.flip(()), x.fliplr(), x.rot90()), x)
                self.same(lambda x: (x.roll(1), x.roll(-7, 1), x.roll((2, -1), (0, 2)), x.roll((1, 1), (0, 0)), x.roll(12, 0)), x)
        self.same(lambda x: (x.flip(0), x.roll(1, 1)), torch.randn(5, 4).t())
        self.same(lambda x: (x.roll(1, 1), x.roll((1, 2), (0, 1)), x.roll(1)), torch.randn(5, 4).t(), strides=True)
        self.same(lambda x: (x.flip(1), x.roll(3, 2)), torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last), strides=True)
        self.same(lambda x: (x.flip(0), x.roll(1, 0)), torch.randn(0, 3))
        self.same(lambda x: (x.flip(0), x.roll(3, 0)), torch.randn(4, 3, requires_grad=True))

    def test_results_are_new_tensors(self):
        x = torch.randn(4, 4).to(DEVICE)
        for result in (x.flip(()), x.roll(0, 0), x.roll(4, 1), x.tril(9), x.triu(-9)):
            self.assertNotEqual(result.data_ptr(), x.data_ptr())

    def test_triangles(self):
        for dtype in DTYPES:
            with self.subTest(dtype=dtype):
                self.same(lambda x: (x.tril(), x.triu(), x.tril(-2), x.triu(3), x.tril(100)), numbers(2, 4, 6, dtype=dtype))
        self.same(lambda x: (x.tril(), x.triu(1)), torch.randn(6, 5).t())
        self.same(lambda x: (x.clone().tril_(), x.t().clone().triu_(1)), torch.randn(6, 5))
        self.same(lambda x: x.triu(), torch.randn(0, 3))
        self.same(lambda x: x.triu(), torch.randn(4, 4, requires_grad=True))
        for rows, columns, offset in itertools.product((0, 3, 5), (4, 1), (-2, 0, 2)):
            for make in (torch.tril_indices, torch.triu_indices):
                torch.testing.assert_close(make(rows, columns, offset, device=DEVICE).cpu(), make(rows, columns, offset))

    def test_diagonals_trace_and_cross(self):
        self.same(lambda x: (x.trace(), torch.diag(x), torch.diag(x[0]), torch.diag_embed(x), x.diagonal(1)), torch.randn(4, 5))
        self.same(lambda x: x.trace(), torch.randn(4, 5, requires_grad=True))
        self.same(lambda a, b: (torch.linalg.cross(a, b), torch.cross(a.t(), b.t(), 0)), torch.randn(5, 3, requires_grad=True),
                  torch.randn(5, 3, requires_grad=True))
        self.same(lambda a, b: torch.meshgrid(a, b, indexing="ij"), torch.randn(3), torch.randn(4))

    def test_repeat_interleave(self):
        self.same(lambda x, n: (x.repeat_interleave(n, 0), x.repeat_interleave(2, 1), x.repeat_interleave(3)), torch.randn(4, 3),
                  torch.tensor([1, 0, 3, 2]))
        self.same(lambda n: torch.repeat_interleave(n), torch.tensor([2, 0, 5], dtype=torch.int32))
        self.same(lambda x, n: x.repeat_interleave(n, 0, output_size=6), torch.randn(3, 3, requires_grad=True),
                  torch.tensor([1, 2, 3]))

    def test_shuffles(self):
        for x in (torch.randn(2, 8, 3, 4, requires_grad=True),
                  torch.randn(2, 8, 3, 4).to(memory_format=torch.channels_last)):
            self.same(lambda x: (F.pixel_shuffle(x, 2), F.channel_shuffle(x, 4)), x)
        self.same(lambda x: F.pixel_unshuffle(x, 2), torch.randn(2, 3, 4, 6))
        x = torch.randn(1, 4, 3, 3).to(DEVICE)
        for result in (F.pixel_shuffle(x, 1), F.pixel_unshuffle(x, 1), F.channel_shuffle(x, 1)):
            self.assertNotEqual(result.data_ptr(), x.data_ptr())


class Padding(NativeOnBoth):
    def test_every_mode(self):
        shapes = {1: (2, 3, 6), 2: (2, 3, 6, 5), 3: (2, 2, 4, 5, 6)}
        for axes, mode in itertools.product(shapes, ("constant", "reflect", "replicate", "circular")):
            for dtype in (torch.float32, torch.float64, torch.bfloat16):
                x = torch.randn(shapes[axes]).to(dtype).requires_grad_()
                amount = (2, 1, 3, 2, 1, 3)[:2 * axes]
                with self.subTest(axes=axes, mode=mode, dtype=dtype):
                    # The CPU rounds every addition to a gradient to bfloat16; the device rounds the sum once.
                    self.same(lambda x: F.pad(x, amount, mode), x, tolerance=0.05 if dtype == torch.bfloat16 else None)

    def test_layouts(self):
        for mode in ("constant", "reflect", "replicate"):
            with self.subTest(mode=mode):
                self.same(lambda x: F.pad(x, (1, 2, 2, 1), mode), torch.randn(2, 3, 5, 6).to(memory_format=torch.channels_last))
                self.same(lambda x: F.pad(x, (1, 2, 2, 1), mode), torch.randn(3, 5, 6).transpose(1, 2))
                self.same(lambda x: F.pad(x, (-1, 2), mode), torch.randn(2, 3, 6, requires_grad=True))
        self.same(lambda x: F.pad(x, (1, 2), value=3), numbers(2, 3, dtype=torch.int64))
        self.same(lambda x: F.pad(x, (1, 1), "reflect"), torch.randn(2, 3, dtype=torch.complex64))
        with self.assertRaises(RuntimeError):
            F.pad(torch.randn(1, 2, 3, 3).to(DEVICE), (3, 0, 0, 0), "reflect")


class Interpolation(NativeOnBoth):
    MODES = {3: ("nearest", "nearest-exact", "linear", "area"),
             4: ("nearest", "nearest-exact", "bilinear", "bicubic", "area"),
             5: ("nearest", "nearest-exact", "trilinear", "area")}

    def check(self, x, mode, **arguments):
        with self.subTest(shape=tuple(x.shape), mode=mode, dtype=x.dtype, **arguments):
            self.same(lambda x: F.interpolate(x, mode=mode, **arguments), x)

    def test_sizes_and_scales(self):
        for dimensions, modes in self.MODES.items():
            x = torch.randn(2, 3, *(5, 6, 7)[:dimensions - 2], requires_grad=True)
            for mode in modes:
                self.check(x, mode, size=(9, 3, 11)[:dimensions - 2])
                self.check(x, mode, scale_factor=2.0)
                self.check(x, mode, scale_factor=0.6)
                self.check(x, mode, scale_factor=1.7, recompute_scale_factor=True)
                if "linear" in mode or "cubic" in mode:
                    self.check(x, mode, size=(9, 3, 1)[:dimensions - 2], align_corners=True)

    def test_dtypes_and_layouts(self):
        for mode in self.MODES[4]:
            for dtype in (torch.float64, torch.float16, torch.bfloat16):
                self.check(torch.randn(1, 2, 5, 6).to(dtype), mode, scale_factor=2)
            x = torch.randn(2, 3, 5, 6).to(memory_format=torch.channels_last)
            self.same(lambda x: F.interpolate(x, scale_factor=2, mode=mode), x, strides=True)
            self.check(torch.randn(2, 3, 6, 5).transpose(2, 3).requires_grad_(), mode, size=(7, 7))
            self.check(torch.randn(0, 3, 5, 6), mode, size=(7, 7))
        self.check(numbers(1, 2, 5, 6, dtype=torch.uint8), "nearest", scale_factor=2)

    def test_antialiased(self):
        x = torch.randn(1, 2, 16, 13, requires_grad=True)
        for mode, align_corners in itertools.product(("bilinear", "bicubic"), (False, True)):
            self.check(x, mode, size=(5, 7), antialias=True, align_corners=align_corners)
            self.check(x, mode, size=(20, 20), antialias=True, align_corners=align_corners)


class GridSampler(NativeOnBoth):
    def test_two_dimensions(self):
        image, grid = torch.randn(2, 3, 5, 6, requires_grad=True), (torch.rand(2, 4, 7, 2) * 3 - 1.5).requires_grad_()
        for mode, padding, align_corners in itertools.product(("bilinear", "nearest", "bicubic"),
                                                              ("zeros", "border", "reflection"), (False, True)):
            with self.subTest(mode=mode, padding=padding, align_corners=align_corners):
                self.same(lambda x, g: F.grid_sample(x, g, mode, padding, align_corners), image, grid, tolerance=1e-4)

    def test_three_dimensions_dtypes_and_layouts(self):
        image, grid = torch.randn(2, 2, 3, 4, 5, requires_grad=True), (torch.rand(2, 3, 2, 4, 3) * 3 - 1.5).requires_grad_()
        for mode, padding in itertools.product(("bilinear", "nearest"), ("zeros", "reflection")):
            with self.subTest(mode=mode, padding=padding):
                self.same(lambda x, g: F.grid_sample(x, g, mode, padding, False), image, grid, tolerance=1e-4)
        self.same(lambda x, g: F.grid_sample(x, g, align_corners=False), torch.randn(1, 2, 4, 5, dtype=torch.float64,
                  requires_grad=True), (torch.rand(1, 3, 3, 2, dtype=torch.float64) * 2 - 1).requires_grad_())
        self.same(lambda x, g: F.grid_sample(x, g, align_corners=False),
                  torch.randn(1, 2, 4, 5).to(memory_format=torch.channels_last), torch.rand(1, 2, 3, 3).permute(0, 2, 3, 1)[..., :2])


class Unfolding(NativeOnBoth):
    def test_unfold_and_fold(self):
        for arguments in ({"kernel_size": 3}, {"kernel_size": (2, 3), "stride": 2, "padding": (1, 2)},
                          {"kernel_size": (3, 2), "dilation": 2, "padding": 1, "stride": (2, 1)}):
            with self.subTest(**arguments):
                self.same(lambda x: F.unfold(x, **arguments), torch.randn(2, 3, 7, 8, requires_grad=True))
                columns = F.unfold(torch.randn(2, 3, 7, 8), **arguments).requires_grad_()
                self.same(lambda c: F.fold(c, (7, 8), **arguments), columns)
        self.same(lambda x: F.unfold(x, 3), torch.randn(2, 3, 7, 8).to(memory_format=torch.channels_last))
        self.same(lambda x: F.unfold(x, 2), torch.randn(3, 4, 5, dtype=torch.float64))

    def test_windows_of_a_dimension(self):
        x = torch.randn(3, 11, 4, requires_grad=True)
        for dim, size, step in ((1, 4, 1), (1, 4, 2), (1, 3, 4), (0, 3, 1), (-1, 2, 2)):
            with self.subTest(dim=dim, size=size, step=step):
                self.same(lambda x: x.unfold(dim, size, step), x)

    def test_a_gradient_that_is_broadcast(self):
        for sizes in ((1, 4, 4, 3), (3, 4, 1, 3), (1, 4, 1, 3)):
            with self.subTest(sizes=sizes):
                self.same(lambda g: torch.ops.aten.unfold_backward(g, [3, 9, 4], 1, 3, 2), torch.randn(sizes))


if __name__ == "__main__":
    unittest.main()
