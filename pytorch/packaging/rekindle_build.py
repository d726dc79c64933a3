"""The build backend of the distribution torch-rvk (PEP 517 and 660), without any dependency.

It builds libtorch_rvk.so with CMake against the installed PyTorch and puts it into a wheel with the package torch_rvk.
It prints its progress every few seconds; `pip install -v .` shows it.
"""

import contextlib
import json
import os
import re
import subprocess
import sys
import tarfile
import time

import toolchain
import torch_location
import wheel_contents
import wheel_file
from wheel_contents import NAME, REPOSITORY, read

SECONDS_BETWEEN_LINES = 5


def _options():
    """The variables of CMake's preset `pytorch`, without the inherited ones, which make warnings errors: a user's compiler may
    warn."""
    presets = json.loads(read("CMakePresets.json"))["configurePresets"]
    variables = next(preset["cacheVariables"] for preset in presets if preset["name"] == "pytorch")
    return [f"-D{name}={value}" for name, value in variables.items()]


class Build:
    """One build against one PyTorch."""

    def __init__(self):
        with _one_sentence():
            self.torch = torch_location.find()
            self.torch_version = torch_location.check(self.torch)
        minor = torch_location.versions.minor_version(self.torch_version)
        self.contents = wheel_contents.for_one_version(torch_location.versions.in_words(minor))
        self.folder = os.path.join(REPOSITORY, "build", f"wheel-torch{torch_location.versions.in_words(minor)}")
        self.staging = os.path.join(self.folder, "staging")

    def run(self):
        with _one_sentence():
            toolchain.check()
            slang = toolchain.slang_arguments(REPOSITORY)
        print(f"torch-rvk: building for PyTorch {self.torch_version} in {self.torch}", flush=True)
        arguments = [f"-DREKINDLE_TORCH={self.torch}", *slang]
        if not os.path.exists(os.path.join(self.folder, "CMakeCache.txt")):
            cxx, cc = toolchain.compiler()
            arguments += [*toolchain.generator(), f"-DCMAKE_CXX_COMPILER={cxx}", f"-DCMAKE_C_COMPILER={cc}", *_options()]
        _call(["cmake", "-S", REPOSITORY, "-B", self.folder, *arguments])
        _call(["cmake", "--build", self.folder, "--target", "torch_rvk", "--parallel", str(os.cpu_count() or 1)])
        _call(["cmake", "--install", self.folder, "--component", "pytorch", "--prefix", self.staging, "--strip"])


@contextlib.contextmanager
def _one_sentence():
    """Ends the build with a sentence that says what to do, instead of a traceback."""
    try:
        yield
    except (torch_location.TorchNotUsable, toolchain.ToolMissing) as problem:
        sys.exit(f"torch-rvk cannot be built.\n{problem}")


def _call(command):
    """Runs a command, printing its progress now and then, and its last output if it fails."""
    output, last = [], 0.0
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        for line in process.stdout:
            output.append(line)
            is_progress = re.match(r"\[ *\d+[%/]", line)
            if is_progress and time.monotonic() - last >= SECONDS_BETWEEN_LINES:
                print(line, end="", flush=True)
                last = time.monotonic()
    if process.returncode != 0:
        said = [line for line in output if not re.match(r"\[ *\d+[%/]", line)]
        sys.exit(f"{''.join(said[-60:])}torch-rvk cannot be built: '{command[0]} {command[1]}' failed; see above.")


def get_requires_for_build_wheel(config_settings=None):
    return []


get_requires_for_build_editable = get_requires_for_build_wheel
get_requires_for_build_sdist = get_requires_for_build_wheel


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    """Writes the metadata, which pip asks for first; without this hook, pip would build the wheel to get it."""
    contents = Build().contents
    info = f"{NAME}-{contents.version}.dist-info"
    for name, content in contents.metadata().items():
        path = os.path.join(metadata_directory, info, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(content)
    return info


prepare_metadata_for_build_editable = prepare_metadata_for_build_wheel


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    build = Build()
    build.run()
    return build.contents.write_wheel(wheel_directory, [build.staging], wheel_file.LOCAL)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    """An editable wheel: the build tree's package, whose modules link to the sources; the library is built once."""
    build = Build()
    build.run()
    with wheel_file.WheelFile(wheel_directory, NAME, build.contents.version, wheel_file.LOCAL) as wheel:
        wheel.add(f"{NAME}.pth", os.path.join(build.folder, "python") + "\n")
        wheel.add_metadata(build.contents.metadata())
    return wheel.file_name


def build_sdist(sdist_directory, config_settings=None):
    """The files that Git tracks; nothing is built."""
    version = read("VERSION").strip()
    name = f"{NAME}-{version}"
    files = subprocess.run(["git", "-C", REPOSITORY, "ls-files", "-z"], capture_output=True, check=True).stdout
    with tarfile.open(os.path.join(sdist_directory, f"{name}.tar.gz"), "w:gz", format=tarfile.PAX_FORMAT) as archive:
        for file in files.decode().split("\0")[:-1]:
            archive.add(os.path.join(REPOSITORY, file), f"{name}/{file}", recursive=False)
        info = os.path.join(sdist_directory, "PKG-INFO")
        with open(info, "w", encoding="utf-8") as file:
            file.write(f"Metadata-Version: 2.1\nName: torch-rvk\nVersion: {version}\n")
        archive.add(info, f"{name}/PKG-INFO")
        os.remove(info)
    return f"{name}.tar.gz"
