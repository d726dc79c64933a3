"""Compares attention on the device with matrix products and softmax on the CPU."""

import torch
import torch.nn.functional as F

from both_devices import ScaledOnBoth

attend = F.scaled_dot_product_attention


def on_math_path(*tensors, **options):
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        return attend(*tensors, **options)


class AttentionOnBoth(ScaledOnBoth):
    def check(self, q, k, v, tolerance=None, message="", **options):
        """Makes the CPU use matrix products, because its fused attention has no gradient for a mask."""
        def run(*tensors):
            mask = {"attn_mask": tensors[3]} if len(tensors) > 3 else {}
            function = on_math_path if tensors[0].device.type == "cpu" else attend
            return function(*tensors[:3], **mask, **extra)
        extra = {name: option for name, option in options.items() if name != "attn_mask"}
        tensors = [q, k, v] + ([options["attn_mask"]] if "attn_mask" in options else [])
        self.compare_gradients(run, *tensors, tolerance=tolerance or 2e-5, message=message)
