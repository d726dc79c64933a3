"""Loads libtorch_rvk.so, after checking for what would make that fail."""

import ctypes
import os

import torch

NAME = "rvk"
_UNNAMED = "privateuseone"


class LibraryNotUsable(Exception):
    """One sentence that says what to do."""


def _check_slot():
    taken_by = torch._C._get_privateuse1_backend_name()
    if taken_by != _UNNAMED:
        raise LibraryNotUsable(
            f"PyTorch has a slot for only one device of this kind and '{taken_by}' has taken it; "
            f"to use torch-rvk, uninstall that package or do not import it."
        )


def _minor_version(version):
    return tuple(version.split("+")[0].split(".")[:2])


def _check_torch_version():
    from . import build_info

    if _minor_version(build_info.TORCH_VERSION) != _minor_version(torch.__version__):
        raise LibraryNotUsable(
            f"torch-rvk was built for PyTorch {build_info.TORCH_VERSION}, but this is {torch.__version__}; "
            "rebuild it for this version: pip install --force-reinstall --no-deps /path/to/rekindle"
        )


def _check_loader():
    for name in ("libvulkan.so.1", "libvulkan.so"):
        try:
            ctypes.CDLL(name)
            return
        except OSError:
            pass
    raise LibraryNotUsable(
        "there is no Vulkan loader (libvulkan.so.1); install it together with a driver; "
        "on Debian and Ubuntu: apt install libvulkan1 mesa-vulkan-drivers"
    )


def load():
    """Loads the library into this process; raises LibraryNotUsable if that cannot work."""
    path = os.path.join(os.path.dirname(__file__), "libtorch_rvk.so")
    if not os.path.isfile(path):
        raise LibraryNotUsable(
            f"{path} does not exist: this is the source tree, not an installed package; "
            "run `pip install .` in the repository's root."
        )
    _check_slot()
    _check_torch_version()
    _check_loader()
    try:
        torch.ops.load_library(path)
    except OSError as problem:
        raise LibraryNotUsable(f"{path} does not load ({problem}); reinstall torch-rvk.") from problem
