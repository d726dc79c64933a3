"""Finds an installed PyTorch and its version without importing it.

    python3 torch_location.py [VERSION.PY'S FOLDER…]

prints the folder `torch` of the interpreter that runs it, or one sentence on standard error (exit status 1).
"""

import importlib.machinery
import os
import re
import sys

OLDEST = (2, 11)
NEWEST = (2, 13)
SUPPORTED = "2.11 to 2.13"
# The version that the tests run with.
RECOMMENDED = "2.13.0"
CPU_WHEEL = f"pip install torch=={RECOMMENDED} --index-url https://download.pytorch.org/whl/cpu"


class TorchNotUsable(Exception):
    """One sentence that says what to do."""


def version_of(folder):
    """The version in FOLDER/version.py: '2.13.0+cpu'."""
    with open(os.path.join(folder, "version.py"), encoding="utf-8") as file:
        match = re.search(r"^__version__\s*=\s*['\"]([^'\"]+)['\"]", file.read(), re.MULTILINE)
    if match is None:
        raise TorchNotUsable(f"{folder}/version.py names no version; install PyTorch again: {CPU_WHEEL}")
    return match.group(1)


def minor_version(version):
    """(2, 13) of '2.13.0+cpu'."""
    major, minor = re.match(r"(\d+)\.(\d+)", version).groups()
    return int(major), int(minor)


def find(search_path):
    """The folder of the first PyTorch on search_path, a list like sys.path."""
    for entry in search_path:
        # The finder of the path alone: packages that hook into imports are not asked.
        spec = importlib.machinery.PathFinder.find_spec("torch", [entry or os.getcwd()])
        for folder in (spec.submodule_search_locations or []) if spec else []:
            if os.path.isfile(os.path.join(folder, "version.py")):
                return folder
    raise TorchNotUsable(
        f"torch-rvk is built for an installed PyTorch ({SUPPORTED}) and {sys.executable} has none; install one first: {CPU_WHEEL}"
    )


def check(folder):
    """The version of the PyTorch in folder; TorchNotUsable for one that the sources do not know."""
    version = version_of(folder)
    if not OLDEST <= minor_version(version) <= NEWEST and not os.environ.get("REKINDLE_ANY_TORCH"):
        raise TorchNotUsable(
            f"torch-rvk supports PyTorch {SUPPORTED} and {folder} is {version}; install a supported one: {CPU_WHEEL}"
        )
    return version


def main():
    try:
        folder = find(sys.path[1:])
        check(folder)
    except TorchNotUsable as problem:
        sys.exit(str(problem))
    print(folder)


if __name__ == "__main__":
    main()
