"""Sparse and nested tensors on the device compared with the CPU; quantized ones are rejected with one sentence."""

import itertools
import logging
import unittest
import warnings

import torch
import torch.nn.functional as F
from torch import nn

from support import DEVICE, device_module

LAYOUTS = {
    "coo": lambda t: t.to_sparse(),
    "csr": lambda t: t.to_sparse_csr(),
    "csc": lambda t: t.to_sparse_csc(),
    "bsr": lambda t: t.to_sparse_bsr((2, 2)),
    "bsc": lambda t: t.to_sparse_bsc((2, 2)),
}
# Where the CPU has a kernel for a layout, the results are compared; where it has none, the device must fail with one sentence.
OPERATIONS = {
    "to_dense": lambda s, x: s.to_dense(),
    "product with a matrix": lambda s, x: s @ x,
    "product with a vector": lambda s, x: s @ x[:, 0],
    "torch.sparse.mm": lambda s, x: torch.sparse.mm(s, x),
    "addmm": lambda s, x: torch.addmm(torch.ones(4, 3, device=x.device), s, x, beta=0.5),
    "sparse times sparse": lambda s, x: s @ s,
    "sum of two": lambda s, x: s + s.clone(),
    "sum with a dense one": lambda s, x: torch.ones(4, 4, device=x.device) + s,
    "in place": lambda s, x: s.clone().mul_(2.0),
    "negative": lambda s, x: -s,
    "sine": lambda s, x: s.sin(),
    "sum": lambda s, x: s.sum(),
    "softmax": lambda s, x: torch.sparse.softmax(s, 1),
    "transposed": lambda s, x: s.t(),
    "row": lambda s, x: s[1],
    "clone": lambda s, x: s.clone(),
    "to float64": lambda s, x: s.double(),
    "cumsum": lambda s, x: s.cumsum(1),
    "sparse_mask": lambda s, x: torch.ones(4, 4, device=x.device).sparse_mask(s),
    "like": lambda s, x: torch.zeros_like(s),
    "text": lambda s, x: torch.tensor(len(repr(s)) > 20),
}


def dense(tensor):
    return tensor.detach().to_dense().cpu() if tensor.layout != torch.strided else tensor.detach().cpu()


class LayoutTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        device_module()
        warnings.simplefilter("ignore")
        logging.getLogger("torch.nested").setLevel(logging.ERROR)  # this logger explains each refusal in ten lines
        torch.manual_seed(0)
        cls.values = torch.randn(4, 4) * (torch.rand(4, 4) < 0.5)
        cls.other = torch.randn(4, 3)


class Sparse(LayoutTest):
    def outcome(self, make, operation, device):
        try:
            return operation(make(self.values.to(device)), self.other.to(device)), None
        except (RuntimeError, NotImplementedError, TypeError) as error:
            return None, str(error)

    def test_operations_in_every_layout(self):
        for layout, make in LAYOUTS.items():
            for name, operation in OPERATIONS.items():
                with self.subTest(f"{name}, {layout}"):
                    expected, refused = self.outcome(make, operation, "cpu")
                    result, message = self.outcome(make, operation, DEVICE)
                    if refused is not None:
                        self.assertIsNotNone(message, "the CPU has no kernel for this")
                        self.assertEqual(len(message.strip().splitlines()), 1, message)
                        continue
                    self.assertIsNone(message)
                    self.assertEqual(result.layout, expected.layout)
                    self.assertEqual(result.device.type, "cpu" if name == "text" else torch.device(DEVICE).type)
                    torch.testing.assert_close(dense(result), dense(expected))

    def test_round_trip(self):
        for layout, make in LAYOUTS.items():
            with self.subTest(layout):
                there = make(self.values).to(DEVICE)
                self.assertEqual(there.device.type, torch.device(DEVICE).type)
                self.assertTrue(torch.equal(dense(there.cpu()), self.values))
                self.assertEqual(there.values().device.type, torch.device(DEVICE).type)

    def test_made_from_parts(self):
        indices, values = torch.tensor([[0, 1, 1], [2, 0, 0]]), torch.tensor([3.0, 4.0, 5.0])
        for place in (DEVICE, "cpu"):
            made = torch.sparse_coo_tensor(indices.to(place), values.to(place), (2, 3), device=DEVICE)
            self.assertEqual(made.coalesce().values().cpu().tolist(), [3.0, 9.0])

    def test_gradients_of_a_product_are_computed_on_the_device(self):
        for layout in ("coo", "csr"):
            gradients = {}
            for device in ("cpu", DEVICE):
                left = LAYOUTS[layout](self.values).to(device).requires_grad_()
                right = self.other.clone().to(device).requires_grad_()
                device_module().reset_fallback_stats()
                torch.sparse.mm(left, right).square().sum().backward()
                self.assertEqual(device_module().fallback_stats(), {}, layout)
                gradients[device] = dense(left.grad), right.grad.cpu()
            torch.testing.assert_close(gradients[DEVICE], gradients["cpu"])

    def test_reduced_products_and_their_gradients(self):
        for reduce in ("sum", "mean", "amax", "amin"):
            found = {}
            for device in ("cpu", DEVICE):
                left = self.values.to(device).to_sparse_csr().requires_grad_()
                right = self.other.clone().to(device).requires_grad_()
                product = torch.sparse.mm(left, right, reduce)
                product.square().sum().backward()
                found[device] = product.detach().cpu(), dense(left.grad), right.grad.cpu()
            torch.testing.assert_close(found[DEVICE], found["cpu"])

    def test_embeddings_train_with_sparse_gradients(self):
        for make in (lambda: nn.Embedding(6, 3, sparse=True), lambda: nn.EmbeddingBag(6, 3, mode="sum", sparse=True)):
            for optimizer in (torch.optim.SGD, torch.optim.SparseAdam, torch.optim.Adagrad):
                weights = {}
                for device in ("cpu", DEVICE):
                    torch.manual_seed(1)
                    network = make().to(device)
                    steps = optimizer(network.parameters(), lr=0.1)
                    for _ in range(3):
                        steps.zero_grad()
                        network(torch.tensor([[1, 2, 1]], device=device)).square().sum().backward()
                        self.assertTrue(network.weight.grad.is_sparse)
                        steps.step()
                    weights[device] = network.weight.detach().cpu()
                torch.testing.assert_close(weights[DEVICE], weights["cpu"])

    def products(self, sparse, right, device):
        left, base = torch.ones(2, sparse.size(0), device=device, dtype=right.dtype), torch.ones(1, 7, device=device, dtype=right.dtype)
        yield "matrix", sparse @ right
        yield "vector", sparse @ right[:, 0]
        yield "transposed", sparse.t() @ torch.ones(sparse.size(0), 3, device=device, dtype=right.dtype)
        yield "dense times sparse", left @ sparse
        yield "torch.sparse.mm", torch.sparse.mm(sparse, right)
        yield "addmm", torch.addmm(base, sparse, right, beta=0.5, alpha=-2)
        yield "addmm without base", torch.addmm(base * float("nan"), sparse, right, beta=0)
        yield "addmm_", base.repeat(sparse.size(0), 1).addmm_(sparse, right)
        yield "out", torch.mm(sparse, right, out=torch.empty(0, device=device, dtype=right.dtype))

    def test_products_run_on_the_device_in_every_dtype(self):
        generator = torch.Generator().manual_seed(0)
        matrix = torch.randn(50, 40, generator=generator) * (torch.rand(50, 40, generator=generator) < 0.2)
        other = torch.randn(40, 7, generator=generator)
        tolerances = {torch.float32: 1e-5, torch.float64: 1e-13, torch.float16: 4e-3, torch.bfloat16: 3e-2}
        for layout in ("coo", "csr", "csc"):
            for dtype, tolerance in tolerances.items():
                exact = matrix.to(dtype).double(), other.to(dtype).double()
                expected = dict(self.products(*exact, "cpu"))
                there = LAYOUTS[layout](matrix.to(dtype)).to(DEVICE), other.to(dtype).to(DEVICE)
                device_module().reset_fallback_stats()
                found = dict(self.products(*there, DEVICE))
                self.assertEqual(device_module().fallback_stats(), {}, layout)
                for name, result in found.items():
                    with self.subTest(f"{name}, {layout}, {dtype}"):
                        self.assertEqual(result.dtype, dtype)
                        torch.testing.assert_close(result.cpu().double(), expected[name], rtol=tolerance, atol=tolerance)

    def test_sampled_product_with_out(self):
        mask = (self.values @ self.values.t()).to_sparse_csr()
        expected = torch.sparse.sampled_addmm(mask, self.other, self.other.t(), beta=0.5)
        there, other = mask.to(DEVICE), self.other.to(DEVICE)
        for out in (there.clone(), there):
            result = torch.sparse.sampled_addmm(there, other, other.t(), beta=0.5, out=out)
            self.assertIs(result, out)
            torch.testing.assert_close(dense(out), dense(expected))

    def test_products_with_repeated_and_without_elements(self):
        there = torch.ones(5, 3, device=DEVICE)
        repeated = torch.sparse_coo_tensor([[3, 0, 0], [2, 1, 1]], [1.0, 2.0, 3.0], (4, 5)).to(DEVICE)
        self.assertEqual((repeated @ there).cpu().tolist(), [[5.0] * 3, [0.0] * 3, [0.0] * 3, [1.0] * 3])
        empty = torch.sparse_coo_tensor(torch.zeros(2, 0, dtype=torch.long), torch.zeros(0), (4, 5)).to(DEVICE)
        self.assertEqual((empty @ there).cpu().tolist(), [[0.0] * 3] * 4)

    def test_arithmetic_is_counted_as_a_fallback(self):
        device_module().reset_fallback_stats()
        torch.sparse.softmax(self.values.to(DEVICE).to_sparse(), 1)
        self.assertTrue(device_module().fallback_stats())


class Nested(LayoutTest):
    def nested(self, device, layout, requires_grad=False):
        generator = torch.Generator().manual_seed(0)
        parts = [torch.randn(rows, 8, generator=generator) for rows in (3, 5)]
        made = torch.nested.nested_tensor(parts, layout=layout, device=device, requires_grad=requires_grad)
        self.assertEqual(made.device.type, torch.device(device).type)
        return made

    OPERATIONS = {
        "linear": lambda n, linear: linear(n),
        "softmax": lambda n, linear: torch.softmax(n, -1),
        "layer norm": lambda n, linear: F.layer_norm(n, (8,), linear.bias, linear.bias),
        "gelu": lambda n, linear: F.gelu(n),
        "sum of two": lambda n, linear: n + n,
    }

    def test_operations_and_gradients(self):
        for layout in (torch.strided, torch.jagged):
            for name, operation in self.OPERATIONS.items():
                with self.subTest(f"{name}, {layout}"):
                    found = {}
                    for device in ("cpu", DEVICE):
                        torch.manual_seed(1)
                        leaf = self.nested(device, layout, requires_grad=True)
                        result = operation(leaf, nn.Linear(8, 8).to(device))
                        padded = result.to_padded_tensor(0.0)
                        padded.square().sum().backward()
                        found[device] = padded.detach().cpu(), leaf.grad.to_padded_tensor(0.0).cpu()
                    torch.testing.assert_close(found[DEVICE], found["cpu"], rtol=1e-4, atol=1e-5)

    def test_encoder_with_padding_in_inference(self):
        torch.manual_seed(0)
        encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2).eval()
        x, padding = torch.randn(2, 4, 8), torch.tensor([[False] * 4, [False] * 2 + [True] * 2])
        with torch.no_grad():
            expected = encoder(x, src_key_padding_mask=padding)
            result = encoder.to(DEVICE)(x.to(DEVICE), src_key_padding_mask=padding.to(DEVICE)).cpu()
        kept = ~padding[:, : result.size(1)]
        torch.testing.assert_close(result[kept], expected[kept], rtol=1e-4, atol=1e-5)


class NestedAttention(LayoutTest):
    """Attention of sequences of different lengths: the CPU's values and gradients, or an error where the CPU raises one."""
    DTYPES = {torch.float32: 1e-4, torch.float16: 4e-3, torch.bfloat16: 3e-2}  # of the largest number
    LENGTHS = 3, 5
    #: Lengths of the keys and values, and whether they have the queries' offsets: to PyTorch, jagged tensors of equal lengths
    #: that were made separately have different shapes.
    KEYS = {"itself": None, "of the same offsets": (3, 5), "of other lengths": (4, 2), "one key each": (1, 1)}

    @staticmethod
    def sequences(lengths, width, dtype, layout, device, seed, requires_grad):
        generator = torch.Generator().manual_seed(seed)
        parts = [torch.randn(rows, width, generator=generator).to(dtype) for rows in lengths]
        return torch.nested.nested_tensor(parts, layout=layout, device=device, requires_grad=requires_grad)

    @staticmethod
    def padded(result):
        return result.to_padded_tensor(0.0) if result.is_nested else result

    def numbers(self, result, leaves):
        """The values, and the gradients of all leaves that require one."""
        found = self.padded(result)
        if leaves:
            # Not a sum of squares, whose gradient through a normalization would be only rounding errors.
            weights = torch.linspace(-1, 2, found.numel()).reshape(found.shape).cos().to(found.device)
            (found.float() * weights).sum().backward()
        device_module().synchronize()
        return [found.detach().cpu()] + [self.padded(leaf.grad).cpu() for leaf in leaves]

    def compare(self, compute, tolerance):
        """Returns whether both devices gave values; `compute` takes a device."""
        found = {}
        for device in ("cpu", DEVICE):
            try:
                found[device] = compute(device)
            except (RuntimeError, NotImplementedError, AssertionError, ValueError) as error:
                found[device] = error
        expected, result = found["cpu"], found[DEVICE]
        if isinstance(expected, Exception):
            self.assertIsInstance(result, type(expected), "the CPU refuses this")
            return False
        if isinstance(result, Exception):
            raise result
        self.assertEqual(len(result), len(expected))
        for mine, reference in zip(result, expected):
            torch.testing.assert_close(mine, reference, rtol=tolerance,
                                       atol=tolerance * max(reference.abs().max().item(), 1e-6))
        return True

    def attended(self, keys, heads, causal, grad, dtype, device, layout=torch.jagged):
        width = 16
        query = self.sequences(self.LENGTHS, width, dtype, layout, device, 0, grad)
        if self.KEYS[keys] is None:
            key = value = query
        else:
            key = self.sequences(self.KEYS[keys], width, dtype, layout, device, 1, grad)
            value = self.sequences(self.KEYS[keys], width, dtype, layout, device, 2, grad)
            if layout == torch.jagged:
                offsets = query.offsets() if keys == "of the same offsets" else key.offsets()
                key, value = (torch.nested.nested_tensor_from_jagged(x.values().detach().clone(), offsets).requires_grad_(grad)
                              for x in (key, value))
        leaves = list({id(x): x for x in (query, key, value)}.values()) if grad else []
        split = [x.unflatten(-1, (heads, width // heads)).transpose(1, 2) for x in (query, key, value)]
        result = F.scaled_dot_product_attention(*split, is_causal=causal)
        return self.numbers(result.transpose(1, 2).flatten(2), leaves)

    def test_jagged_tensors(self):
        compared = 0
        for keys, heads, causal, grad, dtype in itertools.product(
                self.KEYS, (1, 4), (False, True), (False, True), self.DTYPES):
            with self.subTest(keys=keys, heads=heads, causal=causal, requires_grad=grad, dtype=dtype):
                compared += self.compare(lambda device: self.attended(keys, heads, causal, grad, dtype, device), self.DTYPES[dtype])
        self.assertGreaterEqual(compared, 24)

    def test_strided_nested_tensors(self):
        for keys, heads, causal, grad, dtype in itertools.product(self.KEYS, (2,), (False, True), (False, True), self.DTYPES):
            with self.subTest(keys=keys, heads=heads, causal=causal, requires_grad=grad, dtype=dtype):
                self.compare(lambda device: self.attended(keys, heads, causal, grad, dtype, device, torch.strided),
                             self.DTYPES[dtype])

    #: A module of width 8, and a function that applies it to sequences.
    MODULES = {
        "MultiheadAttention": (
            lambda: nn.MultiheadAttention(8, 2, batch_first=True), lambda m, x: m(x, x, x, need_weights=False)[0]),
        "MultiheadAttention, weights": (lambda: nn.MultiheadAttention(8, 2, batch_first=True), lambda m, x: m(x, x, x)[0]),
        "TransformerEncoderLayer": (lambda: nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True), lambda m, x: m(x)),
        "TransformerEncoderLayer, norm first": (
            lambda: nn.TransformerEncoderLayer(8, 2, 16, 0.0, activation="gelu", norm_first=True, batch_first=True),
            lambda m, x: m(x)),
        "TransformerEncoder": (
            lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True), 2), lambda m, x: m(x)),
    }

    def test_modules(self):
        for name, training, grad, dtype, layout in itertools.product(
                self.MODULES, (False, True), (False, True), self.DTYPES, (torch.strided, torch.jagged, None)):
            make, call = self.MODULES[name]

            def compute(device):
                torch.manual_seed(1)
                module = make().to(device, dtype).train(training)
                if layout is None:
                    x = torch.randn(2, 5, 8, generator=torch.Generator().manual_seed(0)).to(device, dtype).requires_grad_(grad)
                else:
                    x = self.sequences(self.LENGTHS, 8, dtype, layout, device, 0, grad)
                with torch.set_grad_enabled(grad):
                    return self.numbers(call(module, x), [x] if grad else [])

            with self.subTest(name, training=training, requires_grad=grad, dtype=dtype, layout=layout or "dense"):
                compared = self.compare(compute, 2 * self.DTYPES[dtype])
                self.assertTrue(compared or layout is not None)

    def test_padding_becomes_a_nested_tensor(self):
        """What TransformerEncoder does in evaluation: no rows are computed for padding."""
        x = torch.randn(2, 4, 8, generator=torch.Generator().manual_seed(0))
        padding = torch.tensor([[False] * 4, [False] * 2 + [True] * 2])
        make = self.MODULES["TransformerEncoder"][0]
        for training, grad, dtype in itertools.product((False, True), (False, True), self.DTYPES):
            def compute(device):
                torch.manual_seed(1)
                module = make().to(device, dtype).train(training)
                leaf = x.detach().to(device, dtype, copy=True).requires_grad_(grad)
                with torch.set_grad_enabled(grad):
                    result = module(leaf, src_key_padding_mask=padding.to(device))
                    kept = result * ~padding[:, : result.size(1)].to(device).unsqueeze(-1)
                    return self.numbers(kept, [leaf] if grad else [])

            with self.subTest(training=training, requires_grad=grad, dtype=dtype):
                self.assertTrue(self.compare(compute, 2 * self.DTYPES[dtype]))


class Quantized(LayoutTest):
    STATEMENTS = {
        "per tensor": lambda: torch.quantize_per_tensor(torch.ones(3, device=DEVICE), 0.1, 0, torch.qint8),
        "per channel": lambda: torch.quantize_per_channel(
            torch.ones(3, 2, device=DEVICE), torch.ones(3, device=DEVICE),
            torch.zeros(3, dtype=torch.long, device=DEVICE), 0, torch.qint8
        ),
        "moved": lambda: torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8).to(DEVICE),
        "empty": lambda: torch.empty(3, dtype=torch.qint8, device=DEVICE),
    }

    def test_each_is_refused_in_one_sentence(self):
        for name, statement in self.STATEMENTS.items():
            with self.subTest(name), self.assertRaisesRegex(NotImplementedError, "no quantized tensors") as caught:
                statement()
            self.assertEqual(len(str(caught.exception).splitlines()), 1)


if __name__ == "__main__":
    unittest.main(verbosity=2)
