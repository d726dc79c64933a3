"""What a wheel of torch-rvk contains: the Python modules, a library for each minor version of PyTorch, and the
metadata."""

import dataclasses
import os

import torch_location
import wheel_file

REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NAME = "torch_rvk"


def read(*path):
    """The text of a file of the repository."""
    with open(os.path.join(REPOSITORY, *path), encoding="utf-8") as file:
        return file.read()


def _files_below(folder, suffix=""):
    """The paths of the files below a folder, relative to it, sorted."""
    return sorted(
        os.path.relpath(os.path.join(parent, name), folder)
        for parent, _, names in os.walk(folder)
        for name in names
        if name.endswith(suffix)
    )


def _installed(stagings):
    """The files that the builds installed, each in the folder of its version: path in the wheel to path on disk."""
    return {name: os.path.join(staging, name) for staging in stagings for name in _files_below(staging)}


@dataclasses.dataclass(frozen=True)
class Contents:
    """A wheel, without its libraries."""

    version: str  # of the wheel
    torch_requirement: str  # the versions of PyTorch that pip accepts for it

    def metadata(self):
        """The files of the dist-info folder, except WHEEL and RECORD."""
        return {
            "METADATA": "Metadata-Version: 2.1\nName: torch-rvk\n"
            f"Version: {self.version}\n"
            "Summary: PyTorch's device rvk: training on any GPU with a Vulkan driver\n"
            "License: MIT\n"
            "Requires-Python: >=3.10\n"
            f"Requires-Dist: torch{self.torch_requirement}\n"
            f"Description-Content-Type: text/markdown\n\n{read('pytorch', 'README.md')}",
            "entry_points.txt": f"[torch.backends]\nrvk = {NAME}:_autoload\n",
            "licenses/LICENSE": read("LICENSE"),
        }

    def write_wheel(self, folder, stagings, tag):
        """Writes the wheel with what these builds installed (`cmake --install --component pytorch`); returns its name."""
        sources = os.path.join(REPOSITORY, "pytorch", NAME)
        with wheel_file.WheelFile(folder, NAME, self.version, tag) as wheel:
            for name in _files_below(sources, ".py"):
                wheel.add_file(f"{NAME}/{name}", os.path.join(sources, name))
            for name, path in sorted(_installed(stagings).items()):
                wheel.add_file(name, path, 0o755)
            wheel.add_metadata(self.metadata())
        return wheel.file_name


def for_one_version(minor):
    """The wheel for one minor version of PyTorch, which the wheel's own version names: 0.1.0+torch2.13."""
    return Contents(f"{read('VERSION').strip()}+torch{minor}", f"=={minor}.*")


def for_all_versions():
    """The wheel with a library for each version; with a newer PyTorch, it tries the newest library and warns."""
    oldest = torch_location.versions.in_words(torch_location.versions.OLDEST)
    return Contents(read("VERSION").strip(), f">={oldest}")
