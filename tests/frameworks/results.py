"""Runs a program on the CPU and on rvk, and compares the losses that it prints."""

import dataclasses
import os
import subprocess
import sys

SECONDS = 1200  # a job that hangs fails; a CPU driver needs this long
# Hides the device from a process.
ON_CPU = {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0", "ACCELERATE_TORCH_DEVICE": "cpu", "CUDA_VISIBLE_DEVICES": "-1"}
THROUGH_RUN = ("-m", "torch_rvk.run")


class Failure(Exception):
    """Says what went wrong, with the last lines that the program printed."""


@dataclasses.dataclass(frozen=True)
class Outcome:
    losses: list
    device: str | None = None  # the device that the program reports


def python_path():
    return os.environ.get("PYTHONPATH", "")


def run(arguments, folder, environment=None):
    """Runs `python ARGUMENTS` in a folder. Returns standard output and standard error; raises Failure if it fails."""
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
    """Returns the largest difference of a loss, relative to the expected loss or 0.1, whichever is larger."""
    if len(losses) != len(expected) or not losses:
        raise Failure(f"{len(losses)} losses instead of {len(expected)}")
    return max(abs(one - other) / max(abs(other), 0.1) for one, other in zip(losses, expected))


def cell(value, tolerance):
    """Formats a cell of the table; a difference above the tolerance is bold."""
    if isinstance(value, str):
        return value
    return f"{value:.1e}" if value <= tolerance else f"**{value:.1e}**"


def row(cells):
    return "| " + " | ".join(cells) + " |"


def table(header, rows):
    return "\n".join([row(header), row(["---"] * len(header)), *map(row, rows)])


def print_table(header, rows):
    """Prints each row to standard error once it is measured, then the whole table. Ends with status 1 if a comparison
    failed. `rows` yields the cells of a row and how many of its comparisons failed."""
    lines, failed = [], 0
    for cells, bad in rows:
        print(row(cells), file=sys.stderr, flush=True)
        lines.append(cells)
        failed += bad
    print(table(header, lines))
    sys.exit(1 if failed else 0)
