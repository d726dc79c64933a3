"""An operand that is absent has the address 0. A kernel must not load from it, not even in a branch that is not taken, because
lavapipe of Mesa 26 executes some of those loads."""

import unittest

import torch

from both_devices import DeviceTestCase, moved
from support import DEVICE


class AbsentOperands(DeviceTestCase):
    def test_optimizers_without_a_loss_scale(self):
        """The scale, its flag and a learning rate in memory are absent."""
        for make in (lambda p: torch.optim.AdamW([p], lr=0.1, fused=True),
                     lambda p: torch.optim.SGD([p], lr=0.1, momentum=0.9, fused=True)):
            values, gradient = torch.randn(70), torch.randn(70)
            results = []
            for device in ("cpu", DEVICE):
                parameter = torch.nn.Parameter(values.clone().to(device))
                optimizer = make(parameter)
                for _ in range(2):
                    parameter.grad = gradient.to(device)
                    optimizer.step()
                results.append(parameter.detach().cpu())
            torch.testing.assert_close(*results)

    def test_masked_fill_with_a_number(self):
        for dtype in (torch.int8, torch.float16, torch.float32, torch.float64, torch.complex128):
            values, mask = torch.ones(3, 50).to(dtype), torch.rand(50) > 0.5
            there = moved((values, mask), whole_storage=True)
            self.assertTrue(torch.equal(values.masked_fill(mask, 3), there[0].masked_fill(there[1], 3).cpu()), str(dtype))

    def test_masked_fill_with_an_element(self):
        for dtype in (torch.int8, torch.float16, torch.float32, torch.float64, torch.complex128):
            values, mask, element = torch.ones(3, 50).to(dtype), torch.rand(50) > 0.5, torch.tensor(4).to(dtype)
            there = moved((values, mask, element), whole_storage=True)
            self.assertTrue(torch.equal(values.masked_fill(mask, element), there[0].masked_fill(there[1], there[2]).cpu()), str(dtype))

    def test_searches_without_a_sorter(self):
        boundaries, values = torch.arange(9.0), torch.rand(20) * 9
        self.assertTrue(torch.equal(torch.searchsorted(boundaries, values),
                                    torch.searchsorted(boundaries.to(DEVICE), values.to(DEVICE)).cpu()))

    def test_batch_norm_without_running_statistics(self):
        x = torch.randn(4, 3, 5)
        torch.testing.assert_close(torch.nn.functional.batch_norm(x, None, None, training=True),
                                   torch.nn.functional.batch_norm(x.to(DEVICE), None, None, training=True).cpu())


if __name__ == "__main__":
    unittest.main()
