"""The PyTorch device rvk: any GPU with a Vulkan driver.

Importing torch imports this package (the entry point below), which registers the device, so that `torch.device("rvk")`
and the module `torch.rvk` exist. It never makes an import fail: if the device cannot be registered, a warning says why
and what to do. TORCH_DEVICE_BACKEND_AUTOLOAD=0 turns the automatic import off; `import torch_rvk` then registers the
device.

If PyTorch can use CUDA or ROCm, only `import torch_rvk` registers the device: autograd supports one kind of accelerator
per process, and that would no longer be the one that the program was written for.
"""

import sys


def _autoload():
    """The entry point in the group torch.backends, which PyTorch calls at the end of `import torch`."""
    if not _imported_by_torch:
        return  # `import torch_rvk` imported torch, and registers the device afterwards
    reason = registration.why_not_unasked()
    if reason is None:
        _register()
        return
    warnings.warn(reason, stacklevel=2)
    for name in [name for name in sys.modules if name.partition(".")[0] == __name__]:
        del sys.modules[name]  # so that a later `import torch_rvk` registers the device


_imported_by_torch = "torch" in sys.modules and sys.modules["torch"].__spec__._initializing

# These imports need torch, so they come last: `import torch_rvk` imports torch, which looks for the entry point in this
# partially initialized module.
import warnings  # noqa: E402

from . import registration  # noqa: E402
from .library import LibraryNotUsable  # noqa: E402


def _register():
    try:
        registration.register()
    except LibraryNotUsable as problem:
        # `python -m torch_rvk` imports this package before it runs __main__, which prints the reason.
        if sys.argv[:1] != ["-m"] or __name__ not in sys.orig_argv:
            warnings.warn(f"The device rvk is not available: {problem}", stacklevel=3)


if not _imported_by_torch:
    _register()
