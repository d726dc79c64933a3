"""Finds an installed PyTorch and reads its version, without importing it.

    python3 torch_location.py

prints the folder `torch` of the interpreter that runs it, or one sentence on standard error (exit status 1).
"""

import importlib.machinery
import os
import re
import subprocess
import sys

OLDEST = (2, 11)
NEWEST = (2, 13)
SUPPORTED = "{}.{} to {}.{}".format(*OLDEST, *NEWEST)
CPU_WHEEL = "pip install torch=={}.{}.0 --index-url https://download.pytorch.org/whl/cpu".format(*NEWEST)


class TorchNotUsable(Exception):
    """One sentence that says what to do."""


def version_of(folder):
    """The version in FOLDER/version.py: '2.13.0+cpu'."""
    with open(os.path.join(folder, "version.py"), encoding="utf-8") as file:
        match = re.search(r"^__version__\s*=\s*['\"]([^'\"]+)['\"]", file.read(), re.MULTILINE)
    if match is None:
        raise TorchNotUsable(f"{folder}/version.py does not name a version; reinstall PyTorch: {CPU_WHEEL}")
    return match.group(1)


def minor_version(version):
    """(2, 13) for '2.13.0+cpu'."""
    major, minor = re.match(r"(\d+)\.(\d+)", version).groups()
    return int(major), int(minor)


def first_on(search_path):
    """The folder of the first PyTorch on a list like sys.path; None if there is none."""
    for entry in search_path:
        # Only the path finder: packages that hook into imports are not involved.
        spec = importlib.machinery.PathFinder.find_spec("torch", [entry or os.getcwd()])
        for folder in (spec.submodule_search_locations or []) if spec else []:
            if os.path.isfile(os.path.join(folder, "version.py")):
                return folder
    return None


def _search_path_of(interpreter):
    """sys.path of a program that this interpreter runs. -E: pip's build isolation sets PYTHONPATH."""
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
            f"torch-rvk is built for an installed PyTorch ({SUPPORTED}), but {sys.executable} has none; "
            f"install one first: {CPU_WHEEL}"
        )
    return folder


def check(folder):
    """The version of the PyTorch in a folder; raises TorchNotUsable if it is not supported."""
    version = version_of(folder)
    if not OLDEST <= minor_version(version) <= NEWEST:
        raise TorchNotUsable(
            f"torch-rvk supports PyTorch {SUPPORTED}, but {folder} is {version}; install a supported one: {CPU_WHEEL}"
        )
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
