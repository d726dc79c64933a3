"""Fused attention with dropout, with keys that several heads share, and with heads of up to 256 columns."""

import unittest

import torch
from torch import randn
from torch.utils.checkpoint import checkpoint

from attention_on_both import AttentionOnBoth, attend
from support import DEVICE


def kept_weights(q, k, rate, seed, **options):
    """Returns what dropout multiplied each weight by: 0 or 1 / (1 - rate). If the values are a unit matrix, attention returns the
    weights."""
    unit = torch.eye(k.shape[2], device=DEVICE, dtype=q.dtype).expand(*k.shape[:2], -1, -1)
    torch.manual_seed(seed)
    dropped = attend(q, k, unit, dropout_p=rate, **options)
    weights = attend(q, k, unit, **options)
    return torch.where(weights == 0, 0, dropped / weights)


class Dropout(AttentionOnBoth):
    def check_dropout(self, queries, keys, width, rate, dtype=torch.float32, tolerance=2e-5, heads=3, **options):
        q, k, v = (randn(2, heads, n, width).to(dtype) for n in (queries, keys, keys))
        grad = randn(2, heads, queries, width).to(dtype)
        kept = kept_weights(q.to(DEVICE), k.to(DEVICE), rate, 5, **options).cpu().double()
        factor = 1 / (1 - rate)
        allowed = torch.minimum(kept.abs(), (kept - factor).abs())
        self.assertLess(allowed.max().item(), 0.1 * factor, "a weight is neither kept nor dropped")
        kept = torch.where(kept > factor / 2, factor, 0.0)

        leaves = [t.double().requires_grad_() for t in (q, k, v)]
        scores = leaves[0] @ leaves[1].mT * width**-0.5
        if options.get("is_causal"):
            scores = scores.masked_fill(torch.ones(queries, keys).triu(1).bool(), -torch.inf)
        right = (scores.softmax(-1) * kept) @ leaves[2]
        right.backward(grad.double())
        found_leaves = [t.to(DEVICE).requires_grad_() for t in (q, k, v)]
        torch.manual_seed(5)
        found = attend(*found_leaves, dropout_p=rate, **options)
        found.backward(grad.to(DEVICE))
        for name, one, other in zip(("output", "query", "key", "value"), (found, *(t.grad for t in found_leaves)),
                                    (right, *(t.grad for t in leaves))):
            error = (one.detach().cpu().double() - other.detach()).abs().max() / other.detach().abs().max()
            self.assertLess(error.item(), tolerance, f"{name}: {queries} x {keys} x {width}, {dtype}, {options}")

    def test_values_and_gradients(self):
        for queries, keys, width, rate in ((5, 7, 8, 0.5), (40, 50, 20, 0.1), (70, 130, 64, 0.1), (33, 70, 100, 0.3)):
            self.check_dropout(queries, keys, width, rate)
        self.check_dropout(70, 70, 64, 0.1, is_causal=True)
        self.check_dropout(130, 65, 64, 0.2, heads=64)  # enough workgroups for large tiles

    def test_16_bits(self):
        for dtype, tolerance in ((torch.float16, 5e-3), (torch.bfloat16, 4e-2)):
            self.check_dropout(70, 64, 64, 0.1, dtype, tolerance)
            self.check_dropout(70, 64, 64, 0.1, dtype, tolerance, is_causal=True)

    def test_rate(self):
        q, k = randn(4, 4, 100, 8, device=DEVICE), randn(4, 4, 100, 8, device=DEVICE)
        for rate in (0.01, 0.1, 0.5, 0.9):
            kept = (kept_weights(q, k, rate, 3) > 0).float().cpu()
            n = kept.numel()
            self.assertLess(abs(kept.mean().item() - (1 - rate)) / (rate * (1 - rate) / n) ** 0.5, 5)
            # The number of kept weights in a row, a column or a head varies as much as it would with independent draws.
            for sums, size in ((kept.sum(2), 100), (kept.sum(3), 100), (kept.sum((2, 3)), 10000)):
                variance = sums.var().item() / (size * rate * (1 - rate))
                self.assertLess(abs(variance - 1), 8 / sums.numel() ** 0.5, f"{rate} {size}")
            neighbors = ((kept[..., 1:] - kept.mean()) * (kept[..., :-1] - kept.mean())).mean().item()
            self.assertLess(abs(neighbors) / (rate * (1 - rate)), 5 / n**0.5)

    def test_seeds(self):
        q, k, v = (randn(1, 2, 40, 16, device=DEVICE) for _ in range(3))
        torch.manual_seed(1)
        first, second = attend(q, k, v, dropout_p=0.5), attend(q, k, v, dropout_p=0.5)
        self.assertFalse(torch.equal(first, second))
        torch.manual_seed(1)
        self.assertTrue(torch.equal(first, attend(q, k, v, dropout_p=0.5)))
        self.assertTrue(torch.equal(attend(q, k, v), attend(q, k, v, dropout_p=0.0)))
        self.assertEqual(0, attend(q, k, v, dropout_p=1.0).abs().max().item())

    def test_rates_that_are_not_probabilities(self):
        q = randn(1, 2, 4, 16, device=DEVICE)
        for rate in (-0.1, 1.5, float("nan")):
            with self.assertRaisesRegex(RuntimeError, "dropout probability has to be between 0 and 1", msg=str(rate)):
                attend(q, q, q, dropout_p=rate)

    def test_checkpoint_drops_the_same(self):
        q, k, v = (randn(1, 2, 40, 16, device=DEVICE, requires_grad=True) for _ in range(3))
        gradients = []
        for run in (lambda *t: attend(*t, dropout_p=0.3),
                    lambda *t: checkpoint(lambda *u: attend(*u, dropout_p=0.3), *t, use_reentrant=False)):
            torch.manual_seed(4)
            gradients.append(torch.autograd.grad(run(q, k, v).square().sum(), (q, k, v)))
        for one, other in zip(*gradients):
            self.assertTrue(torch.equal(one, other))

    def test_compiled(self):
        """With values and output gradients of ones, the output and the values' gradient have the same sum, that of all kept weights, if
        the forward and the backward pass drop the same ones."""
        q, k, v = randn(1, 2, 40, 16), randn(1, 2, 50, 16), torch.ones(1, 2, 50, 4)
        for function in (attend, torch.compile(attend, backend="aot_eager")):
            tensors = [t.to(DEVICE).requires_grad_() for t in (q, k, v)]
            out = function(*tensors, dropout_p=0.5)
            self.assertGreater(out.std().item(), 0.01)
            gradient = torch.autograd.grad(out.sum(), tensors)[2]
            self.assertAlmostEqual(out.sum().item(), gradient.sum().item(), delta=1e-3)


class SharedKeys(AttentionOnBoth):
    def check_shared(self, heads, key_heads, queries, keys, width, dtype=torch.float32, tolerance=2e-5, **options):
        self.check(randn(2, heads, queries, width).to(dtype), randn(2, key_heads, keys, width).to(dtype),
                   randn(2, key_heads, keys, width).to(dtype), tolerance=tolerance, enable_gqa=True,
                   message=f"{heads} {key_heads} {queries} {keys} {width} {dtype} {options}", **options)

    def test_heads_that_share_keys(self):
        for heads, key_heads in ((8, 2), (6, 1), (4, 4), (6, 3)):
            self.check_shared(heads, key_heads, 40, 70, 32)
        self.check_shared(32, 8, 130, 70, 64, is_causal=True)
        for dtype, tolerance in ((torch.float16, 6e-3), (torch.bfloat16, 4e-2)):
            self.check_shared(8, 2, 40, 70, 64, dtype, tolerance)

    def test_with_a_mask(self):
        self.check(randn(2, 6, 40, 16), randn(2, 2, 70, 16), randn(2, 2, 70, 24), attn_mask=randn(2, 6, 40, 70), enable_gqa=True)

    def test_with_dropout(self):
        q, k, v = randn(1, 4, 40, 16), randn(1, 2, 50, 16), randn(1, 2, 50, 16)
        expanded = [t.repeat_interleave(2, 1) for t in (k, v)]
        torch.manual_seed(2)
        one = attend(q.to(DEVICE), k.to(DEVICE), v.to(DEVICE), dropout_p=0.4, enable_gqa=True)
        torch.manual_seed(2)
        other = attend(q.to(DEVICE), *(t.to(DEVICE) for t in expanded), dropout_p=0.4)
        self.assertTrue(torch.equal(one, other))


class WideHeads(AttentionOnBoth):
    def test_up_to_256_columns(self):
        for width, value_width in ((129, 129), (160, 192), (256, 256), (64, 250), (200, 40)):
            for queries, keys in ((70, 40), (8, 65)):
                self.check(randn(1, 2, queries, width), randn(1, 2, keys, width), randn(1, 2, keys, value_width),
                           message=f"{queries} {keys} {width} {value_width}")
        self.check(*(randn(1, 2, 70, 256) for _ in range(3)), is_causal=True, message="causal")
        self.check(*(randn(1, 2, 70, 256) for _ in range(3)), attn_mask=randn(70, 70), message="mask")
        for dtype, tolerance in ((torch.float16, 6e-3), (torch.bfloat16, 4e-2)):
            for width in (136, 192, 256):
                self.check(*(randn(1, 2, 70, width).to(dtype) for _ in range(3)), is_causal=True, tolerance=tolerance,
                           message=f"{dtype} {width}")

    def test_no_matrix_of_scores(self):
        q = randn(1, 1, 4, 256, device=DEVICE)
        self.assertEqual(torch._fused_sdp_choice(q, q, q), int(torch.nn.attention.SDPBackend.OVERRIDEABLE))


if __name__ == "__main__":
    unittest.main()
