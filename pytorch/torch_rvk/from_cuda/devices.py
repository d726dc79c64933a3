"""Devices that Python code uses before an operator sees them: "cuda", "cuda:1" and torch.device("cuda") become rvk."""

import functools
import sys
import types

import torch
from torch import serialization, storage

from ..imports import when_imported
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


def called_by_torch(but_not_by=()):
    """Whether PyTorch's own code, apart from the modules in `but_not_by`, called the caller of this function. PyTorch's code
    needs the true kind of device."""
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_globals.get("__name__") in but_not_by:
        frame = frame.f_back
    name = frame.f_globals.get("__name__", "")
    return name == "torch" or name.startswith("torch.")


def _lazy_init():
    """PyTorch calls this before the first operator with a CUDA device."""
    say('the device "cuda"', '"rvk"')
    torch.rvk._lazy_init()


def _target(device):
    return torch.device("rvk", device) if isinstance(device, int) else "rvk" if device is None else mapped(device)


def _to_rvk(original):
    """Makes Tensor.cuda() copy to rvk; it accepts numbers and CUDA devices."""

    @functools.wraps(original)
    def cuda(self, device=None, non_blocking=False, memory_format=torch.preserve_format):
        say("Tensor.cuda()", 'Tensor.to("rvk")')
        return self.to(_target(device), non_blocking=non_blocking, memory_format=memory_format)

    del cuda.__wrapped__  # it has no signature
    return cuda


def _replace_tensor_type():
    """Tensor.type("torch.cuda.FloatTensor"), and the name that Tensor.type() returns to scripts."""
    original = torch.Tensor.type

    @functools.wraps(original)
    def call(self, dtype=None, *args, **kwargs):
        if dtype is None:
            name = original(self)
            return name if called_by_torch() else name.replace("torch.rvk.", "torch.cuda.")
        name = f"{dtype.__module__}.{dtype.__name__}" if isinstance(dtype, type) else dtype
        if isinstance(name, str) and name.startswith("torch.cuda."):
            say(f'Tensor.type("{name}")', "rvk")
            return original(self, name.replace("torch.cuda.", "torch."), *args, **kwargs).to("rvk")
        return original(self, dtype, *args, **kwargs)

    torch.Tensor.type = call


def _is_cuda_for(cls):
    """Makes x.is_cuda true on rvk when the script asks, but not for PyTorch's own code, which uses it to choose CUDA
    libraries."""
    original = cls.is_cuda

    def is_cuda(self):
        if called_by_torch():
            return original.__get__(self)
        say(f"{cls.__name__}.is_cuda", "true on rvk")
        return self.device.type == "rvk"

    cls.is_cuda = property(is_cuda)


def _is_cuda_in_graphs(module):
    """Makes x.is_cuda true on rvk also where TorchDynamo evaluates it while it compiles a script's code."""
    original = module.TensorVariable.method_attr_is_cuda

    @functools.wraps(original)
    def method_attr_is_cuda(self, tx):
        on_rvk = self.device is not None and self.device.type == "rvk"
        return original(types.SimpleNamespace(device=torch.device("cuda")) if on_rvk else self, tx)

    module.TensorVariable.method_attr_is_cuda = method_attr_is_cuda


def _restore(original_storage, location):
    """Loads a storage that was saved on CUDA, or whose map_location is CUDA, onto rvk."""
    if not location.startswith("cuda"):
        return None
    say("a checkpoint's device cuda", "rvk")
    return original_storage.cpu().rvk(int(location.partition(":")[2] or 0))


def _replace_storages():
    """torch.UntypedStorage(4, device="cuda"), storage.cuda(1), torch.cuda.FloatStorage."""

    def create(cls, *args, **kwargs):
        return torch._C.StorageBase.__new__(cls, *args, **kwargs)

    torch.UntypedStorage.__new__ = map_arguments(create)
    torch.UntypedStorage.cuda = lambda self, device=None, non_blocking=False: self.to(
        device=torch.device(_target(device)), non_blocking=non_blocking
    )
    torch.UntypedStorage.to = map_arguments(torch.UntypedStorage.to)
    for cls in (torch.UntypedStorage, torch.TypedStorage):
        _is_cuda_for(cls)
    device_of_module = storage._get_device_from_module
    storage._get_device_from_module = lambda module: mapped(device_of_module(module))
    serialization.register_package(19, lambda storage: None, _restore)


def _with_device(original):
    """A class that replaces one of PyTorch's C++ classes and maps the device; isinstance() accepts objects of both."""

    class Meta(type(original)):
        def __instancecheck__(cls, instance):
            return isinstance(instance, original) if cls is stand_in else type.__instancecheck__(cls, instance)

        def __subclasscheck__(cls, other):
            return issubclass(other, original) if cls is stand_in else type.__subclasscheck__(cls, other)

    def create(cls, *args, **kwargs):
        return original.__new__(original if cls is stand_in else cls, *args, **kwargs)

    contents = {"__new__": map_arguments(create), "__doc__": original.__doc__, "__module__": "torch"}
    stand_in = Meta(original.__name__, (original,), contents)
    return stand_in


def _replace_generator():
    original = torch.Generator
    torch.Generator = _with_device(original)

    def knows_both(annotations):
        understood = annotations.try_ann_to_type

        @functools.wraps(understood)
        def try_ann_to_type(ann, *args, **kwargs):
            return understood(torch.Generator if ann is original else ann, *args, **kwargs)

        annotations.try_ann_to_type = try_ann_to_type

    def calls_both(builtins):
        builtins._get_builtin_table()[id(torch.Generator)] = "aten::Generator"

    when_imported("torch.jit.annotations", knows_both)
    when_imported("torch.jit._builtins", calls_both)
    torch.Event = _with_device(torch.Event)


def _replace_default_tensor_type():
    original = torch.set_default_tensor_type

    @functools.wraps(original)
    def call(kind):
        name = kind if isinstance(kind, str) else f"{kind.__module__}.{kind.__name__}"
        if not name.startswith("torch.cuda."):
            return original(kind)
        say("set_default_tensor_type(cuda)", 'set_default_device("rvk")')
        torch.set_default_device("rvk")
        return original(name.replace("torch.cuda.", "torch."))

    torch.set_default_tensor_type = call


def _packed_to_rvk(self, device=None, **kwargs):
    return self.to(_target(device), **kwargs)


def _map_accelerator():
    """Makes torch.accelerator accept a CUDA device as one of the current accelerator."""
    from torch.accelerator import _utils, memory

    index = map_arguments(_utils._get_device_index)
    for module in (_utils, memory, torch.accelerator):
        module._get_device_index = index


def _map_fake_tensors(module):
    """Maps the devices of fake tensors, which have no memory; torch.compile and torch.export trace with them."""
    fake = module.FakeTensor
    fake.__new__ = staticmethod(map_arguments(fake.__new__))


def _map_key(key):
    return key.replace("CUDA", "PrivateUse1") if isinstance(key, str) else key


def _without_autocast(kernel):
    """A kernel for AutocastCUDA excludes that key and calls the operator again; on rvk, it must exclude rvk's key."""
    keys = torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastPrivateUse1)

    @functools.wraps(kernel)
    def call(*arguments, **keywords):
        with torch._C._ExcludeDispatchKeyGuard(keys):
            return kernel(*arguments, **keywords)

    return call


def _map_registrations():
    """Maps the operators that a script registers for CUDA."""
    key_of = torch._C._dispatch_key_for_device

    @functools.wraps(key_of)
    def dispatch_key_for_device(device_type):
        return key_of(mapped(device_type))

    torch._C._dispatch_key_for_device = dispatch_key_for_device
    original = torch.library.Library.impl

    @functools.wraps(original)
    def impl(self, op_name, fn, dispatch_key="", **kwargs):
        if not called_by_torch(but_not_by=("torch.library", "torch._library.custom_ops")):
            fn = _without_autocast(fn) if dispatch_key == "AutocastCUDA" else fn
            dispatch_key = _map_key(dispatch_key)
        return original(self, op_name, fn, dispatch_key, **kwargs)

    torch.library.Library.impl = impl


def _map_is_built():
    """Makes torch.backends.cuda.is_built() true for scripts, but not for PyTorch's own code, which would import CUDA's
    functions."""
    original = torch.backends.cuda.is_built

    @functools.wraps(original)
    def is_built():
        if called_by_torch():
            return original()
        say("torch.backends.cuda.is_built", "True")
        return True

    torch.backends.cuda.is_built = is_built


def install():
    torch.ops.rvk.map_cuda_devices()
    torch.cuda._lazy_init = _lazy_init
    torch.Tensor.cuda = _to_rvk(torch.Tensor.cuda)
    for name in ("pin_memory", "is_pinned"):
        setattr(torch.Tensor, name, map_arguments(getattr(torch.Tensor, name)))
    torch.nn.utils.rnn.PackedSequence.cuda = _packed_to_rvk
    _replace_tensor_type()
    _is_cuda_for(torch.Tensor)
    _replace_storages()
    _replace_generator()
    _replace_default_tensor_type()
    _map_is_built()
    _map_accelerator()
    _map_registrations()
    when_imported("torch._subclasses.fake_tensor", _map_fake_tensors)
    when_imported("torch._dynamo.variables.tensor", _is_cuda_in_graphs)
