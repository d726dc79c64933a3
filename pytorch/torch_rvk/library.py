"""Chooses and loads libtorch_rvk.so: the package has one for each minor version of PyTorch, torch2.13/libtorch_rvk.so."""

import ctypes
import os
import re
import warnings

import torch

from . import trial
from .versions import NEWEST, OLDEST, TESTED, in_words, minor_version

NAME = "rvk"
_UNNAMED = "privateuseone"
_FILE = "libtorch_rvk.so"
_PACKAGE = os.path.dirname(os.path.abspath(__file__))


class LibraryNotUsable(Exception):
    """One sentence that says what to do."""


def _check_slot():
    taken_by = torch._C._get_privateuse1_backend_name()
    if taken_by != _UNNAMED:
        raise LibraryNotUsable(
            f"PyTorch has a slot for only one device of this kind and '{taken_by}' has taken it; "
            f"to use torch-rvk, uninstall that package or do not import it."
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


def built_for(package):
    """The minor versions of PyTorch for which the package has a library, oldest first: [(2, 11), (2, 12)]."""
    names = [re.fullmatch(r"torch(\d+)\.(\d+)", name) for name in os.listdir(package)]
    versions = [(int(name[1]), int(name[2])) for name in names if name]
    return sorted(version for version in versions if os.path.isfile(path_of(package, version)))


def path_of(package, version):
    return os.path.join(package, f"torch{in_words(version)}", _FILE)


def choose(versions, torch_version, try_newest):
    """Which of these minor versions' libraries to load into this PyTorch, and a warning or None.

    A library for exactly this minor version is loaded if it was tested with it. Otherwise try_newest(candidates) tries
    the candidates, newest first, and returns a trial.Result. Raises LibraryNotUsable.
    """
    this = minor_version(torch_version)
    if this in versions and this <= NEWEST:
        return this, None
    if this < OLDEST:
        raise LibraryNotUsable(
            f"torch-rvk needs PyTorch {in_words(OLDEST)} or newer, but this is {torch_version}: "
            f"pip install 'torch>={in_words(OLDEST)}'"
        )
    result = try_newest([this] if this in versions else versions[::-1])
    has = f"torch-rvk has libraries for PyTorch {_listed(versions)}"
    if result.version is None:
        raise LibraryNotUsable(f"{has}, but this is {torch_version}, and {result.reason}; {_advice(this)}.")
    if result.version == this:
        return this, f"torch-rvk is tested with PyTorch {TESTED}; with {torch_version} it passed only its own short check."
    return result.version, (
        f"{has}, but this is {torch_version}: the library for {in_words(result.version)} passed a short check with it "
        f"and is used; {_advice(this)}."
    )


def _listed(versions):
    words = [in_words(version) for version in versions]
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]


def _advice(this):
    if OLDEST <= this <= NEWEST:
        return (
            "install the wheel for all versions, or rebuild for this one: "
            "pip install --force-reinstall --no-deps /path/to/rekindle"
        )
    return f"look for a newer release of torch-rvk, or install PyTorch {in_words(NEWEST)}"


def load():
    """Loads the library into this process; raises LibraryNotUsable if that cannot work."""
    versions = built_for(_PACKAGE)
    if not versions:
        raise LibraryNotUsable(
            f"{_PACKAGE} has no folder torch{in_words(minor_version(torch.__version__))} with {_FILE}: "
            "this is the source tree, not an installed package; run `pip install .` in the repository's root."
        )
    _check_slot()
    _check_loader()
    if trial.is_running():
        _load_newest(trial.candidates())
        return
    version, warning = choose(versions, torch.__version__, lambda candidates: trial.run(_PACKAGE, candidates))
    if warning:
        warnings.warn(warning, stacklevel=2)
    path = path_of(_PACKAGE, version)
    try:
        torch.ops.load_library(path)
    except OSError as problem:
        raise LibraryNotUsable(f"{path} does not load ({problem}); reinstall torch-rvk.") from problem


def _load_newest(versions):
    """Loads the first of these libraries that the dynamic linker accepts; a library that it refuses has no effect."""
    for version in versions:
        try:
            torch.ops.load_library(path_of(_PACKAGE, version))
            return
        except OSError:
            pass
    raise LibraryNotUsable("none of them loads into it")
