"""Makes the module torch.cuda use rvk."""

import functools
import sys
import types

import torch

from .devices import map_arguments
from .report import say

# Results of torch.cuda functions that torch.rvk does not have.
_CONSTANTS = {
    "is_current_stream_capturing": False,
    "get_arch_list": [],
    "is_tf32_supported": False,
}
# These have no effect here, and a script works without them.
_WITHOUT_EFFECT = (
    "ipc_collect",
    "set_per_process_memory_fraction",
    "set_sync_debug_mode",
)
_MEMORY_FORMAT_NAMES = ("memory_snapshot",)
_TENSOR_TYPES = {
    "FloatTensor": torch.float32,
    "DoubleTensor": torch.float64,
    "HalfTensor": torch.float16,
    "BFloat16Tensor": torch.bfloat16,
    "LongTensor": torch.int64,
    "IntTensor": torch.int32,
    "ShortTensor": torch.int16,
    "CharTensor": torch.int8,
    "ByteTensor": torch.uint8,
    "BoolTensor": torch.bool,
}


def _announced(name, function):
    """The function of torch.rvk under CUDA's name: reports its first call and maps devices in its arguments."""
    function = map_arguments(function)

    @functools.wraps(function)
    def call(*args, **kwargs):
        say(f"torch.cuda.{name}", f"torch.rvk.{name}")
        return function(*args, **kwargs)

    return call


def _announced_class(name, original):
    """A class that creates instances of the original; isinstance() holds for both."""

    def __new__(cls, *args, **kwargs):
        say(f"torch.cuda.{name}", f"torch.rvk.{name}")
        return map_arguments(original)(*args, **kwargs)

    class Meta(type):
        def __instancecheck__(cls, instance):
            return isinstance(instance, original)

    return Meta(name, (), {"__new__": __new__, "__module__": "torch.cuda"})


def _answer(name, value):
    def call(*_args, **_kwargs):
        say(f"torch.cuda.{name}", f"{value}")
        return value

    return call


def _asked_for(function):
    """A function that says whether there are devices. If there are none the program ends, unless an environment
    variable hides them all: then the program takes its path for the CPU."""

    @functools.wraps(function)
    def call(*args, **kwargs):
        reason = torch.ops.rvk.why_no_device()
        if reason and not reason.endswith("hides every device"):
            sys.exit(f"torch_rvk.run: there is no device to run on: {reason}.")
        return function(*args, **kwargs)

    return call


def _nothing(name):
    def call(*_args, **_kwargs):
        say(f"torch.cuda.{name}", "without effect on rvk")

    return call


def _tensor_type(name, dtype):
    legacy = getattr(torch, name)

    def call(*args, **kwargs):
        say(f"torch.cuda.{name}", f"torch.{name} on rvk")
        return legacy(*args, **kwargs).to("rvk")

    call.__name__ = name
    call.rvk_dtype = dtype
    return call


def install():
    rvk = torch.rvk
    for name in rvk.__all__:
        value = getattr(rvk, name)
        if isinstance(value, types.ModuleType) or name in ("default_generators", "fallback_stats", "reset_fallback_stats"):
            continue
        if name in ("is_available", "device_count"):
            value = _asked_for(value)
        replace = _announced_class if isinstance(value, type) else _announced
        setattr(torch.cuda, name, replace(name, value))
    for name, value in _CONSTANTS.items():
        setattr(torch.cuda, name, _answer(name, value))
    for name in _WITHOUT_EFFECT:
        setattr(torch.cuda, name, _nothing(name))
    for name, dtype in _TENSOR_TYPES.items():
        setattr(torch.cuda, name, _tensor_type(name, dtype))
    for name in ("range_push", "range_pop", "mark", "range_start", "range_end"):
        setattr(torch.cuda.nvtx, name, _nothing(f"nvtx.{name}"))
    torch.cuda._lazy_init = rvk._lazy_init
    torch.cuda._is_in_bad_fork = rvk._is_in_bad_fork
    # Copies of these functions in submodules.
    for module in (torch.cuda.memory, torch.cuda.random, torch.cuda.streams):
        for name in rvk.__all__:
            if hasattr(module, name):
                setattr(module, name, getattr(torch.cuda, name))
