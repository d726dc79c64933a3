"""nn.DataParallel on rvk devices, and the functions of torch.nn.parallel.comm that it calls. Only CUDA and ROCm builds of
PyTorch have these functions, for CUDA tensors; wrappers there handle rvk tensors first. If PyTorch can use a CUDA device,
DataParallel uses the kind of device that the module is on."""

import contextvars
import functools
import itertools
import sys

import torch

from .library import NAME


#: Whether DataParallel or data_parallel is running for a module on rvk.
_FOR_RVK = contextvars.ContextVar("for_rvk", default=False)


def _device(index):
    return torch.device("cpu") if index == -1 else torch.device(NAME, torch.accelerator.current_device_index() if index is None else index)


def _broadcast(tensor, devices):
    return [tensor.to(_device(index)) for index in devices]


def _broadcast_out(tensor, out):
    for target in out:
        target.copy_(tensor)
    return out


def _broadcast_coalesced(tensors, devices, buffer_size):
    flat = {}  # one tensor with all elements of each dtype, so that a device gets few large copies
    if any(_device(index) != tensor.device for index in devices for tensor in tensors):
        for dtype in {tensor.dtype for tensor in tensors}:
            flat[dtype] = torch.cat([tensor.reshape(-1) for tensor in tensors if tensor.dtype == dtype])
    return [_broadcast_to(tensors, flat, _device(index)) for index in devices]


def _broadcast_to(tensors, flat, device):
    if all(tensor.device == device for tensor in tensors):
        return list(tensors)
    parts = {}
    for dtype, all_of_dtype in flat.items():
        sizes = [tensor.numel() for tensor in tensors if tensor.dtype == dtype]
        parts[dtype] = iter(all_of_dtype.to(device).split(sizes))
    # .data: the copies share memory, but each has its own version counter, as autograd requires.
    return [next(parts[tensor.dtype]).view(tensor.shape).data for tensor in tensors]


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


def _is_ours(tensors):
    """Whether rvk handles a tensor or a sequence of tensors. CPU tensors go to the devices of the running module;
    without one, to CUDA devices if there are any."""
    kinds = {tensor.device.type for tensor in ([tensors] if isinstance(tensors, torch.Tensor) else tensors)}
    return NAME in kinds or (kinds <= {"cpu"} and (_FOR_RVK.get() or not torch.cuda.is_available()))


def _in_front_of(theirs, ours, decides, is_ours=_is_ours):
    """A function that calls `ours` or `theirs`, depending on the tensors in argument number `decides`."""

    @functools.wraps(ours)
    def call(*arguments):
        return (ours if is_ours(arguments[decides]) else theirs)(*arguments)

    return call


def _kind_of_devices(theirs):
    """Makes DataParallel number rvk devices while a module on rvk runs; otherwise PyTorch decides, and prefers CUDA."""

    @functools.wraps(theirs)
    def _get_available_device_type():
        return NAME if _FOR_RVK.get() else theirs()

    return _get_available_device_type


def _following(function, module_number, is_ours):
    """Wraps a function of DataParallel so that the tensors of its module, the argument `module_number`, decide."""

    @functools.wraps(function)
    def call(*arguments, **keywords):
        module = arguments[module_number] if len(arguments) > module_number else keywords["module"]
        token = _FOR_RVK.set(is_ours([*itertools.chain(module.parameters(), module.buffers())]))
        try:
            return function(*arguments, **keywords)
        finally:
            _FOR_RVK.reset(token)

    return call


#: Each function, and the number of the argument whose device decides: targets, if there are any.
_FUNCTIONS = (
    (_broadcast, 0),
    (_broadcast_out, 1),
    (_broadcast_coalesced, 0),
    (_scatter, 0),
    (_scatter_out, 1),
    (_gather, 0),
    (_gather_out, 1),
)


def install(is_ours=_is_ours):
    """Installs the functions; `is_ours` decides for which tensors they are used."""
    for ours, decides in _FUNCTIONS:
        theirs = getattr(torch._C, ours.__name__, None)
        setattr(torch._C, ours.__name__, ours if theirs is None else _in_front_of(theirs, ours, decides, is_ours))
    theirs = sys.modules[torch.nn.DataParallel.__module__]
    for module in torch._utils, theirs:
        module._get_available_device_type = _kind_of_devices(module._get_available_device_type)
    for name, module_number in ("__init__", 1), ("forward", 0):
        function = getattr(torch.nn.DataParallel, name)
        setattr(torch.nn.DataParallel, name, _following(function, module_number, is_ours))
    theirs.data_parallel = torch.nn.parallel.data_parallel = _following(theirs.data_parallel, 0, is_ours)
