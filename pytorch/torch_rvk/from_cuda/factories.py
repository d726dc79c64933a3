"""Maps devices in the arguments of Python's functions, for CUDA and ROCm builds of PyTorch.

Their operators have kernels for CUDA devices, so the device library cannot answer calls that name one. These wrappers
have no counterpart in TorchScript: torch.jit.script cannot compile code that calls them with a CUDA device.
"""

import functools

import torch
from torch.utils import _device

from .devices import map_arguments, mapped

_MODULES = (torch, torch.fft, torch.signal.windows, torch.sparse, torch.nested, torch.random)
_LIKE = ("empty_like", "full_like", "ones_like", "rand_like", "randint_like", "randn_like", "zeros_like")
_METHODS = ("to", "new_empty", "new_empty_strided", "new_full", "new_ones", "new_tensor", "new_zeros")


def needed():
    """Whether PyTorch has kernels for CUDA devices."""
    return bool(torch.version.cuda or torch.version.hip)


def _map_keyword(function):
    """Maps only the keyword argument device=, which is faster than looking at every argument."""

    @functools.wraps(function)
    def call(*args, **kwargs):
        device = kwargs.get("device")
        if device is not None:
            kwargs["device"] = mapped(device)
        return function(*args, **kwargs)

    return call


def install():
    constructors = _device._device_constructors()
    for module in _MODULES:
        for name, value in list(vars(module).items()):
            if callable(value) and value.__hash__ is not None and value in constructors:
                setattr(module, name, _map_keyword(value))
    for name in _LIKE:
        setattr(torch, name, _map_keyword(getattr(torch, name)))
    for name in _METHODS:
        setattr(torch.Tensor, name, map_arguments(getattr(torch.Tensor, name)))
    for owner, name in (
        (torch.nn.Module, "to"),
        (torch.nn.Module, "to_empty"),
        (torch.nn.utils.rnn.PackedSequence, "to"),
        (_device.DeviceContext, "__init__"),  # `with torch.device("cuda"):` and set_default_device create one
    ):
        setattr(owner, name, map_arguments(getattr(owner, name)))
