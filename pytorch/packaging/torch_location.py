"""Finds an installed PyTorch and reads its version, without importing it.

    python3 torch_location.py

prints the folder `torch` of the interpreter that runs it, or one sentence on standard error (exit status 1).
"""

import importlib.machinery
import importlib.util
import os
import re
import subprocess
import sys


def _module(path):
    """A module of the package torch_rvk, without importing the package, which would import torch."""
    spec = importlib.util.spec_from_file_location(os.path.basename(path)[:-3], path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


versions = _module(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "torch_rvk", "versions.py"))
CPU_WHEEL = f"pip install torch=={versions.in_words(versions.NEWEST)}.0 --index-url https://download.pytorch.org/whl/cpu"


class TorchNotUsable(Exception):
    """One sentence that says what to do."""


def version_of(folder):
    """The version in FOLDER/version.py: '2.13.0+cpu'."""
    with open(os.path.join(folder, "version.py"), encoding="utf-8") as file:
        match = re.search(r"^__version__\s*=\s*['\"]([^'\"]+)['\"]", file.read(), re.MULTILINE)
    if match is None:
        raise TorchNotUsable(f"{folder}/version.py does not name a version; reinstall PyTorch: {CPU_WHEEL}")
    return match.group(1)


def first_on(search_path):
    """The folder of the first PyTorch on a list like sys.path; None if there is none."""
    for entry in search_path:
        # Uses only the path finder, so that packages that hook into imports are not involved.
        spec = importlib.machinery.PathFinder.find_spec("torch", [entry or os.getcwd()])
        for folder in (spec.submodule_search_locations or []) if spec else []:
            if os.path.isfile(os.path.join(folder, "version.py")):
                return folder
    return None


def _search_path_of(interpreter):
    """sys.path of a program that this interpreter runs. -E ignores PYTHONPATH, which pip's build isolation sets."""
    result = subprocess.run(
        [interpreter, "-E", "-c", "import sys; print('\\n'.join(sys.path[1:]))"], capture_output=True, text=True, check=False
    )
    return result.stdout.splitlines() if result.returncode == 0 else []


def find():
    """The folder of the PyTorch to build against: REKINDLE_TORCH, or that of the running interpreter (even if a build
    front end hides it), or that of the active virtual environment (for front ends that build with their own Python)."""
    if os.environ.get("REKINDLE_TORCH"):
        return os.environ["REKINDLE_TORCH"]
    folder = first_on(sys.path) or first_on(_search_path_of(sys.executable))
    active = os.path.join(os.environ.get("VIRTUAL_ENV", ""), "bin", "python")
    if folder is None and os.path.isabs(active) and os.path.exists(active):
        folder = first_on(_search_path_of(active))
    if folder is None:
        raise TorchNotUsable(
            f"torch-rvk is built for an installed PyTorch ({versions.TESTED}), but {sys.executable} has none; "
            f"install one first: {CPU_WHEEL}"
        )
    return folder


def check(folder):
    """The version of the PyTorch in a folder. Raises TorchNotUsable if it is too old. Warns if it is newer than the tested
    versions: the build may still succeed, and the device checks itself when it is imported."""
    version = version_of(folder)
    minor = versions.minor_version(version)
    if minor < versions.OLDEST:
        raise TorchNotUsable(
            f"torch-rvk needs PyTorch {versions.in_words(versions.OLDEST)} or newer, but {folder} is {version}; "
            f"install a newer one: {CPU_WHEEL}"
        )
    if minor > versions.NEWEST:
        print(f"warning: torch-rvk is tested with PyTorch {versions.TESTED}, not with {version}", file=sys.stderr, flush=True)
    return version


def main():
    try:
        folder = find()
        check(folder)
    except TorchNotUsable as problem:
        sys.exit(str(problem))
    print(folder)


if __name__ == "__main__":
    main()
