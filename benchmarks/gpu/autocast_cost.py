"""Measures how much time autocast adds to host-bound training steps, on rvk and on CUDA.

    python benchmarks/gpu/autocast_cost.py [--parts] [--devices rvk,cuda] [--models NAME…] [--rounds N] [--processes N] [--side PIXELS]

NAME is a model of timm; it trains with a batch of two images. Each device has a process of its own, and the two take turns,
--processes times. In a process, all variants of a step alternate, because the host's speed changes between processes and within
them, and each round starts with another variant, so that the order favors none. Before each round, the GPU multiplies matrices
for 60 ms, which raises its clock. "adds" is the median, over the rounds of all processes, of how much longer a variant takes than
float32 in the same round; the next column has the smallest and the largest median of a single process. "speed" is the last
device's float32 step divided by this one's.

With --parts, two more variants show what makes up autocast's time:
  16-bit layers   float32 normalization, everything else in bfloat16: 16-bit operators without autocast and without casts
  casts           float32, but each weight of a convolution or linear layer is cast to bfloat16 and back: four casts for each
                  layer and step, half of them in the backward pass
Networks whose layers do not accept such a mixture (transformers) fail. The column "casts" counts the casts in one step.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable

from one_device import at_least_one, take_turns

MODELS = ("mobilenetv4_conv_medium", "maxvit_tiny_tf_224")
STEPS = 4  # between two readings of the clock
BATCH = 2
BASE, AUTOCAST, PARTS = "float32", ("float16", "bfloat16"), ("16-bit layers", "casts")  # the variants of a step


def sixteen_bit(network):
    """Converts the network to bfloat16, except for its normalization layers."""
    from torch import bfloat16, nn

    network.to(bfloat16)
    for module in network.modules():
        if isinstance(module, (nn.modules.batchnorm._NormBase, nn.LayerNorm, nn.GroupNorm)):
            module.float()
    return network


def with_casts(network):
    """Makes convolutions and linear layers cast their weights to bfloat16 and back before each use."""
    from torch import bfloat16, float32, nn
    from torch.nn.utils import parametrize

    class Cast(nn.Module):
        def forward(self, weight):
            return weight.to(bfloat16).to(float32)

    for module in list(network.modules()):
        if isinstance(module, (nn.modules.conv._ConvNd, nn.Linear)):
            parametrize.register_parametrization(module, "weight", Cast())
    return network


def make_step(variant: str, name: str, device: str, side: int) -> Callable[[], object]:
    import torch
    from model_rows import vision_network, vision_step

    torch.manual_seed(0)
    network = vision_network("timm", name)
    if variant == "16-bit layers":
        return vision_step(sixteen_bit(network), BATCH, device, None, side, torch.bfloat16)
    if variant == "casts":
        return vision_step(with_casts(network), BATCH, device, None, side)
    return vision_step(network, BATCH, device, None if variant == BASE else getattr(torch, variant), side)


def casts_in(step: Callable[[], object]) -> int:
    from torch import profiler

    with profiler.profile(activities=[profiler.ProfilerActivity.CPU]) as profile:
        step()
    return sum(one.count for one in profile.key_averages() if one.key == "aten::_to_copy")


def measure(name: str, device: str, variants: list[str], rounds: int, side: int) -> dict:
    """Milliseconds of a step of each variant in each round, and the casts in one step of each."""
    import torch
    from pytorch_device import warm_up

    steps = {variant: make_step(variant, name, device, side) for variant in variants}
    synchronize = getattr(torch, device).synchronize

    def milliseconds(step: Callable[[], object]) -> float:
        step()
        synchronize()
        begin = time.perf_counter()
        for _ in range(STEPS):
            step()
        synchronize()
        return (time.perf_counter() - begin) * 1e3 / STEPS

    for step in steps.values():
        milliseconds(step)
    times = []
    for i in range(rounds):
        warm_up(device)
        first = i % len(variants)
        times.append({variant: milliseconds(steps[variant]) for variant in variants[first:] + variants[:first]})
    return {"times": times, "casts": {variant: casts_in(step) for variant, step in steps.items()}}


def rows(name: str, devices: list[str], variants: list[str], options: argparse.Namespace) -> list[str]:
    runs = take_turns(__file__, devices, options.processes, name, "--models", name, "--rounds", options.rounds, "--side", options.side,
                      *(["--parts"] if options.parts else []))
    base = {device: statistics.median(one[BASE] for run in runs[device] for one in run["times"]) for device in devices}
    result = []
    for device in devices:
        for variant in variants:
            times = [[one[variant] for one in run["times"]] for run in runs[device]]
            cells = [name, device, variant, str(runs[device][0]["casts"][variant]), f"{statistics.median(sum(times, [])):.1f}"]
            if variant == BASE:
                cells += ["", "", f"{base[devices[-1]] / base[device]:.2f}"]
            else:
                added = [[one[variant] - one[BASE] for one in run["times"]] for run in runs[device]]
                of_processes = [statistics.median(one) for one in added]
                cells += [f"{statistics.median(sum(added, [])):.1f}", f"{min(of_processes):.1f} to {max(of_processes):.1f}", ""]
            result.append("| " + " | ".join(cells) + " |")
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", action="store_true", help="also time what makes up autocast's time")
    parser.add_argument("--devices", default="rvk,cuda")
    parser.add_argument("--models", nargs="*", default=MODELS)
    parser.add_argument("--rounds", type=at_least_one, default=12, help="in each process")
    parser.add_argument("--processes", type=at_least_one, default=2, help="for each device and model")
    parser.add_argument("--side", type=at_least_one, default=224, help="of an image, in pixels")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    variants = [BASE, *AUTOCAST, *(PARTS if options.parts else ())]
    if options.child:
        print(json.dumps(measure(options.models[0], options.child, variants, options.rounds, options.side)))
        return
    print("| model | device | step | casts | ms | adds | in single processes | speed |\n|---|---|---|---|---|---|---|---|")
    for name in options.models:
        print("\n".join(rows(name, options.devices.split(","), variants, options)), flush=True)


if __name__ == "__main__":
    main()
