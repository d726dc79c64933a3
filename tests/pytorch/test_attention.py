"""Scaled dot-product attention compared with the CPU: the fused kernels, and the path through matrix products."""

import unittest

import torch
import torch.nn.functional as F
from torch import randn

from both_devices import ScaledOnBoth, moved
from support import DEVICE, device_module

attend = F.scaled_dot_product_attention


def on_math_path(*tensors, **options):
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        return attend(*tensors, **options)


class Attention(ScaledOnBoth):
    def check(self, q, k, v, tolerance=None, message="", **options):
        """The CPU uses matrix products; otherwise it has no gradient for a mask."""
        def run(*tensors):
            mask = {"attn_mask": tensors[3]} if len(tensors) > 3 else {}
            function = on_math_path if tensors[0].device.type == "cpu" else attend
            return function(*tensors[:3], **mask, **extra)
        extra = {name: option for name, option in options.items() if name != "attn_mask"}
        tensors = [q, k, v] + ([options["attn_mask"]] if "attn_mask" in options else [])
        self.compare_gradients(run, *tensors, tolerance=tolerance or 2e-5, message=message)

    def test_widths_and_lengths(self):
        for queries, keys, width, value_width in ((1, 1, 1, 1), (32, 32, 32, 32), (33, 70, 20, 40), (70, 33, 64, 64),
                                                  (40, 40, 100, 128)):
            self.check(randn(2, 3, queries, width), randn(2, 3, keys, width), randn(2, 3, keys, value_width),
                       message=f"{queries} {keys} {width} {value_width}")

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
        self.check(*(randn(1, 2, 9, 160) for _ in range(3)), message="wide heads")
        self.check(*(randn(2, 9, 16) for _ in range(3)), message="without heads")
        self.check(randn(1, 4, 9, 16), randn(1, 2, 9, 16), randn(1, 2, 9, 16), enable_gqa=True, message="shared keys")

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


if __name__ == "__main__":
    unittest.main()
