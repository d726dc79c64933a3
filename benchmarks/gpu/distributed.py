"""Measures training with DistributedDataParallel on one and on several devices, the rates of all_reduce, send and pinned copies,
and how long an all_reduce of one number takes.

    python benchmarks/gpu/distributed.py [--processes N] [--devices rvk,cuda] [--rounds N] [--only ROW…] [--small]

Each process uses one device: rvk with the backend rvk, and cuda with NCCL if PyTorch can use CUDA. Prints the median time of
a step for each way to train, and the speed-up with the same batch size per device. The ways alternate in the same processes
and all devices train at the same time, so that they see the same clocks and the same load. --small makes everything small
enough to try the program on a CPU driver.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
ROWS = ("resnet18", "gpt2", "all_reduce", "one_number", "send")
MIB = 1 << 20
ALONE = "each device alone"
STEPS = 10  # of a round


def resnet18(device, small):
    """Batch 64 of 224 × 224 images, SGD."""
    import torch

    sys.path.insert(0, str(REPOSITORY / "tests" / "pytorch"))
    try:
        from torchvision.models import resnet18 as make

        network = make()
    except ImportError:
        from models.residual import ResNet18

        network = ResNet18(1000)
    side, batch = (32, 4) if small else (224, 64)
    x, y = torch.randn(batch, 3, side, side, device=device), torch.randint(0, 1000, (batch,)).to(device)
    network.to(device)
    return network, lambda run: torch.nn.functional.cross_entropy(run(x), y), torch.optim.SGD(network.parameters(), 0.01, 0.9)


def gpt2(device, small):
    """GPT-2 small, 8 sequences of 512 tokens, float32, AdamW."""
    import torch
    from torch import nn

    layers, width, heads, length, batch, words = (2, 64, 4, 32, 2, 100) if small else (12, 768, 12, 512, 8, 50257)

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU("tanh"), nn.Linear(4 * width, width))

        def forward(self, x):
            q, k, v = (t.unflatten(2, (heads, -1)).transpose(1, 2) for t in self.qkv(self.before(x)).chunk(3, 2))
            attended = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(attended.transpose(1, 2).flatten(2))
            return x + self.mlp(self.between(x))

    class Network(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
            self.blocks, self.last = nn.Sequential(*[Block() for _ in range(layers)]), nn.LayerNorm(width)

        def forward(self, x):
            x = self.words(x) + self.places.weight
            return self.last(self.blocks(x)) @ self.words.weight.t()

    network = Network().to(device)
    x, y = (torch.randint(0, words, (batch, length)).to(device) for _ in range(2))
    optimizer = torch.optim.AdamW(network.parameters(), 1e-4)
    return network, lambda run: nn.functional.cross_entropy(run(x).flatten(0, 1), y.flatten()), optimizer


def step_of(run, loss_of, optimizer):
    """Returns a function that trains for one step. It does not wait for the device; its result is the loss."""

    def step():
        optimizer.zero_grad()
        loss = loss_of(run)
        loss.backward()
        optimizer.step()
        return loss

    return step


def nothing(_, bucket):
    """A communication hook that exchanges no gradients."""
    import torch

    future = torch.futures.Future(devices=[bucket.buffer().device])
    future.set_result(bucket.buffer())
    return future


def ways_to_train(make, device):
    """Returns a function for each way to train, which trains for one step and does not wait for the device."""
    import torch

    def trained(parallel=None, hook=None):
        torch.manual_seed(0)
        network, loss_of, optimizer = make()
        run = network
        if parallel is not None:
            run = torch.nn.parallel.DistributedDataParallel(network, device_ids=[device], **parallel)
        if hook:
            run.register_comm_hook(None, hook)
        return step_of(run, loss_of, optimizer)

    return {
        ALONE: trained(),
        "DistributedDataParallel": trained({}),
        "with buckets of 4 MiB": trained({"bucket_cap_mb": 4}),
        "with gradient_as_bucket_view": trained({"gradient_as_bucket_view": True}),
        "with both": trained({"bucket_cap_mb": 4, "gradient_as_bucket_view": True}),
        "no exchange of gradients": trained({}, nothing),
        "no exchange of gradients or buffers": trained({"broadcast_buffers": False}, nothing),
    }


def seconds_of_training(make, device, options):
    """Returns the median time of a step for each way to train, over rounds of several steps."""
    import torch
    import torch.distributed as dist

    module = torch.get_device_module(device.type)
    ways = ways_to_train(lambda: make(device, options.small), device)

    def seconds_of(step, count):
        module.synchronize()
        dist.barrier()
        begin = time.perf_counter()
        for _ in range(count):
            step()
        module.synchronize()
        return (time.perf_counter() - begin) / count

    for step in ways.values():
        seconds_of(step, 6)  # pipelines are compiled, the buckets are rebuilt, and the clocks rise
    seconds = {way: [] for way in ways}
    for _ in range(options.rounds):
        for way, step in ways.items():
            seconds[way].append(seconds_of(step, STEPS))
    return {way: statistics.median(each) for way, each in seconds.items()}


def timed(function):
    begin = time.perf_counter()
    function()
    return time.perf_counter() - begin


def rates_of_copies(device, options):
    """Returns the rates of pinned copies in MiB/s: to the host, to the device, and in both directions at once."""
    import torch

    module = torch.get_device_module(device.type)
    size = (4 if options.small else 256) * MIB
    on_device = [torch.zeros(size, dtype=torch.uint8, device=device) for _ in range(2)]
    on_host = [torch.zeros(size, dtype=torch.uint8).pin_memory() for _ in range(2)]
    streams = [torch.Stream(device) for _ in range(2)]

    def copy(directions):
        for number in directions:
            with module.stream(streams[number]):
                pair = (on_host[0], on_device[0]) if number == 0 else (on_device[1], on_host[1])
                pair[0].copy_(pair[1], non_blocking=True)
        module.synchronize()

    rates = {}
    for name, directions in ("to the host", [0]), ("to the device", [1]), ("both", [0, 1]):
        copy(directions)
        rates[name] = size / MIB / statistics.median(timed(lambda: copy(directions)) for _ in range(5))
    return rates


def all_reduce(device, options):
    """Returns the rates of an all_reduce in float32 and of pinned copies, in MiB/s."""
    import torch
    import torch.distributed as dist

    size = (4 if options.small else 256) * MIB
    tensor = torch.ones(size // 4, device=device)
    module = torch.get_device_module(device.type)

    def reduce():
        dist.all_reduce(tensor, dist.ReduceOp.AVG)
        module.synchronize()

    for _ in range(2):
        reduce()
    seconds = []
    for _ in range(5):
        dist.barrier()
        seconds.append(timed(reduce))
    if not torch.equal(tensor[:1000].cpu(), torch.ones(1000)):
        sys.exit("all_reduce has a wrong result")
    dist.barrier()
    return {"all_reduce": size / MIB / statistics.median(seconds), **rates_of_copies(device, options)}


def seconds_of_one_number(device):
    """Returns the median time of an all_reduce of a float32 whose result the host reads."""
    import torch
    import torch.distributed as dist

    tensor = torch.ones(1, device=device)

    def reduce():
        dist.all_reduce(tensor, dist.ReduceOp.AVG)
        if tensor.item() != 1:
            sys.exit("all_reduce has a wrong result")

    for _ in range(10):
        reduce()
    return statistics.median(timed(reduce) for _ in range(100))


def rate_of_send(device, options):
    """Returns the rate in MiB/s at which rank 1 receives a tensor from rank 0, until rank 0 knows that it has arrived."""
    import torch
    import torch.distributed as dist

    size = (4 if options.small else 256) * MIB
    tensor, answer = torch.zeros(size // 4, device=device), torch.zeros(1)

    def send():
        if dist.get_rank() == 0:
            dist.send(tensor, 1)
            dist.recv(answer.to(device), 1)
        elif dist.get_rank() == 1:
            dist.recv(tensor, 0)
            dist.send(answer.to(device), 0)
        torch.get_device_module(device.type).synchronize()

    for _ in range(2):
        send()
    seconds = []
    for _ in range(5):
        dist.barrier()
        seconds.append(timed(send))
    dist.barrier()
    return {"send": size / MIB / statistics.median(seconds)}


def worker(kind, rank, size, folder, options):
    """Runs the measurements in one process. Rank 0 writes the results to a file."""
    import torch

    if kind == "rvk":
        import torch_rvk  # noqa: F401
    import torch.distributed as dist

    device = torch.device(kind, rank % torch.get_device_module(kind).device_count())
    torch.get_device_module(kind).set_device(device)
    store = dist.FileStore(os.path.join(folder, "store"), size)
    dist.init_process_group("nccl" if kind == "cuda" else "rvk", store=store, rank=rank, world_size=size)
    figures = {"device": torch.get_device_module(kind).get_device_name(device)}
    for name, make in ("resnet18", resnet18), ("gpt2", gpt2):
        if name in options.only:
            figures[name] = seconds_of_training(make, device, options)
    if "all_reduce" in options.only:
        figures.update(all_reduce(device, options))
    if "one_number" in options.only:
        figures["one number"] = seconds_of_one_number(device)
    if "send" in options.only:
        figures.update(rate_of_send(device, options))
    if rank == 0:
        with open(os.path.join(folder, "figures"), "w", encoding="utf-8") as file:
            json.dump(figures, file)
    dist.barrier()
    dist.destroy_process_group()


def run(kind, size, arguments):
    """Starts `size` processes and returns the results of rank 0."""
    with tempfile.TemporaryDirectory() as folder:
        variables = {**os.environ, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
        command = [sys.executable, __file__, *arguments, "--worker"]
        started = [subprocess.Popen([*command, kind, str(rank), str(size), folder], env=variables) for rank in range(size)]
        if any([process.wait() for process in started]):
            sys.exit(f"{kind} with {size} processes failed")
        with open(os.path.join(folder, "figures"), encoding="utf-8") as file:
            return json.load(file)


def available(kinds):
    probe = "import torch; print(torch.cuda.is_available())"
    variables = {**os.environ, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    cuda = subprocess.run([sys.executable, "-c", probe], env=variables, capture_output=True, text=True, check=True).stdout
    return [kind for kind in kinds if kind != "cuda" or cuda.strip() == "True"]


def print_table(kind, size, figures):
    backend = "NCCL" if kind == "cuda" else "rvk"
    print(f"\n{kind} ({figures['device']}), backend {backend}, {size} processes\n")
    if "resnet18" in figures or "gpt2" in figures:
        print("| network | training | ms for a step | speed-up |\n|---|---|---|---|")
    for name in ("resnet18", "gpt2"):
        for way, seconds in figures.get(name, {}).items():
            ratio = "" if way == ALONE else f"{size * figures[name][ALONE] / seconds:.2f}"
            print(f"| {name} | {way} | {1e3 * seconds:.1f} | {ratio} |")
    if "all_reduce" in figures:
        print("\n| pinned copies and all_reduce | GB/s |\n|---|---|")
        for name in ("to the host", "to the device", "both", "all_reduce"):
            print(f"| {name} | {figures[name] * MIB / 1e9:.2f} |")
        print(f"\nall_reduce has {figures['all_reduce'] / figures['both']:.2f} of the rate of both copies at once.")
    if "one number" in figures:
        print(f"\nall_reduce of one number that the host reads: {1e3 * figures['one number']:.3f} ms")
    if "send" in figures:
        print(f"\nsend and receive, one tensor from rank 0 to rank 1: {figures['send'] * MIB / 1e9:.2f} GB/s")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--devices", default="rvk,cuda")
    parser.add_argument("--rounds", type=int, default=6, help=f"rounds of {STEPS} steps for each way to train")
    parser.add_argument("--only", nargs="+", default=ROWS, choices=ROWS)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--worker", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        kind, rank, size, folder = options.worker
        worker(kind, int(rank), int(size), folder, options)
        return
    for kind in available(options.devices.split(",")):
        print_table(kind, options.processes, run(kind, options.processes, sys.argv[1:]))


if __name__ == "__main__":
    main()
