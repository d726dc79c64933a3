"""torch.distributed with NCCL: the backend rvk under NCCL's name. CPU tensors go to Gloo."""

import functools
import sys

import torch

from ..distributed import replace
from ..library import NAME
from .devices import mapped
from .report import say


def _backend(name):
    """The backend for a name or a list such as "cpu:gloo,cuda:nccl"."""
    if name is None or "nccl" not in str(name).lower():
        return name
    say("torch.distributed's backend nccl", "the backend rvk")
    text = str(name).lower()
    return NAME if text == "nccl" else text.replace("cuda:nccl", f"{NAME}:{NAME}").replace("nccl", NAME)


def _with_backend(position):
    """Maps the backend, which has this position among the arguments, and devices; drops options for NCCL."""

    def wrap(original):
        def call(*arguments, **keywords):
            arguments = list(arguments)
            if len(arguments) > position:
                arguments[position] = _backend(arguments[position])
            elif "backend" in keywords:
                keywords["backend"] = _backend(keywords["backend"])
            if "device_id" in keywords:
                keywords["device_id"] = _device(keywords["device_id"])
            return original(*arguments, **keywords)

        return call

    return wrap


def _device(device):
    return torch.device(NAME, device) if isinstance(device, int) else mapped(device)


def _named_nccl(original):
    """Scripts compare the name with "nccl"."""

    def get_backend(*arguments, **keywords):
        name = original(*arguments, **keywords)
        return "nccl" if name == NAME else name

    return get_backend


def _for_device(original):
    def get_default_backend_for_device(device):
        return original(mapped(device))

    return get_default_backend_for_device


def _map_meshes(module):
    """A mesh of "cuda" has the devices of rvk, which the tensors are on."""
    mesh = module.DeviceMesh
    mesh.__init__ = functools.wraps(mesh.__init__)(_with_mapped(mesh.__init__, 1))
    mesh.from_group = staticmethod(functools.wraps(mesh.from_group)(_with_mapped(mesh.from_group, 1)))
    replace("init_device_mesh", lambda original: _with_mapped(original, 0))


def _with_mapped(original, position):
    def call(*arguments, **keywords):
        arguments = list(arguments)
        if len(arguments) > position:
            arguments[position] = mapped(arguments[position])
        if "device_type" in keywords:
            keywords["device_type"] = mapped(keywords["device_type"])
        return original(*arguments, **keywords)

    return call


def install():
    distributed = torch.distributed
    if not distributed.is_available():
        return
    for name, position in ("init_process_group", 0), ("new_group", 2):
        replace(name, _with_backend(position))
    replace("get_backend", _named_nccl)
    replace("get_default_backend_for_device", _for_device)
    distributed.is_nccl_available = lambda: True  # PyTorch's own modules keep the function that tells about NCCL itself
    _map_meshes(sys.modules["torch.distributed.device_mesh"])
