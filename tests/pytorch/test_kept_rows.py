"""Softmax and norms of rows around the sizes that lanes keep in registers (kernels/normalization/kept_row.slang)."""

import unittest

import torch
import torch.nn.functional as F

from support import DEVICE, fallback_counts

# At most 4,096 elements are kept; rows that are longer, or not a multiple of four, are read again in each pass. 2,100 rows fill
# a GPU, so that fewer lanes share a row.
SIZES = (4, 12, 64, 100, 256, 768, 1024, 1026, 1028, 2048, 3000, 4096, 4100)
ROWS = (1, 3, 70, 2100)
MOST_ELEMENTS = 1 << 21
TOLERANCES = {torch.float32: 2e-6, torch.float16: 2e-3, torch.bfloat16: 1.6e-2}


def results(rows: int, size: int, dtype: torch.dtype, device: str, computed_in: torch.dtype) -> dict[str, torch.Tensor]:
    """Values and gradients of every operator, in float64 on the CPU; the inputs are rounded to `dtype`."""
    generator = torch.Generator().manual_seed(rows * 10_000 + size)
    named = {}

    def draw(*shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=generator).to(dtype).to(device).to(computed_in)

    def keep(name: str, output: torch.Tensor, inputs: list[torch.Tensor], gradient: torch.Tensor) -> None:
        for part, tensor in zip(["", *"abc"], [output, *torch.autograd.grad(output, inputs, gradient)]):
            named[f"{name} {part}"] = tensor.detach().double().cpu()

    gradient, weight, bias = draw(rows, size), draw(size).requires_grad_(), draw(size).requires_grad_()
    for name, function in (("softmax", torch.softmax), ("log_softmax", torch.log_softmax)):
        x = draw(rows, size)
        if size > 4:
            x[0, 1] = -torch.inf
        x.requires_grad_()
        keep(name, function(x, -1), [x], gradient)
    x = draw(rows, size).requires_grad_()
    keep("layer_norm", F.layer_norm(x, (size,), weight, bias), [x, weight, bias], gradient)
    keep("layer_norm without weights", F.layer_norm(x, (size,)), [x], gradient)
    keep("rms_norm", F.rms_norm(x, (size,), weight), [x, weight], gradient)
    if size % 8 == 0:
        x, channels = draw(rows, 4, size // 4).requires_grad_(), draw(4).requires_grad_()
        keep("group_norm", F.group_norm(x, 2, channels, channels.detach()), [x, channels], gradient.reshape(rows, 4, -1))
    return named


class KeptRows(unittest.TestCase):
    def setUp(self):
        self.fallbacks = fallback_counts()

    def tearDown(self):
        self.assertEqual(self.fallbacks, fallback_counts(), "the CPU computed this: the kernels were not tested")

    def test_values_and_gradients(self):
        for dtype, tolerance in TOLERANCES.items():
            for rows in ROWS:
                for size in SIZES:
                    if rows * size > MOST_ELEMENTS:
                        continue
                    exact = results(rows, size, dtype, "cpu", torch.float64)
                    on_cpu = results(rows, size, dtype, "cpu", dtype)
                    for name, actual in results(rows, size, dtype, DEVICE, dtype).items():
                        with self.subTest(name, dtype=dtype, rows=rows, size=size):
                            scale = max(1.0, exact[name].nan_to_num(neginf=0).abs().max().item())
                            cpus = (on_cpu[name] - exact[name]).nan_to_num().abs().max().item() / scale
                            torch.testing.assert_close(actual / scale, exact[name] / scale, rtol=0, atol=max(tolerance, 2 * cpus),
                                                       equal_nan=True)

    def test_special_rows(self):
        nan, inf = torch.nan, torch.inf
        rows = torch.tensor([[nan, 1, 2, 3], [inf, 1, 2, 3], [-inf] * 4, [-inf, -inf, 0, 1], [3e38, -3e38, 0, 1]] * 2).repeat(1, 16)
        for function in (torch.softmax, torch.log_softmax):
            torch.testing.assert_close(function(rows.to(DEVICE), -1).cpu(), function(rows, -1), equal_nan=True)


if __name__ == "__main__":
    unittest.main()
