"""Helpers for benchmarks that measure each device in its own process."""

import argparse
import json
import os
import subprocess
import sys


def environment_for(device: str) -> dict[str, str]:
    """Only processes for rvk register rvk: PyTorch would use it as the process's accelerator, and CUDA's backward passes would fail."""
    return os.environ | {"TORCH_DEVICE_BACKEND_AUTOLOAD": "1" if device.partition(":")[0] == "rvk" else "0"}


def run_child(script: str, device: str, *arguments: object):
    """Runs `script --child DEVICE ARGUMENTS…` and returns the JSON value in its last line. Exits if that fails."""
    command = [sys.executable, script, "--child", device, *map(str, arguments)]
    child = subprocess.run(command, env=environment_for(device), stdout=subprocess.PIPE, text=True, check=False)
    if child.returncode:
        raise SystemExit(f"the process for {device} ended with status {child.returncode}; its message is above")
    return json.loads(child.stdout.splitlines()[-1])  # packages may print before


def take_turns(script: str, devices: list[str], processes: int, name: str, *arguments: object) -> dict[str, list]:
    """The results of `processes` children for each device; the devices alternate. Reports progress on `name` to stderr."""
    results: dict[str, list] = {device: [] for device in devices}
    for number in range(1, processes + 1):
        for device in devices:
            results[device].append(run_child(script, device, *arguments))
            print(f"{name}: process {number} of {processes} for {device} has ended", file=sys.stderr, flush=True)
    return results


def at_least_one(text: str) -> int:
    """The type of a command-line option."""
    if (number := int(text)) < 1:
        raise argparse.ArgumentTypeError(f"{number} is less than 1")
    return number
