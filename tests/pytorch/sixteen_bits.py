"""Gradients in 16 bits, judged by their distance from float64's.

In 16 bits, a result depends on the order of rounding, so the device's gradients differ from the CPU's. They must be about as
close to float64's gradients for the same numbers: at most 1.5 times as far as the CPU's, plus one unit in the last place.
"""

import copy

import torch
from torch.utils._pytree import tree_map

from both_devices import tensors_of
from support import DEVICE

DTYPES = (torch.float16, torch.bfloat16)


def rounded(value, dtype):
    """Converts floating-point tensors to float64, rounded to numbers that the dtype can represent."""
    def round_tensor(leaf):
        if not isinstance(leaf, torch.Tensor) or not leaf.is_floating_point():
            return leaf
        return leaf.detach().to(dtype).double().requires_grad_(leaf.requires_grad)
    return tree_map(round_tensor, value)


def gradients(network, given, dtype, device):
    """The gradients of all inputs that require one and of all parameters, in one tensor of float64 on the CPU. `given`: the
    arguments and keywords of a call. The gradients of the results are numbers that both dtypes represent."""
    network = copy.deepcopy(network).to(device, dtype)

    def moved(leaf):
        if not isinstance(leaf, torch.Tensor):
            return leaf
        place = leaf.detach().to(device, dtype if leaf.is_floating_point() else None, copy=True)
        return place.requires_grad_(leaf.requires_grad)

    arguments, keywords = tree_map(moved, given)
    results = [t for t in tensors_of(network(*arguments, **keywords)) if t.requires_grad]
    leaves = [t for t in (*tensors_of((arguments, keywords)), *network.parameters()) if t.requires_grad]
    weights = [(torch.arange(t.numel()).reshape(t.shape).remainder(7) - 2).div(4).to(device, t.dtype) for t in results]
    found = torch.autograd.grad(results, leaves, weights, allow_unused=True)
    return torch.cat([torch.zeros(0, dtype=torch.float64),
                      *(gradient.detach().double().cpu().flatten() for gradient in found if gradient is not None)])


class Distances:
    """The mean distances of both devices from float64, relative to its norm, over several calls of add()."""

    def __init__(self, dtype):
        self.dtype = dtype
        self.calls = 0
        self.of = {"cpu": 0.0, DEVICE: 0.0}

    def add(self, network, given, devices=("cpu", DEVICE)):
        """The numbers of `network` and `given` must be rounded()."""
        exact = gradients(network, given, torch.float64, "cpu")
        for device in devices:
            found = gradients(network, given, self.dtype, device)
            if found.shape != exact.shape:
                raise AssertionError(f"{found.numel()} gradients on {device}, {exact.numel()} in float64")
            # A root or logarithm of a negative number has no gradient anywhere.
            there = exact.isfinite()
            if found[~there].isfinite().any():
                raise AssertionError(f"finite gradients on {device} where float64 has none")
            self.of[device] += ((found - exact)[there].norm() / exact[there].norm().clamp(min=1e-30)).item()
        self.calls += 1

    def device_and_bound(self):
        """The device's distance and the largest one allowed."""
        calls = max(self.calls, 1)
        return self.of[DEVICE] / calls, 1.5 * self.of["cpu"] / calls + torch.finfo(self.dtype).eps
