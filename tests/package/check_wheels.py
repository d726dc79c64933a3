"""Checks finished wheels: python check_wheels.py WHEEL…

The tag is what auditwheel finds, the size is at most 25 MB, nothing of PyTorch or Python is bundled, no file contains a
path of the build machine, and the list of contents is right. Prints one line for each check; exit status 1 if one failed.
Needs the package auditwheel.
"""

import base64
import csv
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import zipfile

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
LARGEST = 25_000_000  # bytes
GLIBC = (2, 35)
TAG = "manylinux_2_35_x86_64"
PYTHON_TAG = r"(py3-none|cp\d+-(cp\d+|abi3))"
_FOREIGN = re.compile(r"lib(torch|c10|python|cuda|cudart|vulkan)\w*\.so")
OF_PYTORCH = {"libtorch_cpu.so", "libc10.so"}  # an installed PyTorch has them


def glibc_of(tag):
    """(2, 34) for manylinux_2_34_x86_64; None for a tag that promises no version."""
    match = re.match(r"manylinux_(\d+)_(\d+)_", tag)
    return match and tuple(map(int, match.groups()))


def tag_problem(path):
    """Why the wheel may not have its tag; None if it may."""
    result = subprocess.run(
        [sys.executable, "-m", "auditwheel", "show", "--json", path], capture_output=True, text=True, check=False
    )
    if result.returncode != 0:
        return f"auditwheel failed: {result.stderr.strip() or result.stdout.strip()}"
    found = json.loads(result.stdout)
    glibc = glibc_of(found["sym_tag"])
    if glibc is None or glibc > GLIBC:
        return f"its symbols need {found['sym_tag']}: {found['versioned_symbols']}"
    if found["unsupported_isa"]:
        return "it needs a newer processor than x86-64"
    others = set(found["policy_upgrades"].get(TAG, {}).get("libs_to_eliminate", [])) - OF_PYTORCH
    return f"it needs libraries that not every system has: {sorted(others)}" if others else None


def record_problem(wheel):
    """How the list RECORD differs from the wheel; None if it is right."""
    name = next(name for name in wheel.namelist() if name.endswith(".dist-info/RECORD"))
    rows = {row[0]: row[1:] for row in csv.reader(wheel.read(name).decode().splitlines())}
    if set(rows) != set(wheel.namelist()):
        return f"the names differ: {sorted(set(rows) ^ set(wheel.namelist()))}"
    for file, (digest, size) in rows.items():
        data = wheel.read(file)
        found = "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        if file != name and (digest, size) != (found, str(len(data))):
            return f"{file} differs"
    return None


def is_own_module(name, path):
    """Whether the wheel's tag says for which Python this module is."""
    version = re.search(r"-cp(\d+)-(cp\d+|abi3)-", os.path.basename(path))
    if version is None:
        return False
    suffix = ".abi3.so" if version[2] == "abi3" else f".cpython-{version[1]}-x86_64-linux-gnu.so"
    return name.endswith(suffix)


def build_paths():
    """Texts that only occur in files with paths of this machine."""
    return [text.encode() for text in (str(REPOSITORY), os.path.expanduser("~") + "/", "/site-packages/torch/include") if len(text) > 2]


def problems(path):
    """Name of each check to what is wrong, or None."""
    with zipfile.ZipFile(path) as wheel:
        names = wheel.namelist()
        leaks = [name for name in names if any(text in wheel.read(name) for text in build_paths())]
        files = {name: os.path.basename(name) for name in names}
        bundled = [name for name, file in files.items() if _FOREIGN.match(file) and file != "libtorch_rvk.so"]
        compiled = [name for name in names if re.search(r"\.cpython-|\.pyc$|abi3", name) and not is_own_module(name, path)]
        record = record_problem(wheel)
    size = os.path.getsize(path)
    return {
        f"the tag {TAG}": tag_problem(path) if re.search(rf"-{PYTHON_TAG}-{TAG}\.whl$", path) else "the file name has another tag",
        f"{size / 1e6:.1f} MB, at most {LARGEST / 1e6:.0f}": None if size <= LARGEST else "too large",
        "nothing of PyTorch, Python or a driver is in it": ", ".join(bundled) or None,
        "nothing depends on another version of Python": ", ".join(compiled) or None,
        "no path of the build machine": ", ".join(leaks) or None,
        "the list of contents": record,
    }


def main(paths):
    if not paths:
        sys.exit(__doc__)
    failed = 0
    for path in paths:
        for check, problem in problems(path).items():
            print(f"{os.path.basename(path)}: {check}: {'ok' if problem is None else 'FAILED: ' + problem}")
            failed += problem is not None
    sys.exit(failed > 0)


if __name__ == "__main__":
    main(sys.argv[1:])
