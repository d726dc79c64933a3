"""Makes the device known to PyTorch: its library, its name, the module torch.rvk, Tensor.rvk() and Module.rvk()."""

import atexit
import os
import time

import torch

from . import compiler, data_parallel, exchange, library

_registered = False


def _finish():
    """Work that is still queued ends before the interpreter does, and compiled pipelines are kept on disk.

    PyTorch's thread for backward() may still want the interpreter's lock for a moment after the last gradient; without
    the pause the interpreter's end then aborts the process ("terminate called without an active exception").
    """
    if torch.ops.rvk.is_initialized():
        torch.ops.rvk.finish()
        time.sleep(0.002)


def is_registered():
    return _registered


def why_not_unasked():
    """Why `import torch` alone should not register the device; None where it should."""
    asked = "1" in (os.environ.get("TORCH_DEVICE_BACKEND_AUTOLOAD"), os.environ.get("TORCH_RVK_FROM_CUDA"))
    if asked or not (torch.version.cuda or torch.version.hip):
        return None
    kind = "CUDA" if torch.version.cuda else "ROCm"
    count = torch.cuda.device_count()
    if count == 0:
        return None
    return (
        f"The device rvk is left out, because this PyTorch can use {kind} ({count} devices) and its backward passes follow "
        "one kind of accelerator in a process. To train on rvk: `import torch_rvk`, or TORCH_DEVICE_BACKEND_AUTOLOAD=1 in the "
        "environment; 0 there silences this."
    )


def register():
    """Does it once; LibraryNotUsable where the device cannot be used."""
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
    for part in (exchange, data_parallel, compiler):
        part.install()
    atexit.register(_finish)
    if os.environ.get("TORCH_RVK_FROM_CUDA") == "1":  # this process runs a script of torch_rvk.run
        from . import from_cuda

        from_cuda.install()
