"""What the benchmarks share that measure each device in a process of its own."""

import argparse
import json
import os
import subprocess
import sys


def environment_for(device: str) -> dict[str, str]:
    """With rvk registered, PyTorch uses it as the process's accelerator, and CUDA's backward passes fail."""
    return os.environ | {"TORCH_DEVICE_BACKEND_AUTOLOAD": "1" if device.partition(":")[0] == "rvk" else "0"}


def run_child(script: str, device: str, *arguments: object):
    """Runs `script --child DEVICE ARGUMENTS…` and returns the JSON value in its last line. Ends this process if that fails."""
    command = [sys.executable, script, "--child", device, *map(str, arguments)]
    child = subprocess.run(command, env=environment_for(device), stdout=subprocess.PIPE, text=True, check=False)
    if child.returncode:
        raise SystemExit(f"the process for {device} ended with status {child.returncode}; its message is above")
    return json.loads(child.stdout.splitlines()[-1])  # packages may print before


def at_least_one(text: str) -> int:
    """For argparse."""
    if (number := int(text)) < 1:
        raise argparse.ArgumentTypeError(f"{number} is less than 1")
    return number
