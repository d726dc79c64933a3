"""The multi-class margin loss."""

import unittest

import torch
import torch.nn.functional as F

from both_devices import NativeOnBoth, moved
from support import DEVICE

REDUCTIONS = ("none", "mean", "sum")


class MultiMargin(NativeOnBoth):
    def test_values_and_gradients(self):
        for dtype in (torch.float32, torch.float64):
            for reduction in REDUCTIONS:
                for p in (1, 2):
                    for margin in (1., .3, -.5):
                        for weight in (None, torch.rand(7, dtype=dtype)):
                            self.same(lambda x, t: F.multi_margin_loss(
                                x, t, p=p, margin=margin, weight=None if weight is None else weight.to(x.device),
                                reduction=reduction), torch.randn(50, 7, dtype=dtype, requires_grad=True),
                                torch.randint(0, 7, (50,)))

    def test_shapes(self):
        for reduction in REDUCTIONS:
            without = [((0, 7), torch.zeros(0, dtype=torch.int64))] if reduction != "mean" else []  # whose mean is NaN
            for shape, target in (((7,), torch.tensor(3)), ((7,), torch.tensor([3])), ((1, 7), torch.tensor([3])), *without):
                self.same(lambda x, t: F.multi_margin_loss(x, t, reduction=reduction),
                          torch.randn(shape, requires_grad=True), target)
        self.same(F.multi_margin_loss, torch.randn(7, 9).t().requires_grad_(), torch.randint(0, 7, (9,)))

    def test_out(self):
        x, t = torch.randn(4, 3), torch.tensor([0, 2, 1, 1])
        out = torch.empty(0, device=DEVICE)
        self.assertIs(torch.ops.aten.multi_margin_loss.out(moved(x), moved(t), out=out), out)
        torch.testing.assert_close(out.cpu(), F.multi_margin_loss(x, t))

    def test_refused(self):
        for shape, target, keywords in (((3, 4), torch.tensor([0]), {}), ((3, 4), torch.zeros(3, dtype=torch.int64), dict(p=3)),
                                        ((3, 0), torch.zeros(3, dtype=torch.int64), {}),
                                        ((3, 4), torch.zeros(3, dtype=torch.int64), dict(weight=torch.ones(3)))):
            x = torch.ones(shape)
            with self.assertRaises((RuntimeError, ValueError)) as expected:
                F.multi_margin_loss(x, target, **keywords)
            with self.assertRaises((RuntimeError, ValueError)) as found:
                F.multi_margin_loss(moved(x), moved(target), **moved(keywords))
            self.assertEqual(str(found.exception).splitlines()[0], str(expected.exception).splitlines()[0])


if __name__ == "__main__":
    unittest.main()
