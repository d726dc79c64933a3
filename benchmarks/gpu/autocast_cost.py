"""Measures how much time autocast adds to host-bound training steps, on rvk and on CUDA.

    python benchmarks/gpu/autocast_cost.py [--devices rvk,cuda] [--models NAME…] [--rounds N] [--processes N] [--side PIXELS]

NAME is a model of timm; it trains with a batch of two images. Each device has a process of its own, and the two take turns,
--processes times. In a process, steps in float32, float16 and bfloat16 alternate, because the host's speed changes between
processes and within them; before each round, the GPU multiplies matrices for 60 ms, which raises its clock. What autocast adds
is the median of the differences between neighbors. The last column is CUDA's float32 step divided by rvk's.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

MODELS = ("mobilenetv4_conv_medium", "maxvit_tiny_tf_224")
STEPS = 4  # between two readings of the clock
BATCH = 2


def rounds_of(name: str, device: str, rounds: int, side: int) -> list[list[float]]:
    """Milliseconds of a step in float32, float16 and bfloat16, in each round."""
    import torch
    from model_rows import DTYPES, vision_model
    from pytorch_device import warm_up

    torch.manual_seed(0)
    steps = [vision_model("timm", name, BATCH, device, dtype, side) for dtype in DTYPES]
    synchronize = getattr(torch, device).synchronize

    def milliseconds(step) -> float:
        step()
        synchronize()
        begin = time.perf_counter()
        for _ in range(STEPS):
            step()
        synchronize()
        return (time.perf_counter() - begin) * 1e3 / STEPS

    for step in steps:
        milliseconds(step)
    result = []
    for _ in range(rounds):
        warm_up(device)
        result.append([milliseconds(step) for step in steps])
    return result


def run_child(name: str, device: str, options: argparse.Namespace) -> list[list[float]]:
    # With rvk registered, PyTorch uses it as the process's accelerator, and CUDA's backward passes fail.
    alone = {"TORCH_DEVICE_BACKEND_AUTOLOAD": "1" if device == "rvk" else "0"}
    command = [sys.executable, __file__, "--child", device, "--models", name, "--rounds", str(options.rounds), "--side", str(options.side)]
    child = subprocess.run(command, env=os.environ | alone, stdout=subprocess.PIPE, text=True, check=False)
    if child.returncode:
        raise SystemExit(f"the process for {device} ended with status {child.returncode}; its message is above")
    return json.loads(child.stdout.splitlines()[-1])  # packages may print before


def rows(name: str, devices: list[str], options: argparse.Namespace) -> list[str]:
    times = {device: [] for device in devices}
    for _ in range(options.processes):
        for device in devices:
            times[device] += run_child(name, device, options)
    result = []
    for device in devices:
        steps = [statistics.median(column) for column in zip(*times[device])]
        added = [statistics.median(one[i] - one[0] for one in times[device]) for i in (1, 2)]
        first = statistics.median(one[0] for one in times[devices[-1]])
        cells = [name, device, *(f"{one:.1f}" for one in steps), *(f"{one:.1f}" for one in added), f"{first / steps[0]:.2f}"]
        result.append("| " + " | ".join(cells) + " |")
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--devices", default="rvk,cuda")
    parser.add_argument("--models", nargs="*", default=MODELS)
    parser.add_argument("--rounds", type=int, default=12, help="in each process")
    parser.add_argument("--processes", type=int, default=2, help="for each device and model")
    parser.add_argument("--side", type=int, default=224, help="of an image, in pixels")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(rounds_of(options.models[0], options.child, options.rounds, options.side)))
        return
    print("| model | device | float32, ms | float16 | bfloat16 | float16 adds | bfloat16 adds | speed |\n|---|---|---|---|---|---|---|---|")
    for name in options.models:
        print("\n".join(rows(name, options.devices.split(","), options)), flush=True)


if __name__ == "__main__":
    main()
