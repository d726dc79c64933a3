"""Measures one host with several GPUs in one run: training, collectives, checkpoints and populations on 1, 2, 4, … devices.

    python benchmarks/gpu/several.py [--counts 1,2,4] [--devices rvk,cuda] [--parts PART…] [--program FILE] [--small]

Parts:
  training     ResNet-18 with DistributedDataParallel (batch 64 a device) and GPT-2 small with FSDP2 (8 × 512 a device):
               median time of a step, speed-up at the same batch per device, peak memory
  losses       GPT-2 with FSDP2 on the same batch of 8 sequences, whatever the number of devices: the largest difference
               of five losses from those of one device
  checkpoint   saved by torch.distributed.checkpoint on the largest number of devices, loaded on half of them: the largest
               difference of the next three losses from those of one device that went on
  all_reduce   float32 tensors of 1, 16 and 256 MiB, in GB/s; with cuda, NCCL's
  population   16,896 small networks of population_benchmark on 1, 2, 4, … devices; --program names it

--small makes everything small enough to try the program on a CPU driver, whose processes share a device. Prints Markdown.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import distributed
from distributed import MIB, REPOSITORY, available, step_of, timed

PARTS = ("training", "losses", "checkpoint", "all_reduce", "population")
BATCH, STEPS, MORE_STEPS = 8, 5, 3  # of losses and checkpoint
SIZES = (1, 16, 256)  # MiB


def wrapped(kind, network, device):
    """The network as it trains on several processes: with FSDP2 for GPT-2, with DistributedDataParallel for the others."""
    import torch
    import torch.distributed as dist

    if not dist.is_initialized():
        return network
    if kind != "gpt2":
        return torch.nn.parallel.DistributedDataParallel(network, device_ids=[device])
    from torch.distributed.fsdp import fully_shard

    for block in network.blocks:
        fully_shard(block)
    return fully_shard(network)


def training(device, options):
    """Returns the median time of a step in seconds and the peak memory in bytes, for each network."""
    import torch

    module = torch.get_device_module(device.type)
    figures = {}
    for kind in ("resnet18", "gpt2"):
        module.empty_cache()
        module.reset_peak_memory_stats()
        torch.manual_seed(0)
        network, loss_of, optimizer = getattr(distributed, kind)(device, options.small)
        run = wrapped(kind, network, device)
        if kind == "gpt2":  # FSDP2 has replaced the parameters
            optimizer = torch.optim.AdamW(run.parameters(), 1e-4)
        step = step_of(run, loss_of, optimizer)
        for _ in range(2 if options.small else 20):
            step()
        seconds = statistics.median(timed(lambda: step().item()) for _ in range(3 if options.small else 20))
        figures[kind] = {"seconds": seconds, "bytes": module.max_memory_allocated()}
        del network, loss_of, optimizer, run, step
    return figures


class Gpt2:
    """GPT-2 with FSDP2 on a part of a batch that is the same for every number of devices."""

    def __init__(self, device, rank, size, options):
        import torch

        torch.manual_seed(0)
        network, _, _ = distributed.gpt2(device, options.small)
        words, length = network.words.num_embeddings, network.places.num_embeddings
        everything = torch.randint(0, words, (2, BATCH, length), generator=torch.Generator().manual_seed(1))
        self.x, self.y = everything[:, rank * BATCH // size : (rank + 1) * BATCH // size].to(device)
        self.network = wrapped("gpt2", network, device)
        self.optimizer = torch.optim.AdamW(self.network.parameters(), 1e-3)

    def losses(self, steps):
        import torch
        import torch.distributed as dist

        found = []
        for _ in range(steps):
            self.optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(self.network(self.x).flatten(0, 1), self.y.flatten())
            loss.backward()
            self.optimizer.step()
            mean = loss.detach().clone()
            if dist.is_initialized():
                dist.all_reduce(mean, dist.ReduceOp.AVG)
            found.append(mean.item())
        return found

    def state(self):
        from torch.distributed.checkpoint.state_dict import get_state_dict

        network, optimizer = get_state_dict(self.network, self.optimizer)
        return {"network": network, "optimizer": optimizer}

    def save(self, folder):
        import torch.distributed.checkpoint as dcp

        dcp.save(self.state(), checkpoint_id=folder)

    def load(self, folder):
        import torch.distributed.checkpoint as dcp
        from torch.distributed.checkpoint.state_dict import set_state_dict

        state = self.state()
        dcp.load(state, checkpoint_id=folder)
        set_state_dict(self.network, self.optimizer, model_state_dict=state["network"], optim_state_dict=state["optimizer"])


def all_reduce(device, options):
    """Returns the rates of all_reduce by size, in GB/s."""
    import torch
    import torch.distributed as dist

    module = torch.get_device_module(device.type)
    rates = {}
    for size in SIZES[:2] if options.small else SIZES:
        tensor = torch.ones(size * MIB // 4, device=device)

        def reduce():
            dist.all_reduce(tensor, dist.ReduceOp.AVG)
            module.synchronize()

        reduce(), reduce()
        seconds = []
        for _ in range(7):
            dist.barrier()
            seconds.append(timed(reduce))
        if not tensor.eq(1).all():
            sys.exit(f"all_reduce of {size} MiB has a wrong result")
        rates[str(size)] = size * MIB / 1e9 / statistics.median(seconds)
    return rates


def worker(kind, rank, size, folder, options):
    """Runs the parts in one process. Rank 0 writes the figures to a file."""
    import torch

    if kind == "rvk":
        import torch_rvk  # noqa: F401
    import torch.distributed as dist

    module = torch.get_device_module(kind)
    device = torch.device(kind, rank % module.device_count())
    module.set_device(device)
    if size > 1:
        store = dist.FileStore(os.path.join(folder, f"store{size}"), size)
        dist.init_process_group("nccl" if kind == "cuda" else "rvk", store=store, rank=rank, world_size=size)
    figures = {"device": module.get_device_name(device)}
    checkpoint, counts = os.path.join(folder, "checkpoint"), options.numbers
    if "training" in options.parts:
        figures["training"] = training(device, options)
    if "losses" in options.parts or "checkpoint" in options.parts:
        trained = Gpt2(device, rank, size, options)
        figures["losses"] = trained.losses(STEPS)
        if "checkpoint" in options.parts and size == counts[-1] > 1:
            trained.save(checkpoint)
        if size == 1:
            figures["next"] = trained.losses(MORE_STEPS)
    if "checkpoint" in options.parts and size > 1 and 2 * size == counts[-1]:
        loaded = Gpt2(device, rank, size, options)
        loaded.load(checkpoint)
        figures["next"] = loaded.losses(MORE_STEPS)
    if "all_reduce" in options.parts and size > 1:
        figures["all_reduce"] = all_reduce(device, options)
    if rank == 0:
        with open(os.path.join(folder, f"figures{size}"), "w", encoding="utf-8") as file:
            json.dump(figures, file)
    if size > 1:
        dist.barrier()
        dist.destroy_process_group()


def run(kind, size, folder, arguments):
    """Starts `size` processes and returns the figures of rank 0."""
    variables = {**os.environ, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    if kind == "rvk":
        variables["CUDA_VISIBLE_DEVICES"] = ""  # torch.distributed.checkpoint asks CUDA if it is there
    command = [sys.executable, __file__, *arguments, "--worker", kind]
    started = [subprocess.Popen([*command, str(rank), str(size), folder], env=variables) for rank in range(size)]
    if any([process.wait() for process in started]):
        sys.exit(f"{kind} with {size} processes failed")
    with open(os.path.join(folder, f"figures{size}"), encoding="utf-8") as file:
        return json.load(file)


def largest_difference(first, second):
    return max(abs(a - b) for a, b in zip(first, second, strict=True))


def print_tables(kind, figures):
    """`figures`: by number of devices."""
    one = figures[min(figures)]
    print(f"\n### {kind} ({one['device']})\n")
    if "training" in one:
        print("| training | devices | ms for a step | speed-up | peak memory of a device, GiB |\n|---|---|---|---|---|")
        for name, title in ("resnet18", "ResNet-18, DDP"), ("gpt2", "GPT-2 small, FSDP2"):
            for size, each in figures.items():
                row = each["training"][name]
                ratio = size * one["training"][name]["seconds"] / row["seconds"] / min(figures)
                print(f"| {title} | {size} | {1e3 * row['seconds']:.1f} | {ratio:.2f} | {row['bytes'] / (1 << 30):.2f} |")
    if "losses" in one and 1 in figures:
        for size, each in figures.items():
            if size > 1:
                print(f"\n{STEPS} losses on {size} devices: at most {largest_difference(each['losses'], one['losses']):.1e} "
                      "from one device's.")
            if size > 1 and "next" in each:
                print(f"\nCheckpoint of {2 * size} devices loaded on {size}: the next {MORE_STEPS} losses are at most "
                      f"{largest_difference(each['next'], one['next']):.1e} from one device's.")
    rates = {size: each["all_reduce"] for size, each in figures.items() if "all_reduce" in each}
    if rates:
        sizes = list(next(iter(rates.values())))
        print(f"\n| all_reduce, GB/s | {' | '.join(f'{size} MiB' for size in sizes)} |\n|---{'|---' * len(sizes)}|")
        for number, each in rates.items():
            print(f"| {number} devices | {' | '.join(f'{each[size]:.2f}' for size in sizes)} |")


def population(options):
    """Prints the rates of a population on each number of devices."""
    import compare

    devices = ["+".join(f"gpu:{number}" for number in range(count)) for count in options.numbers]
    steps, members = (3, 64) if options.small else (1000, 16896)
    group = [compare.run_of("small", members, device, "throughput", steps=steps, rows_of="all") for device in devices]
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump({"repeats": 1 if options.small else 3, "groups": [group]}, file)
        file.flush()
        done = subprocess.run([options.program, file.name], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{options.program}: {done.stderr[-2000:]}")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    print(f"\n| population of {members} networks 16-32-16-1 | M network-steps/s | speed-up |\n|---|---|---|")
    for count, row in zip(options.numbers, rows, strict=True):
        rate, first = row["network_steps_per_second"], rows[0]["network_steps_per_second"]
        print(f"| {count} device{'s' if count > 1 else ''} | {rate / 1e6:.1f} | {rate / first:.2f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--counts", default="1,2,4")
    parser.add_argument("--devices", default="rvk,cuda")
    parser.add_argument("--parts", nargs="+", default=PARTS, choices=PARTS)
    parser.add_argument("--program", type=pathlib.Path, default=REPOSITORY / "build/release/benchmarks/population_benchmark")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--worker", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.numbers = sorted({int(word) for word in options.counts.split(",")})
    if options.numbers[0] < 1 or BATCH % options.numbers[-1]:
        parser.error(f"--counts {options.counts}: the numbers of devices must divide {BATCH}")
    if options.worker:
        kind, rank, size, folder = options.worker
        worker(kind, int(rank), int(size), folder, options)
        return
    if set(options.parts) - {"population"}:
        for kind in available(options.devices.split(",")):
            with tempfile.TemporaryDirectory() as folder:
                # The largest number first: it saves the checkpoint that half as many load.
                figures = {size: run(kind, size, folder, sys.argv[1:]) for size in reversed(options.numbers)}
            print_tables(kind, dict(sorted(figures.items())))
    if "population" in options.parts:
        population(options)


if __name__ == "__main__":
    main()
