"""Maps devices in arguments: "cuda", "cuda:1" and torch.device("cuda") become rvk wherever PyTorch takes a device."""

import functools
import sys

import torch
from torch.utils import _device

from .report import say


def mapped(device):
    """The rvk device for a CUDA device in any form; returns anything else unchanged."""
    if isinstance(device, torch.device):
        if device.type != "cuda":
            return device
        say('torch.device("cuda")', 'torch.device("rvk")')
        return torch.device("rvk") if device.index is None else torch.device("rvk", device.index)
    if isinstance(device, str) and (device == "cuda" or device.startswith("cuda:")):
        say('the device "cuda"', '"rvk"')
        return "rvk" + device[len("cuda") :]
    return device


def map_arguments(function):
    """Wraps a function so that every CUDA device in its arguments is mapped."""

    @functools.wraps(function)
    def call(*args, **kwargs):
        for key, value in kwargs.items():
            if isinstance(value, (str, torch.device)):
                kwargs[key] = mapped(value)
        return function(*[mapped(a) if isinstance(a, (str, torch.device)) else a for a in args], **kwargs)

    return call


def map_device_keyword(function):
    """Wraps a function so that its argument device= is mapped; ignores positional arguments, which is faster."""

    @functools.wraps(function)
    def call(*args, **kwargs):
        device = kwargs.get("device")
        if device is not None:
            kwargs["device"] = mapped(device)
        return function(*args, **kwargs)

    return call


def _replace_factories():
    constructors = _device._device_constructors()
    for module in (torch, torch.fft, torch.signal.windows, torch.sparse, torch.nested, torch.random):
        for name, value in list(vars(module).items()):
            if callable(value) and value.__hash__ is not None and value in constructors:
                setattr(module, name, map_device_keyword(value))


def _to_rvk(self, device=None, non_blocking=False, memory_format=torch.preserve_format):
    say("Tensor.cuda()", 'Tensor.to("rvk")')
    target = torch.device("rvk") if device is None else torch.device("rvk", device) if isinstance(device, int) else mapped(device)
    return self.to(target, non_blocking=non_blocking, memory_format=memory_format)


def _module_to_rvk(self, device=None):
    say("Module.cuda()", 'Module.to("rvk")')
    return self.to("rvk" if device is None else torch.device("rvk", device) if isinstance(device, int) else mapped(device))


def _replace_tensor_type():
    """Tensor.type("torch.cuda.FloatTensor")."""
    original = torch.Tensor.type

    @functools.wraps(original)
    def call(self, dtype=None, *args, **kwargs):
        if isinstance(dtype, str) and dtype.startswith("torch.cuda."):
            say(f'Tensor.type("{dtype}")', "rvk")
            return original(self, dtype.replace("torch.cuda.", "torch."), *args, **kwargs).to("rvk")
        return original(self, dtype, *args, **kwargs)

    torch.Tensor.type = call


def _replace_is_cuda():
    """x.is_cuda is true on rvk when the script asks; PyTorch's own code uses it to choose CUDA libraries."""
    original = torch.Tensor.is_cuda

    def is_cuda(self):
        asks = sys._getframe(1).f_globals.get("__name__", "")
        if asks == "torch" or asks.startswith("torch."):
            return original.__get__(self)
        say("Tensor.is_cuda", "true for tensors on rvk")
        return self.device.type == "rvk"

    torch.Tensor.is_cuda = property(is_cuda)


def _replace_load():
    original = torch.load

    def at(storage, location):
        if location.startswith("cuda"):
            say("a checkpoint saved on cuda", "loaded on rvk")
            return storage.cpu().rvk(int(location.partition(":")[2] or 0))
        return None

    @functools.wraps(original)
    def call(f, map_location=None, *args, **kwargs):
        if map_location is None:
            map_location = at
        elif isinstance(map_location, dict):
            map_location = {key: mapped(value) for key, value in map_location.items()}
        else:
            map_location = mapped(map_location)
        return original(f, map_location, *args, **kwargs)

    torch.load = call


class _GeneratorType(type(torch.Generator)):
    """torch.Generator is a type that scripts call and use with isinstance()."""

    original = torch.Generator

    def __call__(cls, device="cpu"):
        return _GeneratorType.original(mapped(device))

    def __instancecheck__(cls, instance):
        return isinstance(instance, _GeneratorType.original)


def _replace_default_tensor_type():
    original = torch.set_default_tensor_type

    @functools.wraps(original)
    def call(kind):
        name = kind if isinstance(kind, str) else getattr(kind, "__name__", "")
        if not (isinstance(kind, str) and "cuda" in kind) and not hasattr(kind, "rvk_dtype"):
            return original(kind)
        say("set_default_tensor_type(cuda)", 'set_default_device("rvk")')
        torch.set_default_device("rvk")
        return original("torch." + name.rpartition(".")[2])

    torch.set_default_tensor_type = call


def install():
    _replace_factories()
    for name in ("to", "new_empty", "new_empty_strided", "new_full", "new_ones", "new_tensor", "new_zeros", "pin_memory"):
        setattr(torch.Tensor, name, map_arguments(getattr(torch.Tensor, name)))
    torch.Tensor.cuda = _to_rvk
    _replace_tensor_type()
    _replace_is_cuda()
    torch.nn.Module.to = map_arguments(torch.nn.Module.to)
    torch.nn.Module.to_empty = map_arguments(torch.nn.Module.to_empty)
    torch.nn.Module.cuda = _module_to_rvk
    packed = torch.nn.utils.rnn.PackedSequence
    packed.to = map_arguments(packed.to)
    packed.cuda = lambda self, *args, **kwargs: self.to("rvk")
    # `with torch.device("cuda"):` and set_default_device create one of these.
    _device.DeviceContext.__init__ = map_arguments(_device.DeviceContext.__init__)
    torch.autocast.__init__ = map_arguments(torch.autocast.__init__)
    torch.amp.GradScaler.__init__ = _scaler_init(torch.amp.GradScaler.__init__)
    torch.Generator = _GeneratorType("Generator", (), {"__module__": "torch"})
    _replace_load()
    _replace_default_tensor_type()


def _scaler_init(original):
    """Its device argument is "cuda" by default."""

    @functools.wraps(original)
    def call(self, device="cuda", *args, **kwargs):
        original(self, mapped(device), *args, **kwargs)

    return call
