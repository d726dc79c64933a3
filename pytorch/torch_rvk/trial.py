"""Tries libraries with a PyTorch that they were not built for, in another process, because the wrong one can crash.

The child loads the newest candidate that the linker accepts and runs the check of `python -m torch_rvk`. The result is kept in
the cache folder, so that only the first import with this PyTorch takes these seconds.
"""

import dataclasses
import hashlib
import json
import os
import signal
import subprocess
import sys
import typing

from .versions import in_words, minor_version

SECONDS = 120  # only a hang takes this long
_VARIABLE = "TORCH_RVK_TRIAL"  # in the child's environment: the candidates, "2.15,2.14"
_CHILD = "import sys; sys.path[:] = sys.argv[1:]; from torch_rvk import trial; trial.main()"


@dataclasses.dataclass(frozen=True)
class Result:
    version: typing.Optional[tuple] = None  # the minor version whose library works, or
    reason: str = ""  # why none does
    is_final: bool = True  # another trial would find the same, unless files change

    def text(self):
        return json.dumps({"version": self.version and in_words(self.version), "reason": self.reason})

    @staticmethod
    def of_text(text):
        fields = json.loads(text)
        return Result(fields["version"] and minor_version(fields["version"]), fields["reason"])


def is_running():
    """Whether this process is the child of a trial."""
    return _VARIABLE in os.environ


def candidates():
    """The child's candidates."""
    return [minor_version(text) for text in os.environ[_VARIABLE].split(",")]


def run(package, versions):
    """Tries the libraries for these minor versions of PyTorch, in this order; never raises."""
    file = _file(package, versions)
    kept = _read(file)
    if kept is None:
        kept = _in_child(versions)
        if kept.is_final:
            _write(file, kept)
    return kept


def _in_child(versions):
    environment = dict(os.environ, TORCH_DEVICE_BACKEND_AUTOLOAD="0")
    environment[_VARIABLE] = ",".join(map(in_words, versions))
    environment.pop("TORCH_RVK_FROM_CUDA", None)
    try:
        child = subprocess.run(
            [sys.executable or "python3", "-c", _CHILD, *sys.path],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS, check=False, env=environment,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError) as problem:
        return Result(reason=f"they could not be tried ({problem})", is_final=False)
    if child.returncode < 0:
        name = signal.Signals(-child.returncode).name
        return Result(reason=f"the newest one that loads crashed when it was tried ({name})", is_final=False)
    try:
        line = child.stdout.splitlines()[-1]
        return dataclasses.replace(Result.of_text(line), is_final=child.returncode == 0)
    except (IndexError, ValueError, KeyError):
        said = (child.stderr.splitlines() or ["nothing"])[-1]
        return Result(reason=f"they could not be tried ({said})", is_final=False)


def main():
    """Runs in the child: registers the device, checks it, and prints a Result as the last line. Exit status 0: the result is
    final."""
    from . import checks, library, registration

    try:
        registration.register()
    except library.LibraryNotUsable as problem:
        print(Result(reason=str(problem)).text())
        return
    import torch

    version = minor_version(torch.ops.rvk.torch_version())
    try:
        checks.check_all()
    except checks.Failed as problem:
        print(Result(reason=f"the library for {in_words(version)} failed its check with it ({problem})").text())
        sys.exit(1)
    print(Result(version).text())


def _cache_folder():
    """The folder that the library uses for its pipelines (runtime/src/pipeline/cache_folder.cpp); None if there is none."""
    if os.environ.get("REKINDLE_CACHE_DIR"):
        return os.environ["REKINDLE_CACHE_DIR"]
    for variable, below in (("XDG_CACHE_HOME", "rekindle"), ("HOME", os.path.join(".cache", "rekindle"))):
        if os.path.isabs(os.environ.get(variable, "")):
            return os.path.join(os.environ[variable], below)
    return None


def _file(package, versions):
    """The file of the result, whose name depends on PyTorch and on the libraries; None if there is no cache folder."""
    import torch

    folder = _cache_folder()
    if folder is None:
        return None
    identity = [torch.__version__, torch.version.git_version]
    for parent, _, names in sorted(os.walk(package)):
        for name in sorted(name for name in names if name.endswith(".so")):
            status = os.stat(os.path.join(parent, name))
            identity.append(f"{os.path.join(parent, name)} {status.st_size} {status.st_mtime_ns}")
    identity += map(in_words, versions)
    return os.path.join(folder, "torch-trials", hashlib.sha256("\n".join(identity).encode()).hexdigest()[:16])


def _read(file):
    try:
        with open(file, encoding="utf-8") as stream:
            return Result.of_text(stream.read())
    except (OSError, TypeError, ValueError, KeyError):
        return None


def _write(file, result):
    """Keeps the result if there is a folder for it; without one, the next process tries again."""
    if file is None:
        return
    part = f"{file}.{os.getpid()}"
    try:
        os.makedirs(os.path.dirname(file), exist_ok=True)
        with open(part, "w", encoding="utf-8") as stream:
            stream.write(result.text())
        os.replace(part, file)
    except OSError:
        pass
