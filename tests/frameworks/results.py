"""Runs a program on the CPU and on rvk, and compares the losses that it prints."""

import dataclasses
import os
import subprocess
import sys

SECONDS = 1200  # a hang is a failure; the CPU may emulate the GPU
# Variables with which a process does not see the device at all.
ON_CPU = {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0", "ACCELERATE_TORCH_DEVICE": "cpu", "CUDA_VISIBLE_DEVICES": "-1"}
THROUGH_RUN = ("-m", "torch_rvk.run")


class Failure(Exception):
    """One sentence, with the end of what the program printed."""


@dataclasses.dataclass(frozen=True)
class Outcome:
    losses: list
    device: str | None = None  # where the program says that it trained


def python_path():
    return os.environ.get("PYTHONPATH", "")


def run(arguments, folder, environment=None):
    """Standard output and standard error of `python ARGUMENTS` in a folder; raises Failure if the program fails."""
    command = [sys.executable, *arguments]
    environment = os.environ | {"JOB_FOLDER": str(folder), "OMP_NUM_THREADS": "1"} | (environment or {})
    try:
        result = subprocess.run(
            command, capture_output=True, text=True, timeout=SECONDS, check=False, cwd=folder, env=environment
        )
    except subprocess.TimeoutExpired as error:
        raise Failure(f"took longer than {SECONDS} seconds") from error
    if result.returncode != 0:
        end = "\n".join((result.stdout + result.stderr).splitlines()[-12:])
        raise Failure(f"ended with status {result.returncode}:\n{end}")
    return result.stdout, result.stderr


def difference(losses, expected):
    """The largest difference of a loss, relative to the expected one, or to 0.1 if that is larger."""
    if len(losses) != len(expected) or not losses:
        raise Failure(f"{len(losses)} losses instead of {len(expected)}")
    return max(abs(one - other) / max(abs(other), 0.1) for one, other in zip(losses, expected))


def cell(value, tolerance):
    """A cell of the table; a difference above the tolerance is marked."""
    if isinstance(value, str):
        return value
    return f"{value:.1e}" if value <= tolerance else f"**{value:.1e}**"


def row(cells):
    return "| " + " | ".join(cells) + " |"


def table(header, rows):
    return "\n".join([row(header), row(["---"] * len(header)), *map(row, rows)])
