"""PyTorch's device rvk: any GPU with a Vulkan driver.

Importing torch imports this package (the entry point below) and the package registers the device, so that
`torch.device("rvk")` and the module `torch.rvk` are there. It never makes an import fail: where the device cannot be
registered, a warning says why and what to do. TORCH_DEVICE_BACKEND_AUTOLOAD=0 turns the automatic import off;
`import torch_rvk` then does the same.

Where PyTorch can use CUDA or ROCm, only `import torch_rvk` registers the device: autograd follows one kind of
accelerator in a process, and that would no longer be the one that the program was written for.
"""

import sys


def _autoload():
    """The entry point of the group torch.backends, which PyTorch calls at the end of `import torch`."""
    if not _imported_by_torch:
        return  # `import torch_rvk` imported torch, and registers when that is done
    reason = registration.why_not_unasked()
    if reason is None:
        _register()
        return
    warnings.warn(reason, stacklevel=2)
    for name in [name for name in sys.modules if name.partition(".")[0] == __name__]:
        del sys.modules[name]  # so that a later `import torch_rvk` registers


_imported_by_torch = "torch" in sys.modules and sys.modules["torch"].__spec__._initializing

# What needs torch comes after: `import torch_rvk` imports torch, which looks for the entry point in this half-made module.
import warnings  # noqa: E402

from . import registration  # noqa: E402
from .library import LibraryNotUsable  # noqa: E402


def _register():
    try:
        registration.register()
    except LibraryNotUsable as problem:
        warnings.warn(f"The device rvk is not available: {problem}", stacklevel=3)


if not _imported_by_torch:
    _register()
