"""Scaled dot-product attention compared with the CPU: the fused kernels, and the path through matrix products."""

import unittest

import torch
from torch import randn

from attention_on_both import AttentionOnBoth, attend, on_math_path
from both_devices import ScaledOnBoth, in_float64, moved, relative_error
from support import DEVICE, device_module


class Attention(AttentionOnBoth):
    def test_widths_and_lengths(self):
        for queries, keys, width, value_width in ((1, 1, 1, 1), (32, 32, 32, 32), (33, 70, 20, 40), (70, 33, 64, 64),
                                                  (40, 40, 100, 128)):
            self.check(randn(2, 3, queries, width), randn(2, 3, keys, width), randn(2, 3, keys, value_width),
                       message=f"{queries} {keys} {width} {value_width}")

    def test_edges_of_tiles(self):
        """The kernels' tiles have 8, 32 or 64 rows and 64 columns; the largest need many heads."""
        for queries, keys in ((7, 64), (8, 65), (9, 63), (32, 129), (33, 64), (63, 127), (64, 2), (65, 65), (127, 63), (129, 129)):
            for width, value_width in ((8, 12), (64, 64), (65, 30)):
                for causal in (False, True):
                    self.check(randn(1, 2, queries, width), randn(1, 2, keys, width), randn(1, 2, keys, value_width),
                               is_causal=causal, message=f"{queries} {keys} {width} {value_width} {causal}")
        for width in (8, 40, 63, 64, 80, 96, 128):
            self.check(randn(8, 16, 130, width), randn(8, 16, 65, width), randn(8, 16, 65, width), is_causal=width % 16 == 0,
                       message=f"many heads of {width}")

    def test_causal(self):
        for queries, keys in ((70, 70), (33, 70), (70, 33)):
            self.check(randn(1, 2, queries, 32), randn(1, 2, keys, 32), randn(1, 2, keys, 32), is_causal=True,
                       message=f"{queries} {keys}")

    def test_scale_and_strides(self):
        q, k, v = (randn(2, 40, 3, 16).transpose(1, 2) for _ in range(3))
        self.check(q, k, v, scale=0.3)
        self.check(randn(2, 3, 16, 40).mT, randn(2, 3, 16, 40).mT, v)

    def test_masks(self):
        q, k, v = randn(2, 3, 40, 16), randn(2, 3, 50, 16), randn(2, 3, 50, 16)
        for sizes in ((40, 50), (2, 1, 40, 50), (2, 3, 1, 50), (1, 50)):
            self.check(q, k, v, attn_mask=randn(sizes), message=str(sizes))

    def test_gradient_of_a_mask_that_is_also_causal(self):
        """PyTorch's path through matrix products refuses both together. The gradient is zero where the causal mask hides a key."""
        for dtype, tolerance in ((torch.float32, 2e-5), (torch.float16, 6e-3)):
            for queries, keys in ((40, 200), (200, 70), (130, 130)):
                tensors = [randn(1, 2, n, 16).to(dtype) for n in (queries, keys, keys)] + [randn(queries, keys).to(dtype)]
                here = [t.double().requires_grad_() for t in tensors]
                there = [t.requires_grad_() for t in moved(tensors, whole_storage=True)]
                hidden = torch.ones(queries, keys).triu(1).bool()
                expected = on_math_path(*here[:3], attn_mask=here[3].masked_fill(hidden, -torch.inf))
                found = attend(*there[:3], attn_mask=there[3], is_causal=True)
                gradient = torch.randn(expected.shape).to(dtype)
                for one, other in zip(torch.autograd.grad(expected, here, gradient.double()),
                                      torch.autograd.grad(found, there, gradient.to(DEVICE))):
                    self.assertLessEqual(relative_error(one, other.cpu()), tolerance, f"{dtype} {queries} {keys}")

    def test_boolean_mask_and_rows_without_keys(self):
        q, k, v = randn(2, 3, 40, 16), randn(2, 3, 50, 16), randn(2, 3, 50, 16)
        mask = torch.rand(40, 50) > 0.5
        mask[7] = False
        expected = on_math_path(q, k, v, attn_mask=mask)
        found = attend(*moved((q, k, v), whole_storage=True), attn_mask=moved(mask, whole_storage=True))
        self.same(expected, found, 2e-5)

    def test_dtypes(self):
        for dtype, tolerance in ((torch.float16, 4e-3), (torch.bfloat16, 3e-2)):
            self.check(*(randn(2, 3, 40, 32).to(dtype) for _ in range(3)), tolerance=tolerance, message=str(dtype))
        self.check(*(randn(1, 2, 9, 8, dtype=torch.float64) for _ in range(3)), tolerance=1e-12, message="float64")

    def test_what_the_kernels_do_not_support(self):
        for width in (257, 320):
            self.check(*(randn(1, 2, 9, width) for _ in range(3)), message=f"heads of {width}")
        self.check(*(randn(2, 9, 16) for _ in range(3)), message="without heads")

    def test_dropout_keeps_the_mean(self):
        q, k, v = (moved(t, whole_storage=True) for t in (randn(1, 2, 200, 16), randn(1, 2, 60, 16), torch.ones(1, 2, 60, 16)))
        found = attend(q, k, v, dropout_p=0.5).cpu()
        self.assertAlmostEqual(float(found.mean()), 1, delta=0.1)
        self.assertGreater(float(found.std()), 0.01)

    def test_scores_are_not_kept(self):
        module = device_module()
        q, k, v = (moved(randn(1, 4, 512, 16), whole_storage=True) for _ in range(3))
        before = module.memory_allocated()
        module.reset_peak_memory_stats()
        attend(q, k, v)
        self.assertLess(module.max_memory_allocated() - before, 4 * 512 * 512 * 4 / 2)

    def test_multi_head_layer(self):
        torch.manual_seed(1)
        layer = torch.nn.MultiheadAttention(24, 3, batch_first=True)
        copy = torch.nn.MultiheadAttention(24, 3, batch_first=True).to(DEVICE)
        copy.load_state_dict(layer.state_dict())
        x = randn(2, 10, 24)
        self.same(layer(x, x, x)[0], copy(x.to(DEVICE), x.to(DEVICE), x.to(DEVICE))[0], 1e-5)

    def test_encoder_layers_without_gradients(self):
        """Without gradients, PyTorch calls a whole layer as one operator."""
        x, padding = randn(2, 7, 16), torch.tensor([[False] * 7, [False] * 4 + [True] * 3])
        for first in (False, True):
            layer = torch.nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, norm_first=first, activation="gelu").eval()
            with torch.no_grad():
                for masks in ({}, {"src_key_padding_mask": padding}, {"src_mask": torch.ones(7, 7).triu(1).bool()}):
                    expected = layer.cpu()(x, **masks)
                    found = layer.to(DEVICE)(x.to(DEVICE), **{name: m.to(DEVICE) for name, m in masks.items()})
                    self.same(expected, found, 1e-5, f"norm first {first}, {list(masks)}")

    def test_weights_without_gradients(self):
        layer, x = torch.nn.MultiheadAttention(16, 2, batch_first=True).eval(), randn(2, 7, 16)
        with torch.no_grad():
            for average in (True, False):
                expected = layer.cpu()(x, x, x, average_attn_weights=average)
                found = layer.to(DEVICE)(*[x.to(DEVICE)] * 3, average_attn_weights=average)
                for one, other in zip(expected, found):
                    self.same(one, other, 1e-5)


class AttentionOf16Bits(ScaledOnBoth):
    """Compared with float64 on the CPU. Devices with matrix units for the dtype use them."""

    #: Largest difference of values and of gradients, relative to the largest number: weights and their gradients are
    #: rounded to the dtype before they are multiplied, and so is the output from which the gradients follow.
    TOLERANCES = {torch.float16: (2e-3, 6e-3), torch.bfloat16: (1.5e-2, 4e-2)}
    LENGTHS = (1, 15, 16, 17, 63, 64, 65, 200)

    def check(self, *tensors, message="", tolerance=None, gradients=True, **options):
        """tensors: query, key, value and perhaps a mask, all of which get gradients."""
        def run(function, q, k, v, *mask):
            return function(q, k, v, *mask, **options)
        inputs = [t.detach().requires_grad_() for t in tensors]
        there, exact = moved(inputs, whole_storage=True), [in_float64(t) for t in inputs]
        expected, found = run(on_math_path, *exact), run(attend, *there)
        of_values, of_gradients = tolerance or self.TOLERANCES[tensors[0].dtype]
        self.assert_on_device(found, message)
        self.assertLessEqual(relative_error(expected, found.cpu()), of_values, message)
        if gradients:
            gradient = torch.randn(expected.shape).to(found.dtype)
            self.compare_all(torch.autograd.grad(expected, exact, gradient.double()),
                             torch.autograd.grad(found, there, gradient.to(DEVICE)), of_gradients, message)

    def compare_all(self, expected, found, tolerance, message):
        """With one key, for example, the gradients of queries and keys are zero up to rounding, so differences are compared
        with the largest of all gradients."""
        largest = max(float(t.abs().max()) for t in expected)
        for i, (one, other) in enumerate(zip(expected, found)):
            difference = float((one - other.cpu().double()).abs().max())
            self.assertLessEqual(difference, tolerance * max(float(one.abs().max()), largest / 100), f"{message} gradient {i}")

    def random(self, *sizes, dtype=torch.float16):
        return randn(sizes).to(dtype)

    def test_widths(self):
        for dtype in self.TOLERANCES:
            for width in (16, 20, 32, 40, 64, 72, 80, 96, 100, 128):
                for value_width in {width, 128 - width // 8 * 4}:
                    self.check(self.random(1, 2, 70, width, dtype=dtype), self.random(1, 2, 90, width, dtype=dtype),
                               self.random(1, 2, 90, value_width, dtype=dtype), message=f"{dtype} {width} {value_width}")

    def test_lengths(self):
        for queries in self.LENGTHS:
            for keys in self.LENGTHS:
                self.check(self.random(1, 2, queries, 64), self.random(1, 2, keys, 64), self.random(1, 2, keys, 64),
                           message=f"{queries} {keys}")

    def test_several_tiles(self):
        for dtype in self.TOLERANCES:
            for width in (64, 128):
                for causal in (False, True):
                    self.check(*(self.random(1, 2, length, width, dtype=dtype) for length in (300, 520, 520)),
                               is_causal=causal, message=f"{dtype} {width} {causal}")

    def test_causal(self):
        for queries in self.LENGTHS:
            for keys in self.LENGTHS:
                self.check(self.random(1, 2, queries, 32), self.random(1, 2, keys, 32), self.random(1, 2, keys, 48),
                           is_causal=True, message=f"{queries} {keys}")
        for queries, keys in ((129, 257), (257, 129), (256, 256)):
            self.check(*(self.random(2, 1, length, 128) for length in (queries, keys, keys)), is_causal=True,
                       message=f"{queries} {keys}")

    def test_strides(self):
        packed = self.random(2, 40, 3, 3, 64)
        self.check(*(packed[:, :, i].transpose(1, 2) for i in range(3)), message="packed")
        odd = self.random(2, 3, 40, 3 * 24 + 1)
        self.check(*(odd[..., 1 + 24 * i : 25 + 24 * i] for i in range(3)), message="rows that are not aligned")
        q, k, v = self.random(2, 3, 50, 32), self.random(2, 1, 70, 32), self.random(1, 1, 70, 32)
        self.check(q, k.expand(2, 3, 70, 32), v.expand(2, 3, 70, 32), message="keys of several heads")
        self.check(q, self.random(2, 3, 1, 32).expand(2, 3, 70, 32), v.expand(2, 3, 70, 32), message="one key again and again",
                   gradients=False)
        self.check(*(self.random(2, 3, 32, 50).mT for _ in range(3)), message="columns that are not adjacent")

    def test_masks(self):
        q, k, v = self.random(2, 3, 40, 64), self.random(2, 3, 150, 64), self.random(2, 3, 150, 64)
        for sizes in ((40, 150), (2, 1, 40, 150), (2, 3, 1, 150), (1, 150)):
            self.check(q, k, v, self.random(*sizes), message=str(sizes))

    def test_boolean_masks(self):
        for dtype, (of_values, of_gradients) in self.TOLERANCES.items():
            q, k, v = (self.random(2, 3, length, 64, dtype=dtype) for length in (40, 150, 150))
            padding = torch.arange(150) < torch.tensor([60, 140])[:, None, None, None]
            rows = torch.rand(40, 150) > 0.5
            rows[7] = False
            for name, mask in (("padding", padding), ("rows without keys", rows), ("the first keys", torch.arange(150) >= 140)):
                mask = mask.expand(2, 3, 40, 150)
                here = [t.double().requires_grad_() for t in (q, k, v)]
                there = [t.requires_grad_() for t in moved((q, k, v), whole_storage=True)]
                expected, found = on_math_path(*here, attn_mask=mask), attend(*there, attn_mask=mask.to(DEVICE))
                gradient = torch.randn(expected.shape).to(dtype)
                self.assertLessEqual(relative_error(expected.nan_to_num(), found.cpu()), of_values, f"{dtype} {name}")
                self.compare_all([t.nan_to_num() for t in torch.autograd.grad(expected, here, gradient.double())],
                                 torch.autograd.grad(found, there, gradient.to(DEVICE)), of_gradients, f"{dtype} {name}")

    def test_scales(self):
        for scale in (0.3, 0.0, -0.4):
            self.check(*(self.random(1, 2, 40, 64) for _ in range(3)), scale=scale, message=str(scale))

    def test_large_scores(self):
        """Exponents far above those of float16: the softmax subtracts the largest of each row."""
        for dtype in self.TOLERANCES:
            q, k, v = (self.random(1, 2, 130, 64, dtype=dtype) for _ in range(3))
            scores = 2.0 * q.double() @ k.double().mT
            self.assertGreater(float(scores.abs().max()), 60)
            self.check(q, k, v, scale=2.0, tolerance=(4e-3 if dtype == torch.float16 else 3e-2, 1e-1), message=str(dtype))
        same = torch.full((1, 1, 70, 64), 30.0, dtype=torch.float16)  # scores of 7200
        self.check(same, same, self.random(1, 1, 70, 64), message="equal scores", gradients=False)

    def test_long_sequences(self):
        self.check(self.random(1, 1, 40, 64), self.random(1, 1, 5_000, 64), self.random(1, 1, 5_000, 64), message="many keys")
        self.check(self.random(1, 1, 5_000, 64), self.random(1, 1, 40, 64), self.random(1, 1, 40, 64), message="many queries")


if __name__ == "__main__":
    unittest.main()
