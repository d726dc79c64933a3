"""The functions that nn.DataParallel and torch.nn.parallel.comm call; PyTorch has them only in its CUDA builds."""

import torch

from .library import NAME


def _device(index):
    return torch.device("cpu") if index == -1 else torch.device(NAME, torch.accelerator.current_device_index() if index is None else index)


def _broadcast(tensor, devices):
    return [tensor.to(_device(index)) for index in devices]


def _broadcast_out(tensor, out):
    for target in out:
        target.copy_(tensor)
    return out


def _broadcast_coalesced(tensors, devices, buffer_size):
    return [_broadcast_to(tensors, index) for index in devices]


def _broadcast_to(tensors, index):
    return [tensor.to(_device(index)) for tensor in tensors]


def _chunks(tensor, count, sizes, dim):
    return tensor.chunk(count, dim) if sizes is None else tensor.split(list(sizes), dim)


def _scatter(tensor, devices, chunk_sizes, dim, streams=None):
    chunks = _chunks(tensor, len(devices), chunk_sizes, dim)
    return [chunk.to(_device(index)) for chunk, index in zip(chunks, devices)]


def _scatter_out(tensor, out, dim, streams=None):
    for target, chunk in zip(out, tensor.split([target.size(dim) for target in out], dim)):
        target.copy_(chunk)
    return out


def _gather(tensors, dim, destination):
    return torch.cat([tensor.to(_device(destination)) for tensor in tensors], dim)


def _gather_out(tensors, out, dim):
    return out.copy_(torch.cat([tensor.to(out.device) for tensor in tensors], dim))


def install():
    if hasattr(torch._C, "_scatter"):
        return  # a CUDA build, whose functions work with CUDA devices
    for function in (_broadcast, _broadcast_out, _broadcast_coalesced, _scatter, _scatter_out, _gather, _gather_out):
        setattr(torch._C, function.__name__, function)
