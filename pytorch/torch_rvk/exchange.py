"""Exchanges rvk tensors with other processes, DLPack and safetensors files."""

import io
from multiprocessing.reduction import ForkingPickler

import torch
from torch.multiprocessing import reductions

from .imports import when_imported
from .library import NAME

_reduce_storage_of_cpu = reductions.reduce_storage
_share_memory_of_cpu = torch.UntypedStorage.share_memory_
_is_shared_on_cpu = torch.UntypedStorage.is_shared
_byteswap_on_cpu = torch.UntypedStorage.byteswap
_dlpack_device_of_others = torch.Tensor.__dlpack_device__


def _load_storage(file):
    return torch.load(io.BytesIO(file), weights_only=True).untyped_storage()


def _reduce_storage(storage):
    """Pickles a storage for another process (through a queue, a pipe or as an argument): a copy of its values is sent,
    as in a file, and placed on the same device there. Vulkan memory itself stays in its process."""
    if storage.device.type != NAME:
        return _reduce_storage_of_cpu(storage)
    file = io.BytesIO()
    torch.save(torch.empty(0, dtype=torch.uint8, device=storage.device).set_(storage), file)
    return _load_storage, (file.getvalue(),)


def _share_memory(self, *args, **kwargs):
    if self.device.type != NAME:
        return _share_memory_of_cpu(self, *args, **kwargs)
    raise RuntimeError(
        "The memory of rvk tensors cannot be shared between processes: share tensors on the CPU, tensor.cpu().share_memory_(), "
        "or send rvk tensors through a queue, which copies them."
    )


def _is_shared(self):
    return self.device.type != NAME and _is_shared_on_cpu(self)


def _byteswap(self, dtype):
    if self.device.type != NAME:
        return _byteswap_on_cpu(self, dtype)
    raise RuntimeError("Bytes can only be swapped on the CPU: use storage.cpu().byteswap(dtype).")


def _dlpack_device(self):
    if self.device.type != NAME:
        return _dlpack_device_of_others(self)
    from torch.utils.dlpack import DLDeviceType

    return DLDeviceType.kDLExtDev, self.device.index


def _number_of(device):
    """The device's index, which safetensors passes to PyTorch unchanged; safetensors does not know the name rvk."""
    if isinstance(device, torch.device) or (isinstance(device, str) and device.partition(":")[0] == NAME):
        device = torch.device(device)
        if device.type != NAME:
            return str(device)
        return torch.accelerator.current_device_index() if device.index is None else device.index
    return device


def _know_device_in_safetensors(safetensors):
    original = safetensors.safe_open

    class Meta(type):
        def __instancecheck__(cls, instance):
            return isinstance(instance, original)

    def __new__(cls, filename, framework, device="cpu", *args, **kwargs):
        return original(filename, framework, _number_of(device), *args, **kwargs)

    safetensors.safe_open = Meta(
        "safe_open", (), {"__new__": __new__, "__module__": original.__module__, "__doc__": original.__doc__}
    )


def install():
    ForkingPickler.register(torch.UntypedStorage, _reduce_storage)
    torch.UntypedStorage.share_memory_ = _share_memory
    torch.UntypedStorage.is_shared = _is_shared
    torch.UntypedStorage.byteswap = _byteswap
    torch.Tensor.__dlpack_device__ = _dlpack_device
    when_imported("safetensors", _know_device_in_safetensors)
