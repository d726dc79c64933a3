"""Times training of torchvision's ResNet-18 with nn.DataParallel on all devices and on the first one.

    python benchmarks/gpu/data_parallel.py [--device rvk|cuda] [--batch N] [--steps N]

Prints the median time of a step for each, and the ratio. The two alternate, so both see the same load on the machine.
"""

import argparse
import statistics
import time

import torch
from torch import nn


def step_of(network, device, batch):
    optimizer = torch.optim.SGD(network.parameters(), 0.01, momentum=0.9)
    x, y = torch.randn(batch, 3, 224, 224, device=device), torch.randint(0, 1000, (batch,), device=device)

    def step():
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(network(x), y)
        loss.backward()
        optimizer.step()
        return loss.item()  # waits for the devices

    return step


def seconds_of(step):
    begin = time.perf_counter()
    step()
    return time.perf_counter() - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="rvk", choices=("rvk", "cuda"))
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--steps", type=int, default=10)
    options = parser.parse_args()
    import torchvision

    if options.device == "rvk":
        import torch_rvk  # noqa: F401
    count = torch.get_device_module(options.device).device_count()
    steps = {}
    for ids in [0], list(range(count)):
        torch.manual_seed(0)
        network = nn.DataParallel(torchvision.models.resnet18().to(options.device), device_ids=ids)
        steps[len(ids)] = step_of(network, options.device, options.batch)
    losses = {number: [step() for _ in range(3)] for number, step in steps.items()}
    times = {number: [] for number in steps}
    for _ in range(options.steps):
        for number, step in steps.items():
            times[number].append(seconds_of(step))
    for number, seconds in times.items():
        loss = ", ".join(f"{each:.4f}" for each in losses[number])
        print(f"{number} device(s): {1e3 * statistics.median(seconds):.1f} ms for a batch of {options.batch}; first losses {loss}")
    if count > 1:
        print(f"ratio {statistics.median(times[1]) / statistics.median(times[count]):.2f}")


if __name__ == "__main__":
    main()
