"""Makes the functions of torch.cuda and its submodules use rvk (names.py has the tables)."""

import functools
import sys
import types

import torch

from . import names
from .classes import CAPABILITY, as_cuda_stream, cuda_properties, replace
from .devices import map_arguments
from .report import say, stop


def _announced(name, function, original):
    """The function of torch.rvk under CUDA's name: reports its first call and maps devices in its arguments."""
    function = map_arguments(function)

    @functools.wraps(original)
    def call(*args, **kwargs):
        say(f"torch.cuda.{name}", f"torch.rvk.{name}")
        return function(*args, **kwargs)

    return call


def _asked_for(function):
    """Wraps a function that says whether there are devices. If there are none, the program ends, unless an environment variable
    hides them all: then the program takes its path for the CPU."""

    @functools.wraps(function)
    def call(*args, **kwargs):
        reason = torch.ops.rvk.why_no_device()
        if reason and not reason.endswith("hides every device"):
            sys.exit(f"torch_rvk.run: there is no device to run on: {reason}.")
        return function(*args, **kwargs)

    return call


def _answer(what, value, original):
    @functools.wraps(original)
    def call(*_args, **_kwargs):
        say(what, "without effect on rvk" if value is None else repr(value))
        return value

    return call


def stopper(what, why, original):
    """A replacement whose call ends the program. A class can still be named, used in annotations and subclassed."""
    if isinstance(original, type):

        def __new__(cls, *_args, **_kwargs):
            stop(what, why)

        original.__new__ = __new__
        return original

    @functools.wraps(original)
    def call(*_args, **_kwargs):
        stop(what, why)

    return call


def _of_torch_rvk():
    """The functions of torch.cuda that torch.rvk has too."""
    rvk = torch.rvk
    functions = {
        name: getattr(rvk, name)
        for name in rvk.__all__
        if hasattr(torch.cuda, name) and isinstance(getattr(rvk, name), types.FunctionType)
    }
    for name in ("is_available", "device_count"):
        functions[name] = _asked_for(functions[name])
    for name in ("current_stream", "default_stream"):
        functions[name] = _with_result(functions[name], as_cuda_stream)
    functions["get_device_properties"] = cuda_properties
    functions["get_device_capability"] = lambda device=None: CAPABILITY
    functions["memory_stats_as_nested_dict"] = _nested_memory_stats
    functions["device_memory_used"] = _device_memory_used
    return functions


def _with_result(function, convert):
    @functools.wraps(function)
    def call(*args, **kwargs):
        return convert(function(*args, **kwargs))

    return call


def _nested_memory_stats(device=None):
    nested = {}
    for key, value in torch.rvk.memory_stats(device).items():
        inner = nested
        *path, last = key.split(".")
        for part in path:
            inner = inner.setdefault(part, {})
        inner[last] = value
    return nested


def _device_memory_used(device=None):
    free, total = torch.rvk.mem_get_info(device)
    return total - free


class _Cudart:
    """What torch.cuda.cudart() returns: scripts start and stop profilers with it."""

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        if name in ("cudaProfilerStart", "cudaProfilerStop"):
            return lambda: 0
        if name == "cudaMemGetInfo":
            return lambda device=None: torch.rvk.mem_get_info(device)
        stop(f"torch.cuda.cudart().{name}", "there is no CUDA runtime")


def _install_table(module, prefix):
    """Installs the entries of names.py for the functions and classes of one module."""
    for name, value in names.ANSWERS.get(prefix, {}).items():
        if hasattr(module, name):  # names differ between versions of PyTorch
            _set(module, name, _answer(f"{prefix}.{name}", value, getattr(module, name)))
    for name, why in names.REFUSED.get(prefix, {}).items():
        if hasattr(module, name):
            _set(module, name, stopper(f"{prefix}.{name}", why, getattr(module, name)))


def _replace_plan_cache():
    """The attributes of torch.backends.cuda.cufft_plan_cache hold the original functions, which are replaced there too."""
    for attribute in vars(torch.backends.cuda.cuFFTPlanCache).values():
        for role in ("getter", "setter"):
            function = getattr(attribute, role, None)
            if callable(function):
                setattr(attribute, role, getattr(torch, function.__name__))


def _set(module, name, value):
    if module is torch.cuda:
        replace(name, value)
    else:
        setattr(module, name, value)


def install():
    for name, function in _of_torch_rvk().items():
        if hasattr(torch.cuda, name):
            replace(name, _announced(name, function, getattr(torch.cuda, name)))
    replace("cudart", functools.wraps(torch.cuda.cudart)(lambda: _Cudart()))
    torch.cuda.default_generators = torch.rvk.default_generators
    torch.cuda._is_in_bad_fork = torch.rvk._is_in_bad_fork
    torch.cuda._exchange_device = torch.rvk.exchange_device
    torch.cuda._maybe_exchange_device = lambda index: torch.rvk.exchange_device(index) if index >= 0 else -1
    replace("_get_device_index", _device_index(torch.cuda._get_device_index))
    for prefix in names.MODULES:
        _install_table(functools.reduce(getattr, prefix.split(".")[1:], torch), prefix)
    _replace_plan_cache()


def _device_index(original):
    """torch.cuda._get_device_index accepts only CUDA devices, but the devices of tensors are rvk's."""

    @functools.wraps(original)
    def call(device, *args, **kwargs):
        if isinstance(device, torch.device) and device.type == "rvk":
            device = torch.device("cuda") if device.index is None else torch.device("cuda", device.index)
        return original(device, *args, **kwargs)

    return call
