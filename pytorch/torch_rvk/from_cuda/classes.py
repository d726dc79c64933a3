"""The classes of torch.cuda: streams, events and contexts of rvk, tensor types, device properties."""

import dataclasses
import sys

import torch

from .. import rvk
from ..devices import DeviceProperties, index_of
from ..streams import _DEVICE_TYPE
from .devices import mapped
from .report import say, stop

CAPABILITY = (8, 0)
_PLAIN_EVENT = type(torch.Event(device="cpu"))

_TENSOR_DTYPES = {
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


def replace(name, new):
    """Replaces torch.cuda.NAME, also in the submodules of torch.cuda that export it."""
    original = getattr(torch.cuda, name)
    for module_name, module in list(sys.modules.items()):
        if module_name.partition(".cuda")[0] == "torch" and getattr(module, name, None) is original:
            setattr(module, name, new)


def named_like(original):
    """A decorator that gives a class the name, module and docstring of the class that it replaces."""

    def decorate(cls):
        cls.__name__, cls.__qualname__ = original.__name__, original.__qualname__
        cls.__module__, cls.__doc__ = original.__module__, original.__doc__
        return cls

    return decorate


class _OfRvk(type(torch.Stream)):
    """isinstance() also holds for PyTorch's own streams and events of the device."""

    def __instancecheck__(cls, instance):
        if type.__instancecheck__(cls, instance):
            return True
        return cls.stands_for_all and isinstance(instance, cls.__mro__[1]) and _is_on_rvk(instance)


def _is_on_rvk(instance):
    return instance.device is not None and instance.device.type == "rvk"


@named_like(torch.cuda.Stream)
class Stream(torch.Stream, metaclass=_OfRvk):
    stands_for_all = True

    def __init_subclass__(cls):
        cls.stands_for_all = False

    def __new__(cls, device=None, priority=0, **numbers):
        say("torch.cuda.Stream", "torch.rvk.Stream")
        if "stream_ptr" in numbers:
            stop("torch.cuda.Stream(stream_ptr=…)", "there are no CUDA streams")
        if numbers:
            return super().__new__(cls, **numbers)
        return super().__new__(cls, device=torch.device("rvk", index_of(mapped(device))), priority=priority)

    @staticmethod
    def priority_range():
        return 0, 0  # all streams have the same priority

    @property
    def cuda_stream(self):
        return self.stream_id

    def record_event(self, event=None):
        event = Event() if event is None else event
        event.record(self)
        return event

    def wait_stream(self, stream):
        self.wait_event(stream.record_event())

    def __eq__(self, other):
        return isinstance(other, torch.Stream) and super().__eq__(other)

    def __hash__(self):
        return super().__hash__()

    def __repr__(self):
        return f"<torch.cuda.Stream device={self.device} cuda_stream={self.cuda_stream:#x}>"


@named_like(torch.cuda.Event)
class Event(_PLAIN_EVENT, metaclass=_OfRvk):
    stands_for_all = True

    def __init_subclass__(cls):
        cls.stands_for_all = False

    def __new__(cls, enable_timing=False, blocking=False, interprocess=False, external=False):
        say("torch.cuda.Event", "torch.rvk.Event")
        if interprocess:
            stop("torch.cuda.Event(interprocess=True)", "Vulkan's events cannot be shared between processes")
        # elapsed_time() takes only objects whose type is PyTorch's own class.
        kind = _PLAIN_EVENT if cls is Event else cls
        return _PLAIN_EVENT.__new__(kind, device="rvk", enable_timing=enable_timing, blocking=blocking)


@named_like(torch.cuda.device)
class device(rvk.device):
    def __init__(self, device):
        say("torch.cuda.device", "torch.rvk.device")
        super().__init__(mapped(device))


@named_like(torch.cuda.device_of)
class device_of(device):
    def __init__(self, obj):
        super().__init__(obj.device.index if obj.device.type == "rvk" else None)


@named_like(torch.cuda.StreamContext)
class StreamContext(rvk.StreamContext):
    def __init__(self, stream):
        say("torch.cuda.StreamContext", "torch.rvk.StreamContext")
        super().__init__(stream)


def as_cuda_stream(stream):
    """The stream as an object of torch.cuda.Stream, which has cuda_stream."""
    return Stream(stream_id=stream.stream_id, device_index=stream.device_index, device_type=_DEVICE_TYPE)


@dataclasses.dataclass(frozen=True)
class CudaDeviceProperties(DeviceProperties):
    """torch.rvk's properties under CUDA's names. major and minor are those of CAPABILITY, because scripts choose features by
    them. A property that Vulkan does not report raises an AttributeError."""

    gcnArchName: str
    shared_memory_per_block_optin: int
    shared_memory_per_multiprocessor: int
    max_threads_per_multi_processor: int
    is_multi_gpu_board: int

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        raise AttributeError(f"Vulkan does not report {name} of {self.name}.")


def cuda_properties(device=None):
    known = rvk.get_device_properties(device)
    major, minor = CAPABILITY
    return CudaDeviceProperties(
        **dataclasses.asdict(known) | {"major": major, "minor": minor},
        gcnArchName=known.name,
        # Vulkan reports limits of one workgroup; a compute unit holds at least one.
        shared_memory_per_block_optin=known.shared_memory_per_block,
        shared_memory_per_multiprocessor=known.shared_memory_per_block,
        max_threads_per_multi_processor=known.max_threads_per_block,
        is_multi_gpu_board=0,
    )


class TensorType(type):
    """The type of torch.cuda.FloatTensor and its kin, which create tensors and are used with isinstance()."""

    def __call__(cls, *arguments, **keywords):
        say(f"{cls.__module__}.{cls.__name__}", f"{cls.on_cpu.__module__}.{cls.__name__} on rvk")
        arguments = [value.cpu() if isinstance(value, torch.Tensor) else value for value in arguments]
        return cls.on_cpu(*arguments, **keywords).to("rvk")

    def __instancecheck__(cls, instance):
        return (
            isinstance(instance, torch.Tensor)
            and instance.device.type == "rvk"
            and (instance.dtype, instance.layout) == (cls.dtype, cls.layout)
        )


def _tensor_type(module, name, on_cpu, layout):
    contents = {
        "dtype": _TENSOR_DTYPES[name],
        "layout": layout,
        "is_cuda": True,
        "is_sparse": layout == torch.sparse_coo,
        "on_cpu": on_cpu,
        "__module__": module,
    }
    return TensorType(name, (), contents)


def _install_tensor_types():
    for name in _TENSOR_DTYPES:
        setattr(torch.cuda, name, _tensor_type("torch.cuda", name, getattr(torch, name), torch.strided))
        if hasattr(torch.cuda.sparse, name):
            sparse = _tensor_type("torch.cuda.sparse", name, getattr(torch.sparse, name), torch.sparse_coo)
            setattr(torch.cuda.sparse, name, sparse)


def install():
    for cls in (Stream, Event, device, device_of, StreamContext):
        replace(cls.__name__, cls)
    replace("_CudaDeviceProperties", CudaDeviceProperties)
    _install_tensor_types()
