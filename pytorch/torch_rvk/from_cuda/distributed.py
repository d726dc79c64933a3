"""Lets scripts that ask torch.distributed for NCCL use the backend rvk."""

import functools
import sys
import zlib

import torch

from ..distributed import replace
from ..library import NAME
from .devices import mapped
from .report import say


def _backend(name):
    """Replaces nccl in a backend's name or in a list such as "cpu:gloo,cuda:nccl"."""
    if name is None or "nccl" not in str(name).lower():
        return name
    say("torch.distributed's backend nccl", "the backend rvk")
    text = str(name).lower()
    return NAME if text == "nccl" else text.replace("cuda:nccl", f"{NAME}:{NAME}").replace("nccl", NAME)


def _mapping(position, name, change, **others):
    """Returns a decorator that passes an argument through `change`, whether it is given by position or by name, and the
    keyword arguments in `others` through their functions."""

    def wrap(original):
        def call(*arguments, **keywords):
            arguments = list(arguments)
            if len(arguments) > position:
                arguments[position] = change(arguments[position])
            for key, each in {name: change, **others}.items():
                if key in keywords:
                    keywords[key] = each(keywords[key])
            return original(*arguments, **keywords)

        return call

    return wrap


def _device(device):
    return torch.device(NAME, device) if isinstance(device, int) else mapped(device)


def _named_nccl(original):
    """Reports rvk as "nccl", because scripts compare the name."""

    def call(*arguments, **keywords):
        name = original(*arguments, **keywords)
        return "nccl" if name == NAME else name

    return call


def _map_meshes(module):
    """Creates a mesh of "cuda" with the device type rvk, because that is the device of the tensors."""
    mesh = module.DeviceMesh
    mesh.__init__ = functools.wraps(mesh.__init__)(_mapping(1, "device_type", mapped)(mesh.__init__))
    mesh.from_group = staticmethod(functools.wraps(mesh.from_group)(_mapping(1, "device_type", mapped)(mesh.from_group)))
    replace("init_device_mesh", _mapping(0, "device_type", mapped))


def _hash(tensors):
    """Replaces PyTorch's function, which reads the tensors with CUDA. With TORCH_DISTRIBUTED_DEBUG=DETAIL, PyTorch logs the hashes of
    pickled objects that it sends with NCCL."""
    # PyTorch resizes these tensors later, which it cannot do after numpy(), so numpy() gets copies. The checksum is the same in all
    # processes; Python's own hash of bytes is not.
    return zlib.crc32(b"".join(tensor.to("cpu", copy=True).numpy().tobytes() for tensor in tensors))


def install():
    distributed = torch.distributed
    if not distributed.is_available():
        return
    for name, position in ("init_process_group", 0), ("new_group", 2):
        replace(name, _mapping(position, "backend", _backend, device_id=_device))
    replace("get_backend", _named_nccl)
    replace("get_default_backend_for_device", lambda original: _named_nccl(_mapping(0, "device", mapped)(original)))
    distributed.is_nccl_available = lambda: True  # only for scripts: PyTorch's modules keep the original
    if hasattr(torch._C._distributed_c10d, "_hash_tensors"):  # in builds with NCCL
        torch._C._distributed_c10d._hash_tensors = _hash
    _map_meshes(sys.modules["torch.distributed.device_mesh"])
