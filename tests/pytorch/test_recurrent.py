"""LSTM and GRU, cells and layers, compared with the CPU."""

import itertools
import unittest

import torch
from torch import nn, randn

import sixteen_bits
from both_devices import ScaledOnBoth
from support import DEVICE


class Recurrent(ScaledOnBoth):
    def check(self, make, *inputs, dtype=torch.float32, tolerance=None):
        """Compares all results and the gradients of inputs and parameters."""
        torch.manual_seed(3)
        network = make().to(dtype)
        twin = make().to(dtype)
        twin.load_state_dict(network.state_dict())
        twin.to(DEVICE)
        outputs = []
        for module, device in ((network, "cpu"), (twin, DEVICE)):
            given = [t.detach().to(device, dtype).requires_grad_() for t in inputs]
            results = module(given[0], tuple(given[1:]) if len(given) > 2 else given[1]) if len(given) > 1 else module(given[0])
            flat = [results] if isinstance(results, torch.Tensor) else \
                [t for r in results for t in ([r] if isinstance(r, torch.Tensor) else r)]
            sum(t.float().square().sum() if dtype != torch.float64 else t.square().sum() for t in flat).backward()
            outputs.append(flat + [t.grad for t in given] + [p.grad for p in module.parameters()])
        for expected, found in zip(*outputs):
            self.same(expected, found, tolerance or 4 * self.TOLERANCES[dtype])

    def test_cells(self):
        for bias in (True, False):
            self.check(lambda: nn.LSTMCell(7, 11, bias=bias), randn(5, 7), randn(5, 11), randn(5, 11))
            self.check(lambda: nn.GRUCell(7, 11, bias=bias), randn(5, 7), randn(5, 11))

    def test_layers(self):
        self.check(lambda: nn.LSTM(7, 9, num_layers=2, batch_first=True), randn(3, 6, 7))
        self.check(lambda: nn.LSTM(7, 9, bidirectional=True), randn(6, 3, 7))
        self.check(lambda: nn.GRU(7, 9, num_layers=2, bidirectional=True), randn(6, 3, 7))
        self.check(lambda: nn.LSTM(7, 9, proj_size=4), randn(6, 3, 7))

    def test_dtypes(self):
        for dtype in (torch.float16, torch.bfloat16, torch.float64):
            self.check(lambda: nn.LSTMCell(8, 12), randn(5, 8), randn(5, 12), randn(5, 12), dtype=dtype)
            self.check(lambda: nn.GRUCell(8, 12), randn(5, 8), randn(5, 12), dtype=dtype)

    def test_saturated_and_tiny_gates(self):
        for size in (1e-4, 50.0):
            self.check(lambda: nn.LSTMCell(4, 6), size * randn(5, 4), size * randn(5, 6), size * randn(5, 6))

    def test_gradients_of_one_result_alone(self):
        cell = nn.LSTMCell(3, 4).to(DEVICE)
        x = randn(2, 3, device="cpu").to(DEVICE).requires_grad_()
        for which in (0, 1):
            (gradient,) = torch.autograd.grad(cell(x)[which].sum(), x)
            on_cpu = x.detach().cpu().requires_grad_()
            twin = nn.LSTMCell(3, 4)
            twin.load_state_dict({name: t.cpu() for name, t in cell.state_dict().items()})
            (expected,) = torch.autograd.grad(twin(on_cpu)[which].sum(), on_cpu)
            self.same(expected, gradient, 1e-5)

    def test_gradcheck(self):
        def double(*sizes):
            return randn(sizes, dtype=torch.float64).to(DEVICE).requires_grad_()
        for cell, states in ((nn.LSTMCell(2, 3), 2), (nn.GRUCell(2, 3), 1)):
            cell = cell.double().to(DEVICE)
            given = [double(2, 3) for _ in range(states)]
            self.assertTrue(torch.autograd.gradcheck(
                lambda x, *state: cell(x, state if len(state) > 1 else state[0]), (double(2, 2), *given)))


class SixteenBits(ScaledOnBoth):
    """In 16 bits, results depend on the order of rounding: the device is as close to float64 as the CPU, over several
    seeds."""
    SEEDS = 6

    def test_gradients(self):
        makers = {"GRU": lambda: nn.GRU(7, 9, num_layers=2), "LSTM": lambda: nn.LSTM(7, 9, num_layers=2),
                  "TransformerEncoderLayer": lambda: nn.TransformerEncoderLayer(8, 2, 16, dropout=0., batch_first=True)}
        for (name, make), dtype in itertools.product(makers.items(), sixteen_bits.DTYPES):
            with self.subTest(module=name, dtype=dtype):
                distances = sixteen_bits.Distances(dtype)
                for seed in range(self.SEEDS):
                    torch.manual_seed(seed)
                    network = make().to(dtype).double()  # values that 16 bits can represent
                    inputs = sixteen_bits.rounded(randn(5, 6, 8 if name.startswith("T") else 7, requires_grad=True), dtype)
                    distances.add(network, ((inputs,), {}))
                self.assertLessEqual(*distances.device_and_bound())


if __name__ == "__main__":
    unittest.main()
