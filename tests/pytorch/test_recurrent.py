"""LSTM and GRU, cells and layers, compared with the CPU."""

import copy
import functools
import itertools
import math
import unittest

import torch
import torch.utils.checkpoint
from torch import nn, randn
from torch.utils._pytree import tree_leaves, tree_map

import sixteen_bits
from both_devices import ScaledOnBoth, moved
from support import DEVICE, fallback_counts


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


MODULES = {"LSTM": nn.LSTM, "GRU": nn.GRU, "RNN": nn.RNN, "relu": functools.partial(nn.RNN, nonlinearity="relu")}


def in_order(results):
    """The tensors of a layer's results: outputs, then the last states."""
    output, states = results
    return [output, *(states if isinstance(states, tuple) else (states,))]


def random_states(kind, network, batch):
    directions = 2 if network.bidirectional else 1
    state = [randn(network.num_layers * directions, batch, network.hidden_size) for _ in range(2 if kind == "LSTM" else 1)]
    return tuple(state) if len(state) == 2 else state[0]


def parts_of(states):
    return states if isinstance(states, tuple) else (states,)


class Layers(ScaledOnBoth):
    """Whole layers, whose recurrence is one launch: all results and gradients, for given gradients of the results."""

    def setUp(self):
        super().setUp()
        torch.manual_seed(7)

    def gradients(self, network, device, x, states, weights):
        x, states = tree_map(lambda t: moved(t, device).requires_grad_(), (x, states))
        outputs = in_order(network(x, states))
        used = [(output, moved(weight, device)) for output, weight in zip(outputs, weights) if weight is not None]
        sources = [x, *parts_of(states), *network.parameters()]
        found = torch.autograd.grad([output for output, _ in used], sources, [weight for _, weight in used], allow_unused=True)
        return [*outputs, *found]

    def check(self, kind, hidden, batch, length, features=5, dtype=torch.float32, x=None, results=None, **options):
        """results: which results get a gradient; None: all. 16 bits are compared with float64, because the CPU rounds after
        each operator."""
        network = MODULES[kind](features, hidden, **options).to(dtype)
        twin = copy.deepcopy(network).to(DEVICE)
        if x is None:
            x = randn((batch, length, features) if network.batch_first else (length, batch, features))
        x = x.to(dtype)
        states = tree_map(lambda t: t.to(dtype), random_states(kind, network, batch))
        with torch.no_grad():
            weights = [randn(t.shape, dtype=dtype) for t in in_order(network(x, states))]
        weights = [w if results is None or i in results else None for i, w in enumerate(weights)]
        before = fallback_counts()
        actual = self.gradients(twin, DEVICE, x, states, weights)
        self.assert_native(before)
        exact = dtype if dtype in (torch.float32, torch.float64) else torch.float64
        expected = self.gradients(network.to(exact), "cpu", *tree_map(lambda t: None if t is None else t.to(exact), (x, states, weights)))
        tolerance = 4 * self.TOLERANCES[dtype]
        for number, (reference, found) in enumerate(zip(expected, actual)):
            with self.subTest(kind=kind, hidden=hidden, batch=batch, length=length, result=number, **options):
                self.assertEqual(reference is None, found is None)
                if reference is not None:
                    self.assertEqual(found.dtype, dtype)
                    self.same(reference, found.to(exact), tolerance)

    def test_sizes(self):
        for kind, hidden, batch, length in itertools.product(("LSTM", "GRU"), (1, 7, 33), (1, 3, 64), (1, 2, 65)):
            self.check(kind, hidden, batch, length)
        for kind, hidden, batch in itertools.product(("RNN", "relu"), (1, 33), (1, 5)):
            self.check(kind, hidden, batch, 9)

    def test_hidden_sizes_of_several_passes(self):
        for kind in MODULES:
            self.check(kind, 256, 3, 5)
        self.check("LSTM", 256, 64, 65)  # two launches
        self.check("GRU", 512, 2, 3)
        self.check("LSTM", 512, 2, 3)
        self.check("RNN", 1023, 2, 3)

    def test_several_rows_for_each_workgroup(self):
        for batch in (67, 131, 259):
            self.check("LSTM", 33, batch, 4)
            self.check("GRU", 33, batch, 4, bidirectional=True)

    def test_other_layers(self):
        self.check("LSTM", 700, 2, 3)

    def test_which_layers_walk_through_time(self):
        x = randn(6, 3, 5).to(DEVICE)
        for network, walks in ((nn.LSTM(5, 256, 2, bidirectional=True), True), (nn.GRU(5, 9), True), (nn.RNN(5, 9), True),
                               (nn.LSTM(5, 700), False), (nn.LSTM(5, 9, proj_size=4), False)):
            name = network.to(DEVICE)(x)[0].grad_fn.name()
            self.assertEqual("RecurrentLayer" in name, walks, name)

    def test_options(self):
        for kind, layers, bidirectional, batch_first, bias in itertools.product(
                ("LSTM", "GRU"), (1, 2, 3), (False, True), (False, True), (False, True)):
            self.check(kind, 9, 3, 6, num_layers=layers, bidirectional=bidirectional, batch_first=batch_first, bias=bias)
        self.check("RNN", 9, 3, 6, num_layers=2, bidirectional=True)
        self.check("LSTM", 33, 5, 17, num_layers=2, bidirectional=True, batch_first=True)

    def test_dtypes(self):
        for kind, dtype in itertools.product(MODULES, (torch.float64, torch.float16, torch.bfloat16)):
            self.check(kind, 12, 5, 4, dtype=dtype, bidirectional=True)
            self.check(kind, 40, 3, 7, dtype=dtype)
        self.check("LSTM", 256, 2, 3, dtype=torch.float64)

    def test_non_contiguous(self):
        for x in (randn(5, 6, 3).permute(1, 2, 0), randn(12, 6, 5)[::2, ::2], randn(6, 3, 10)[:, :, 1:6], randn(6, 3, 1).expand(6, 3, 5)):
            self.check("LSTM", 9, 3, 6, x=x)
            self.check("GRU", 9, 3, 6, x=x)

    def test_gradients_of_some_results(self):
        for kind, count in (("LSTM", 3), ("GRU", 2)):
            for results in itertools.chain.from_iterable(itertools.combinations(range(count), n) for n in range(1, count)):
                self.check(kind, 9, 3, 6, results=results, bidirectional=True)

    def test_gradients_of_some_arguments(self):
        for needed in (["x"], ["weight_hh_l0"], ["bias_ih_l0"], ["bias_hh_l0", "weight_ih_l1"]):
            results = []
            torch.manual_seed(2)
            network = nn.LSTM(4, 6, num_layers=2)
            for device, module in (("cpu", network), (DEVICE, copy.deepcopy(network).to(DEVICE))):
                for name, parameter in module.named_parameters():
                    parameter.requires_grad_(name in needed)
                x = moved(torch.linspace(-1, 1, 5 * 3 * 4).view(5, 3, 4), device).requires_grad_("x" in needed)
                module(x)[0].square().sum().backward()
                results.append([t.grad for t in (x, *module.parameters())])
            for expected, found in zip(*results):
                self.assertEqual(expected is None, found is None)
                if expected is not None:
                    self.same(expected, found, 4e-5)

    def test_packed_sequences(self):
        for kind in MODULES:
            network = MODULES[kind](5, 9, bidirectional=True)
            twin = copy.deepcopy(network).to(DEVICE)
            x, lengths = randn(7, 3, 5), torch.tensor([7, 4, 1])
            found = []
            for module, device in ((network, "cpu"), (twin, DEVICE)):
                packed = nn.utils.rnn.pack_padded_sequence(x.to(device), lengths)
                output = nn.utils.rnn.pad_packed_sequence(module(packed)[0])[0]
                output.square().sum().backward()
                found.append([output, *(p.grad for p in module.parameters())])
            for expected, actual in zip(*found):
                self.same(expected, actual, 1e-5)

    def test_without_gradients(self):
        for kind in MODULES:
            network = MODULES[kind](5, 9, num_layers=2, bidirectional=True)
            twin, x = copy.deepcopy(network).to(DEVICE), randn(6, 3, 5)
            for mode in (torch.no_grad, torch.inference_mode):
                with mode():
                    for expected, found in zip(in_order(network(x)), in_order(twin(x.to(DEVICE)))):
                        self.assertFalse(found.requires_grad)
                        self.same(expected, found, 1e-5)

    def test_unbatched(self):
        network = nn.LSTM(5, 9)
        x = randn(6, 5)
        for expected, found in zip(in_order(network(x)), in_order(copy.deepcopy(network).to(DEVICE)(x.to(DEVICE)))):
            self.same(expected, found, 1e-5)

    def test_reproducible(self):
        network = nn.LSTM(33, 40, num_layers=2, bidirectional=True).to(DEVICE)
        x = randn(9, 5, 33).to(DEVICE).requires_grad_()
        runs = []
        for _ in range(2):
            network.zero_grad()
            x.grad = None
            outputs = in_order(network(x))
            sum(t.square().sum() for t in outputs).backward()
            runs.append([*outputs, x.grad, *(p.grad for p in network.parameters())])
        for first, second in zip(*runs):
            self.assertTrue(torch.equal(first, second))

    def test_rows_do_not_influence_each_other(self):
        network = nn.LSTM(5, 9).to(DEVICE)
        x = randn(6, 200, 5)
        whole = network(x.to(DEVICE))[0].cpu()
        x[:, 100] = torch.nan
        self.assertTrue(torch.equal(network(x.to(DEVICE))[0].cpu()[:, :100], whole[:, :100]))
        self.assertTrue(torch.equal(network(x.to(DEVICE))[0].cpu()[:, 101:], whole[:, 101:]))

    def test_dropout_between_layers(self):
        network = nn.LSTM(5, 16, num_layers=2, dropout=0.5).to(DEVICE)
        x = randn(6, 3, 5).to(DEVICE)
        torch.manual_seed(1)
        first = network(x)[0]
        torch.manual_seed(1)
        self.assertTrue(torch.equal(first, network(x)[0]))
        self.assertFalse(torch.equal(first, network(x)[0]))
        network.eval()
        self.assertTrue(torch.equal(network(x)[0], network(x)[0]))
        certain = nn.GRU(5, 16, num_layers=2, dropout=1.0).to(DEVICE)
        alone = nn.GRU(16, 16).to(DEVICE)
        alone.load_state_dict({name: getattr(certain, name.replace("l0", "l1")) for name in alone.state_dict()})
        self.same(alone(torch.zeros(6, 3, 16, device=DEVICE))[0].cpu(), certain(x)[0], 1e-6)

    def test_bad_arguments(self):
        network = nn.LSTM(5, 9).to(DEVICE)
        with self.assertRaisesRegex(RuntimeError, "input.size\\(-1\\) must be equal to input_size"):
            network(randn(6, 3, 4).to(DEVICE))
        with self.assertRaisesRegex(RuntimeError, "same device|two devices"):
            network(randn(6, 3, 5))
        weights = [p.detach() for p in network.parameters()]
        state = torch.zeros(1, 3, 9, device=DEVICE)
        with self.assertRaises(RuntimeError):
            torch.lstm(randn(6, 3, 5).to(DEVICE), (state,), weights, True, 1, 0.0, False, False, False)
        with self.assertRaises(RuntimeError):
            torch.lstm(randn(6, 3, 5).to(DEVICE), (state, state), weights[:3], True, 1, 0.0, False, False, False)


class Transforms(ScaledOnBoth):
    """Second derivatives, torch.func, hooks, autocast."""

    def setUp(self):
        super().setUp()
        torch.manual_seed(11)

    def pair(self, make):
        network = make().double()
        return network, copy.deepcopy(network).to(DEVICE)

    def on_both(self, function, make=lambda: nn.LSTM(3, 4, num_layers=2), tolerance=1e-9):
        """function(module, device) → tensors."""
        network, twin = self.pair(make)
        expected, found = tree_leaves(function(network, "cpu")), tree_leaves(function(twin, DEVICE))
        self.assertEqual(len(expected), len(found))
        for one, other in zip(expected, found):
            self.same(one, other, tolerance)

    @staticmethod
    def inputs(device, *sizes):
        return torch.linspace(-1, 1, math.prod(sizes), dtype=torch.float64).reshape(sizes).to(device)

    def test_gradgradcheck(self):
        for kind in MODULES:
            network = MODULES[kind](2, 3, bidirectional=True).double().to(DEVICE)
            x = self.inputs(DEVICE, 3, 2, 2).requires_grad_()
            names = [name for name, _ in network.named_parameters()]

            def call(x, *weights):
                return torch.func.functional_call(network, dict(zip(names, weights)), x)[0]

            given = (x, *(p.detach().requires_grad_() for p in network.parameters()))
            self.assertTrue(torch.autograd.gradcheck(call, given))
            self.assertTrue(torch.autograd.gradgradcheck(call, given, fast_mode=True))  # in random directions

    def test_gradient_penalty(self):
        def penalty(module, device):
            x = self.inputs(device, 5, 2, 3).requires_grad_()
            output = module(x)[0]
            (gradient,) = torch.autograd.grad(output.square().sum(), x, create_graph=True)
            (gradient.square().sum() + output.sum()).backward()
            return [x.grad, *(p.grad for p in module.parameters())]

        self.on_both(penalty)
        self.on_both(penalty, lambda: nn.GRU(3, 4, num_layers=2, bidirectional=True))

    def test_tied_to_its_own_input(self):
        def tied(module, device):  # the input depends on a weight of the layer
            x = self.inputs(device, 5, 2, 3) @ module.weight_ih_l0[:3]
            (gradient,) = torch.autograd.grad(module(x)[0].square().sum(), module.weight_ih_l0, create_graph=True)
            gradient.square().sum().backward()
            return [gradient, *(p.grad for p in module.parameters())]

        self.on_both(tied, lambda: nn.LSTM(3, 4))

    def test_functorch(self):
        def gradients(module, device):
            parameters = dict(module.named_parameters())

            def loss(parameters, x):
                return torch.func.functional_call(module, parameters, x)[0].square().sum()

            x = self.inputs(device, 5, 2, 3)
            return torch.func.grad(loss, argnums=(0, 1))({k: v.detach() for k, v in parameters.items()}, x)

        self.on_both(gradients)

    def test_batched_gradients(self):
        def jacobian(module, device):
            x = self.inputs(device, 3, 2, 3).requires_grad_()
            output = module(x)[0].sum((0, 1))
            return torch.autograd.grad(output, x, torch.eye(4, dtype=torch.float64).to(device), is_grads_batched=True)

        self.on_both(jacobian)

    def test_hooks_and_retained_graphs(self):
        def hooked(module, device):
            seen = []
            x = self.inputs(device, 5, 2, 3).requires_grad_()
            handle = module.register_full_backward_hook(lambda module, inputs, outputs: seen.extend([*inputs, outputs[0]]))
            output = module(x)[0]
            output.register_hook(lambda gradient: gradient * 2)
            output.sum().backward(retain_graph=True)
            output.sum().backward()
            handle.remove()
            return [*seen, x.grad, *(p.grad for p in module.parameters())]

        self.on_both(hooked)

    def test_saved_tensors_on_the_host(self):
        def offloaded(module, device):
            x = self.inputs(device, 5, 2, 3).requires_grad_()
            with torch.autograd.graph.save_on_cpu():
                module(x)[0].square().sum().backward()
            return [x.grad, *(p.grad for p in module.parameters())]

        self.on_both(offloaded)

    def test_checkpoint(self):
        def recomputed(module, device):
            x = self.inputs(device, 5, 2, 3).requires_grad_()
            torch.utils.checkpoint.checkpoint(lambda x: module(x)[0], x, use_reentrant=False).square().sum().backward()
            return [x.grad, *(p.grad for p in module.parameters())]

        self.on_both(recomputed)

    def test_changed_before_the_backward_pass(self):
        network = nn.LSTM(3, 4).to(DEVICE)
        for change in (lambda output: output.mul_(2), lambda output: network.weight_hh_l0.mul_(2)):
            output = network(randn(5, 2, 3).to(DEVICE))[0]
            loss = output.sum()
            with torch.no_grad():
                change(output)
            with self.assertRaisesRegex(RuntimeError, "modified by an inplace operation"):
                loss.backward()

    def test_autocast(self):
        for kind, dtype in itertools.product(MODULES, (torch.float16, torch.bfloat16)):
            network = MODULES[kind](5, 9, num_layers=2, bidirectional=True)
            twin = copy.deepcopy(network).to(DEVICE)
            x = randn(6, 3, 5)
            with torch.autocast(DEVICE, dtype):
                outputs = in_order(twin(x.to(DEVICE)))
            for expected, found in zip(in_order(network(x)), outputs):
                self.assertEqual(found.dtype, dtype)
                self.same(expected, found.float(), 4 * self.TOLERANCES[dtype])
            outputs[0].float().sum().backward()
            network(x)[0].sum().backward()
            for expected, found in zip(network.parameters(), twin.parameters()):
                self.assertEqual(found.grad.dtype, torch.float32)
                self.same(expected.grad, found.grad, 8 * self.TOLERANCES[dtype])

    def test_aot_eager(self):
        network = nn.LSTM(3, 4, bidirectional=True)
        twin = copy.deepcopy(network).to(DEVICE)
        x = randn(5, 2, 3)
        torch.compile(twin, backend="aot_eager")(x.to(DEVICE))[0].square().sum().backward()
        network(x)[0].square().sum().backward()
        for expected, found in zip(network.parameters(), twin.parameters()):
            self.same(expected.grad, found.grad, 1e-5)

    def test_jit(self):
        network = nn.Sequential(nn.GRU(3, 4)).to(DEVICE)
        x = randn(5, 2, 3).to(DEVICE)
        for compiled in (torch.jit.script(network), torch.jit.trace(network, x)):
            self.same(network(x)[0].detach().cpu(), compiled(x)[0].detach(), 1e-6)


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
