"""Checks that PyTorch can train on the device rvk: python -m torch_rvk

Prints each device, its driver, the result of its self-test, and ten training steps compared with the CPU's.
Exit status: 0 if everything passed, 1 if not, 2 for wrong usage.
"""

import platform
import sys
import time

import torch

from . import checks, registration
from .library import LibraryNotUsable

USAGE = "usage: python -m torch_rvk [--help]"
WITHOUT_DEVICE = (
    "What to do: install a Vulkan driver; on Debian and Ubuntu: apt install libvulkan1 mesa-vulkan-drivers.\n"
    "With REKINDLE_VISIBLE_DEVICES, the numbers must be those of devices that exist; unset it to see all of them."
)


def _line(name, text):
    print(f"  {name:<10} {text}", flush=True)


def _check(device):
    """Prints what is known about a device and the results of its checks; raises checks.Failed."""
    properties = torch.rvk.get_device_properties(device)
    print(f"{device}: {properties.name}")
    _line("driver", f"{properties.driver}, Vulkan {properties.api_version}")
    _line("memory", f"{properties.total_memory / 2**30:.1f} GiB")
    passed, missing = checks.known_answers(device)
    _line("self-test", f"{passed} passed" + (f", {missing} not supported by this device" if missing else ""))
    training = checks.training(device)
    first, last = training.losses[0], training.losses[-1]
    _line("training", f"{checks.STEPS} steps, loss {first:.3f} to {last:.3f}; largest difference from the CPU {training.difference:.1e}")


def _fail(*lines):
    print("\n".join(lines), file=sys.stderr)
    return 1


def main(arguments):
    if arguments in (["-h"], ["--help"]):
        print(f"{USAGE}\n\n{__doc__.rstrip()}")
        return 0
    if arguments:
        print(f"torch_rvk: unknown argument {arguments[0]}\n{USAGE}", file=sys.stderr)
        return 2
    begin = time.monotonic()
    try:
        registration.register()
    except LibraryNotUsable as problem:
        return _fail(f"The device rvk is not available: {problem}")
    built_for = torch.ops.rvk.torch_version()
    print(f"torch-rvk {torch.ops.rvk.version()}, built for PyTorch {built_for}; PyTorch {torch.__version__}, Python {platform.python_version()}")
    reason = torch.ops.rvk.why_no_device()
    if reason:
        return _fail(f"There is no device rvk: {reason}.", WITHOUT_DEVICE)
    for index in range(torch.rvk.device_count()):
        try:
            _check(f"rvk:{index}")
        except (checks.Failed, RuntimeError) as problem:
            return _fail(f"FAILED on rvk:{index}: {problem}")
    print(f"PyTorch can train on rvk. ({time.monotonic() - begin:.1f} s)")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
