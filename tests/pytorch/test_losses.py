"""The multi-class margin loss, and the connectionist temporal classification loss."""

import unittest

import torch
import torch.nn.functional as F

from both_devices import NativeOnBoth, moved
from support import DEVICE, device_module, fallback_counts

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
            for shape, target in (((7,), torch.tensor(3)), ((7,), torch.tensor([3])), ((1, 7), torch.tensor([3]))):
                self.same(lambda x, t: F.multi_margin_loss(x, t, reduction=reduction),
                          torch.randn(shape, requires_grad=True), target)
        # With no samples, the CPU returns uninitialized memory.
        for reduction, expected in (("none", []), ("sum", 0.)):
            found = F.multi_margin_loss(*moved([torch.ones(0, 7), torch.zeros(0, dtype=torch.int64)]), reduction=reduction)
            self.assertEqual(found.tolist(), expected)
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


class Alignments(NativeOnBoth):
    def compare(self, targets, input_lengths, target_lengths, times=30, classes=6, dtype=torch.float32, **keywords):
        def loss(x, t):
            return F.ctc_loss(x.log_softmax(2), t, input_lengths, target_lengths, **keywords)
        x = torch.randn(times, len(input_lengths), classes, dtype=dtype, requires_grad=True)
        self.same(loss, x, targets, tolerance=1e-4 if dtype == torch.float32 else 1e-9)

    def test_values_and_gradients(self):
        targets = torch.randint(1, 6, (4, 10))
        for dtype in (torch.float32, torch.float64):
            for reduction in REDUCTIONS:
                self.compare(targets, (30, 25, 30, 12), (10, 4, 1, 0), dtype=dtype, reduction=reduction)
                self.compare(targets.int(), (30, 25, 30, 30), (10, 4, 1, 7), dtype=dtype, reduction=reduction)
        self.compare(torch.ones(4, 10, dtype=torch.int64), (30,) * 4, (10, 8, 2, 1))  # equal labels need blanks between them
        self.compare(torch.randint(0, 4, (4, 10)), (30,) * 4, (10, 8, 2, 1), blank=5)

    def test_targets_in_one_line(self):
        self.compare(torch.randint(1, 6, (15,)), (30, 25, 30), (10, 4, 1))
        self.compare(torch.randint(1, 6, (10, 3)).t(), (30, 25, 30), (10, 4, 1))

    def test_lengths_that_allow_no_alignment(self):
        for zero in (False, True):
            self.compare(torch.randint(1, 6, (3, 10)), (30, 3, 30), (5, 9, 2), zero_infinity=zero, reduction="none")

    def test_lengths_in_tensors(self):
        self.compare(torch.randint(1, 6, (3, 10)), torch.tensor([30, 20, 30]), torch.tensor([5, 9, 2]))
        there = moved([torch.randn(30, 3, 6).log_softmax(2), torch.randint(1, 6, (3, 10)), torch.tensor([30, 20, 30]),
                       torch.tensor([5, 9, 2])])
        before = fallback_counts()
        loss = F.ctc_loss(*there)
        self.assert_native(before)
        torch.testing.assert_close(loss.cpu(), F.ctc_loss(*(x.cpu() for x in there)))

    def test_one_sample_without_a_batch(self):
        x = torch.randn(20, 6, requires_grad=True)
        self.same(lambda x, t: F.ctc_loss(x.log_softmax(1), t, torch.tensor(20), torch.tensor(5)), x, torch.randint(1, 6, (5,)))

    def test_many_positions(self):
        for labels in (127, 128, 511, 512, 700):  # 1,024 positions fit into the memory of a workgroup
            self.compare(torch.randint(1, 6, (2, labels)), (labels * 2 + 9,) * 2, (labels, labels // 2), times=labels * 2 + 9,
                         dtype=torch.float64)

    def test_numerical(self):
        targets, x = torch.tensor([[1, 2, 2], [3, 1, 0]]), torch.randn(8, 2, 4, dtype=torch.float64).log_softmax(2)
        there = moved(targets)
        self.assertTrue(torch.autograd.gradcheck(
            lambda x: F.ctc_loss(x.log_softmax(2), there, (8, 7), (3, 2), reduction="none"), moved(x).requires_grad_()))

    def test_refused(self):
        x, targets = torch.randn(10, 2, 5).log_softmax(2), torch.ones(2, 4, dtype=torch.int64)
        for arguments in ((targets, (11, 10), (4, 4)), (targets, (10, 10), (5, 4)), (targets, (10,), (4, 4)),
                          (targets, (10, 10), (-1, 4)), (targets, (10, 10), (4, 4), 5), (targets[0], (10, 10), (4, 4))):
            with self.assertRaises(RuntimeError) as expected:
                F.ctc_loss(x, *arguments)
            with self.assertRaises(RuntimeError) as found:
                F.ctc_loss(moved(x), moved(arguments[0]), *arguments[1:])
            self.assertEqual(str(found.exception).splitlines()[0].replace("rvk", "CPU"), str(expected.exception).splitlines()[0])

    def test_a_class_that_does_not_exist(self):
        x = torch.randn(10, 1, 5, device=DEVICE).log_softmax(2)
        F.ctc_loss(x, torch.tensor([[1, 7]], device=DEVICE), (10,), (2,))
        with self.assertRaisesRegex(IndexError, "Target 7 is out of bounds for 5 classes"):
            device_module().synchronize()


if __name__ == "__main__":
    unittest.main()
