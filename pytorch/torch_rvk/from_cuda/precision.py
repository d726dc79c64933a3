"""Keeps one autocast state for CUDA and rvk, whichever of the two a program names."""

import functools

import torch
from torch._library import custom_ops
from torch.amp import autocast_mode

_BOTH = ("cuda", "rvk")


def _enabled_for_both(original):
    """set_autocast_enabled(device_type, enabled); the form without a device type means CUDA."""

    @functools.wraps(original)
    def set_autocast_enabled(*arguments, **keywords):
        kind = keywords.pop("device_type", None)
        if kind is None:
            kind = arguments[0] if len(arguments) == 2 or arguments and isinstance(arguments[0], str) else "cuda"
        enabled = keywords.pop("enabled", None)
        if enabled is None:
            enabled = arguments[-1]
        for each in _BOTH if kind in _BOTH else (kind,):
            original(each, enabled)

    return set_autocast_enabled


def _dtype_for_both(original):
    @functools.wraps(original)
    def set_autocast_dtype(device_type, dtype):
        for each in _BOTH if device_type in _BOTH else (device_type,):
            original(each, dtype)

    return set_autocast_dtype


def _set_gpu_dtype(original):
    @functools.wraps(original)
    def set_autocast_gpu_dtype(dtype):
        torch.set_autocast_dtype("cuda", dtype)

    return set_autocast_gpu_dtype


def _cast_on_rvk(original):
    """custom_fwd(cast_inputs=…) and register_autocast convert only the tensors of one device type: for CUDA, rvk's."""

    @functools.wraps(original)
    def _cast(value, device_type, dtype):
        return original(value, "rvk" if device_type == "cuda" else device_type, dtype)

    return _cast


def install():
    for name, both in (
        ("set_autocast_enabled", _enabled_for_both),
        ("set_autocast_dtype", _dtype_for_both),
        ("set_autocast_gpu_dtype", _set_gpu_dtype),
    ):
        setter = both(getattr(torch, name))
        setattr(torch, name, setter)
        setattr(torch._C, name, setter)
    torch.set_autocast_dtype("cuda", torch.get_autocast_dtype("cuda"))
    for module in (autocast_mode, custom_ops):
        module._cast = _cast_on_rvk(module._cast)
