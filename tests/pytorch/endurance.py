#!/usr/bin/env python3
"""Trains ResNet-18 for a long time with varying batch sizes and watches the memory of the host and the device.

    python tests/pytorch/endurance.py [--steps 10000]

Also checks that a program can continue after running out of memory, and that a lost device ends it with a report. Exit
status 0: no growth, and both checks passed.

Environment: poison mode is switched off, because it reuses memory only once the device is done with it, so that the number of
driver allocations would depend on how busy the machine is; without it, reuse follows the order of the stream.
"""

import argparse
import gc
import os
import re
import subprocess
import sys
import time

os.environ["REKINDLE_POISON"] = "0"  # before the device is opened

import torch
from torch import nn

from models.residual import ResNet18
from support import DEVICE, child_environment, device_is_there, device_module

BATCH_SIZES = (4, 7, 2, 8, 2, 5)  # in turn; every size occurs before the watch begins
ALLOWED_HOST_GROWTH = 32 << 20  # bytes over the whole watch: the interpreter's own arenas
DEVICE_LOST_LIMIT = 600  # seconds: it must end, however slow the driver is


def resident_bytes() -> int:
    """Physical memory of this process (Linux)."""
    with open("/proc/self/status", encoding="ascii") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith("VmRSS"))


def train(steps: int, report_every: int) -> list[str]:
    """Trains and returns sentences about what grew."""
    torch.manual_seed(0)
    module = device_module()
    network = ResNet18(10).to(DEVICE)
    optimizer = torch.optim.SGD(network.parameters(), 0.01, momentum=0.9)
    images, labels = torch.randn(max(BATCH_SIZES), 3, 32, 32), torch.randint(10, (max(BATCH_SIZES),))
    watched_from = max(2 * len(BATCH_SIZES), steps // 10)
    watched_from += (steps - watched_from) % len(BATCH_SIZES)  # the last step has the same batch size
    watched: dict[str, int] = {}
    began = time.monotonic()

    def measure() -> dict[str, int]:
        module.synchronize()
        gc.collect()
        memory = module.memory_stats()
        return {"host memory": resident_bytes(), "requested device memory": memory["requested_bytes.all.current"],
                "tensors": memory["allocation.all.current"], "reserved device memory": module.memory_reserved(),
                "driver allocations": memory["segment.all.current"]}

    for step in range(1, steps + 1):
        count = BATCH_SIZES[step % len(BATCH_SIZES)]
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(network(images[:count].to(DEVICE)), labels[:count].to(DEVICE))
        loss.backward()
        optimizer.step()
        if step == watched_from:
            watched = measure()
        if step % report_every == 0 or step == steps:
            now = measure()
            figures = ", ".join(f"{name} {value >> 20} MiB" if "memory" in name else f"{value} {name}"
                                for name, value in now.items())
            print(f"step {step}: loss {loss.item():.4f}, {figures}, {time.monotonic() - began:.0f} s", flush=True)
    now = measure()
    return [f"{name} grew from {before} to {now[name]}" for name, before in watched.items()
            if now[name] > before + (ALLOWED_HOST_GROWTH if name == "host memory" else 0)]


def out_of_memory_is_survived() -> list[str]:
    module = device_module()
    before = module.memory_allocated()
    total = module.get_device_properties(0).total_memory
    try:
        torch.empty(8 * total, dtype=torch.uint8, device=DEVICE)
        return [f"{8 * total} bytes were allocated on a device that has {total}"]
    except torch.OutOfMemoryError as error:
        print(f"out of memory, as expected: {str(error).splitlines()[0][:160]}")
    if (torch.ones(1000, device=DEVICE) * 2).sum().item() != 2000:
        return ["wrong values after out of memory"]
    gc.collect()
    return [] if module.memory_allocated() <= before else ["memory is missing after out of memory"]


def lost_device_is_reported() -> list[str]:
    """A child whose device is lost must end by itself, with a nonzero status and a report that names the operator."""
    program = ("import support, torch\nvalues = torch.ones(1000, device=support.DEVICE)\n"
               "for step in range(1000):\n    values = values + 1\n    values.sum().item()")
    faults = []
    for fault in ("device-lost:5", "hang:5"):
        variables = {"REKINDLE_FAULT": fault, "REKINDLE_WATCHDOG_SECONDS": "5"}
        try:
            done = subprocess.run([sys.executable, "-c", program], env=child_environment(**variables), capture_output=True,
                                  text=True, timeout=DEVICE_LOST_LIMIT)
        except subprocess.TimeoutExpired:
            faults.append(f"{fault}: the process did not end")
            continue
        named = re.search(r"\b(add|sum)[.\w]*: \w+ \(\d+ workgroups\)", done.stderr)  # the operator and its kernel
        if done.returncode == 0 or "lost" not in done.stderr.lower() or not named:
            faults.append(f"{fault}: status {done.returncode}, output: {done.stderr[-300:]}")
        else:
            print(f"{fault}: status {done.returncode}: {done.stderr.strip().splitlines()[-1][:200]}")
    return faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=10_000)
    arguments = parser.parse_args()
    if arguments.steps < 4 * len(BATCH_SIZES):
        parser.error(f"at least {4 * len(BATCH_SIZES)} steps: every batch size twice before the watch, and after")
    if not device_is_there():
        print(f"There is no device {DEVICE}.", file=sys.stderr)
        return 2
    faults = train(arguments.steps, max(1, arguments.steps // 20))
    faults += out_of_memory_is_survived()
    faults += lost_device_is_reported()
    for fault in faults:
        print(f"FAILED: {fault}")
    print(f"{arguments.steps} steps, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
