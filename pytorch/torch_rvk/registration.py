"""Registers the device with PyTorch: its library, its name, the module torch.rvk, Tensor.rvk() and Module.rvk()."""

import os
import time

import torch

from . import compiler, data_parallel, distributed, exchange, fake_tensors, frameworks, library
from .at_exit import at_exit
from .switches import switched_on

_registered = False


def _finish():
    """Finishes queued work before the process ends, and saves compiled pipelines to disk.

    PyTorch's thread for backward() may still need the interpreter's lock for a moment after the last gradient; without
    the pause, the interpreter's exit can abort the process ("terminate called without an active exception").
    """
    if torch.ops.rvk.is_initialized():
        torch.ops.rvk.finish()
        time.sleep(0.002)


def is_registered():
    return _registered


def why_not_unasked():
    """Why `import torch` alone should not register the device; None if it should."""
    # PyTorch's own variable has only the values 0 and 1.
    asked = os.environ.get("TORCH_DEVICE_BACKEND_AUTOLOAD") == "1" or switched_on("TORCH_RVK_FROM_CUDA")
    if asked or not (torch.version.cuda or torch.version.hip):
        return None
    kind = "CUDA" if torch.version.cuda else "ROCm"
    count = torch.cuda.device_count()
    if count == 0:
        return None
    return (
        f"The device rvk was not registered, because this PyTorch can use {kind} ({count} "
        f"device{'' if count == 1 else 's'}) and its backward passes support one kind of accelerator per process. "
        "To train on rvk, use `import torch_rvk` or set TORCH_DEVICE_BACKEND_AUTOLOAD=1 in the environment; 0 "
        "silences this warning."
    )


def register():
    """Registers the device once; raises LibraryNotUsable if it cannot be used."""
    global _registered
    if _registered:
        return
    library.load()
    _registered = True
    from . import rvk

    torch.utils.rename_privateuse1_backend(library.NAME)
    torch._register_device_module(library.NAME, rvk)
    torch.utils.generate_methods_for_privateuse1_backend(
        for_tensor=True, for_module=True, for_packed_sequence=True, for_storage=True
    )
    for part in (exchange, data_parallel, distributed, compiler, fake_tensors, frameworks):
        part.install()
    at_exit(_finish)
    if switched_on("TORCH_RVK_FROM_CUDA"):  # this process runs a script of torch_rvk.run
        from . import from_cuda

        from_cuda.install()
