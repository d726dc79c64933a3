"""Compares operators and training steps on rvk with PyTorch's CUDA on the same GPU, in float32 without TF32.

    python benchmarks/gpu/pytorch_device.py [--only WORD] [--rounds N] [--device rvk] [--against cuda]

Each row: milliseconds on both, their ratio, and the limit that docs/performance.md promises. The two devices alternate,
each in its own process; figures are medians over the rounds, each of as many runs as fill a tenth of a second. With
--against '' nothing is compared, for machines without CUDA.
"""

import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import time

import torch
from torch import nn

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "pytorch"))

from models.residual import ResNet18  # noqa: E402 (from the tests)

torch.backends.cuda.matmul.allow_tf32 = False
torch.backends.cudnn.allow_tf32 = False


def matrix_product(device, size=4096):
    a, b = torch.randn(size, size, device=device), torch.randn(size, size, device=device)
    return lambda: torch.mm(a, b)


def linear_layer(device):
    x, w, b = torch.randn(4096, 1024, device=device), torch.randn(4096, 1024, device=device), torch.randn(4096, device=device)
    return lambda: nn.functional.linear(x, w, b)


def convolution_operands(device):
    x = torch.randn(32, 64, 56, 56, device=device)
    w = torch.randn(64, 64, 3, 3, device=device)
    return x, w, torch.randn(32, 64, 56, 56, device=device)


def convolution(device):
    x, w, _ = convolution_operands(device)
    return lambda: nn.functional.conv2d(x, w, padding=1)


def convolution_backward(device, mask):
    x, w, gradient = convolution_operands(device)
    return lambda: torch.ops.aten.convolution_backward(gradient, x, w, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1, mask)


def add(device):
    a, b = torch.randn(64 << 20, device=device), torch.randn(64 << 20, device=device)
    return lambda: a + b


def total(device):
    a = torch.randn(64 << 20, device=device)
    return lambda: a.sum()


def attention(device):
    q, k, v = (torch.randn(4, 8, 1024, 64, device=device) for _ in range(3))
    return lambda: nn.functional.scaled_dot_product_attention(q, k, v)


def training_step(network, x, y, optimizer):
    def step():
        optimizer.zero_grad(set_to_none=True)
        nn.functional.cross_entropy(network(x), y).backward()
        optimizer.step()
    return step


def small_network(device):
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(54, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 10)).to(device)
    x, y = torch.randn(32, 54).to(device), torch.randint(0, 10, (32,)).to(device)
    return training_step(network, x, y, torch.optim.AdamW(network.parameters()))


def resnet_step(device):
    torch.manual_seed(0)
    network = ResNet18(1000).to(device)
    x, y = torch.randn(64, 3, 224, 224).to(device), torch.randint(0, 1000, (64,)).to(device)
    return training_step(network, x, y, torch.optim.SGD(network.parameters(), 0.01, momentum=0.9))


# Name, factory of the timed function, the largest ratio that meets the goal.
CASES = (
    ("matrix product 4096", matrix_product, 2.0),
    ("linear layer 4096 x 1024 to 4096", linear_layer, None),
    ("conv2d 32x64x56x56 3x3 forward", convolution, 3.0),
    ("conv2d 32x64x56x56 3x3 input gradient", lambda d: convolution_backward(d, [True, False, False]), 3.0),
    ("conv2d 32x64x56x56 3x3 weight gradient", lambda d: convolution_backward(d, [False, True, False]), 3.0),
    ("64 M elements, add", add, 1.3),
    ("64 M elements, sum", total, 1.3),
    ("attention 4x8x1024x64", attention, None),
    ("small MLP, batch 32, training step", small_network, 1.0),
    ("ResNet-18, batch 64, training step", resnet_step, 3.0),
)


def synchronize(device):
    getattr(torch, torch.device(device).type).synchronize()


def seconds(function, device, runs):
    synchronize(device)
    begin = time.perf_counter()
    for _ in range(runs):
        function()
    synchronize(device)
    return (time.perf_counter() - begin) / runs


def serve(device):
    """Child process for one device: reads "prepare NUMBER" and "time" from its input, answers with seconds."""
    function = runs = None
    for line in sys.stdin:
        word, *rest = line.split()
        if word == "prepare":
            function = CASES[int(rest[0])][1](device)
            for _ in range(3):
                seconds(function, device, 1)
            runs = max(1, min(1000, int(0.1 / seconds(function, device, 3))))
            print(runs, flush=True)
        else:
            print(seconds(function, device, runs), flush=True)


class Child:
    """One device in its own process: PyTorch's autograd follows the streams of only one accelerator per process."""

    def __init__(self, device):
        # With rvk registered, PyTorch uses it as the process's accelerator, and CUDA's backward passes fail.
        alone = {"TORCH_DEVICE_BACKEND_AUTOLOAD": "1" if device.partition(":")[0] == "rvk" else "0"}
        self.process = subprocess.Popen([sys.executable, __file__, "--child", device], text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, env=os.environ | alone)

    def ask(self, text):
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit(f"the child process ended with status {self.process.wait()}; its message is above")
        return float(answer)


def measure(number, children, rounds):
    """Median seconds of each child's device; the devices take turns."""
    for child in children:
        child.ask(f"prepare {number}")
    times = [[] for _ in children]
    for _ in range(rounds):
        for child, list_of_times in zip(children, times):
            list_of_times.append(child.ask("time"))
    return [statistics.median(one) for one in times]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="run only cases whose name contains this text")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--device", default="rvk")
    parser.add_argument("--against", default="cuda")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        serve(options.child)
        return
    devices = [options.device] + ([options.against] if options.against else [])
    print(f"| case | {' ms | '.join(devices)} ms | ratio | at most |\n|---|{'---|' * (len(devices) + 2)}")
    children = [Child(device) for device in devices]
    for number, (name, _, most) in enumerate(CASES):
        if options.only in name:
            times = measure(number, children, options.rounds)
            ratio = f"{times[0] / times[1]:.2f}" if len(times) > 1 else "–"
            print(f"| {name} | {' | '.join(f'{1e3 * t:.3f}' for t in times)} | {ratio} | {most or '–'} |", flush=True)


if __name__ == "__main__":
    main()
