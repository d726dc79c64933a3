"""PyTorch's device rvk: any GPU with a Vulkan driver.

Importing torch imports this package (the entry point below) and the package registers the device, so that
`torch.device("rvk")` and the module `torch.rvk` are there. It never makes an import fail: where the device cannot be
registered, a warning says why and what to do. TORCH_DEVICE_BACKEND_AUTOLOAD=0 turns the automatic import off;
`import torch_rvk` then does the same.
"""


def _autoload():
    """The entry point of the group torch.backends. The work is done by the import of the package, once."""


# _autoload comes first: `import torch_rvk` imports torch, which looks for the entry point in this half-made module.
import warnings  # noqa: E402

from . import registration  # noqa: E402
from .library import LibraryNotUsable  # noqa: E402

try:
    registration.register()
except LibraryNotUsable as problem:
    warnings.warn(f"The device rvk is not available: {problem}", stacklevel=2)
