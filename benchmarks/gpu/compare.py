#!/usr/bin/env python3
"""Measures populations of rekindle against PyTorch and JAX, in one run on one GPU.

    benchmarks/gpu/compare.py [--program build/release/benchmarks/population_benchmark] [--gpu gpu:0] [--output FOLDER]
    benchmarks/gpu/compare.py --tiny --gpu gpu:0 --peers cpu          tests this program, on any machine
    benchmarks/gpu/compare.py --only two-gpus                         needs gpu:0 and gpu:1
    benchmarks/gpu/compare.py --only causes --peers none              what the time of a network-step consists of

Parts (--only selects some of them, separated by commas):
  small, default   the networks of networks.py: one and many, every GPU shape in turn, and the peers of peers.py
  cpu              the default network on the CPU, against JAX on the CPU
  job              32,000 networks 54-32-16-1, 3 epochs of 800 rows at batch 8, on the GPU and on 2 CPU threads
  two-gpus         the small network, 16,896 of them, on one GPU and on two
  causes           the small and the default network with different kinds of rows: time in the kernel and elsewhere
Prints a table of ratios with their targets; --output saves all figures as JSON.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

import peers
from networks import NETWORKS, cases

HERE = os.path.dirname(os.path.abspath(__file__))
SHAPES = ("latency", "throughput")
#: {(network, networks, peer): target for the ratio of the peer's time to ours}
TARGET = {("small", 1, "PyTorch CUDA graph"): 20, ("small", 1, "PyTorch eager"): 400, ("small", 1, "JAX"): 6,
          **{("small", n, "JAX"): 3 for n in (132, 1056, 8448)},
          ("default", 1, "JAX"): 1.2, **{("default", n, "JAX"): 2 for n in (32, 256, 1024)}}
TARGET_NETWORK_STEPS = 200e6  # per second, with 8,448 small networks
TARGET_JOB_SECONDS = {"cpu": 20, "gpu": 0.4}
TARGET_CPU_AGAINST_JAX = 2
TARGET_TWO_GPUS = 1.9


def run_of(name, members, device, shape="automatic", **other):
    network = NETWORKS[name]
    return {"name": name, "members": members, "device": device, "shape": shape,
            "steps": network["steps"].get(members, 100),
            **{key: network[key] for key in ("model", "training", "batch_size", "rows", "shuffled", "rows_of")}} | other


def job(device, members, **other):
    """A minimal job: no norms, no dropout, no clipping; all networks read the same rows in order."""
    return {"name": "job", "members": members, "device": device, "model": cases.plain(54, [32, 16]),
            "training": cases.training(), "batch_size": 8, "rows": 800, "shuffled": False, "rows_of": "all",
            "steps": 100, "calls": 3} | other


def causes(device):
    """Runs that differ in which rows the networks read, as their names say."""
    def small(rows_are, members=8448, **other):
        return run_of("small", members, device) | {"name": f"small, {rows_are}"} | other

    def default(rows_are, members, **other):
        return run_of("default", members, device) | {"name": f"default, {rows_are}"} | other

    found = []
    for members in (132, 1056, 8448):
        found += [small("the same order for all", members, rows_of="all"), small("windows 7919 batches apart", members)]
    found += [small("the same window for each", distance=0), small("windows 1 batch apart", distance=1),
              small("windows, 256 rows", rows=256), small("windows, 65,536 rows", rows=65536)]
    for members in (1, 32, 256, 1024, 2048):
        found += [default("the same order for all", members, rows_of="all"),
                  default("consecutive windows", members, shuffled=False), default("shuffled, separate for each", members)]
    return found


def groups(options):
    parts, gpu = options.only, options.gpu
    found = []
    for name in NETWORKS:
        if name.split(",")[0] in parts:
            found += [[run_of(name, members, gpu, shape) for shape in SHAPES] for members in NETWORKS[name]["steps"]]
    if "cpu" in parts:
        found += [[run_of("default", members, "cpu", steps=steps)] for members, steps in ((1, 4000), (32, 200))]
    if "job" in parts:
        members = 64 if options.tiny else 32000
        found += [[job(gpu, members, shape=shape) for shape in SHAPES]]
        found += [[job("cpu", members, threads=2)]]
    if "two-gpus" in parts:
        found += [[run_of("small", 16896, device, shape, steps=1000, rows_of="all")
                   for device in (gpu, "gpu:0+gpu:1")] for shape in SHAPES]
        found += [[run_of("default", 2048, device, shape, steps=100) for device in (gpu, "gpu:0+gpu:1")]
                  for shape in SHAPES]
    if "causes" in parts:
        found += [[run] for run in causes(gpu)]
    if options.tiny:
        found = [[run | {"steps": 3, "members": min(run["members"], 64)} for run in group] for group in found]
    return found


def measure_ours(options):
    rows = []
    for group in groups(options):
        # The job on the CPU takes so long that one timing is accurate enough.
        repeats = 1 if group[0]["name"] == "job" and group[0]["device"] == "cpu" else options.repeats
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump({"repeats": repeats, "groups": [group]}, file)
            file.flush()
            done = subprocess.run([options.program, file.name], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        new = [json.loads(line) for line in done.stdout.splitlines()]
        if done.returncode != 0:
            new.append({"name": group[0]["name"], "members": group[0]["members"], "device": group[0]["device"],
                        "failed": done.stderr[-2000:]})
        for row in new:
            shown = (f"{row['network_steps_per_second'] / 1e6:12.4f} M network-steps/s "
                     f"{row['microseconds_per_network_step']:10.4f} µs each" if "seconds" in row else row["failed"])
            if "one_call" in row:
                whole, kernels = row["one_call"]["seconds"] * 1e3, row["one_call"]["in_kernels"] * 1e3
                shown += f"; a call {whole:.2f} ms, kernels {kernels:.2f}, other {whole - kernels:.2f}"
            print(f"{row['name']:36s} x {row['members']:5d} {row['device']:12s} {row.get('shape', ''):10s} {shown}", flush=True)
        rows += new
    return rows


def measure_peers(options, names, device, only, sizes=None):
    arguments = argparse.Namespace(device=device, only=only, network="", repeats=options.repeats, seconds=options.seconds,
                                   thorough=options.thorough, compile=False, command_buffers=False, tiny=options.tiny)
    rows = peers.measure(arguments, names, sizes)
    for row in rows:
        if "failed" in row:
            print(json.dumps(row)[:2200], flush=True)
    return rows


def best(rows):
    """{(name, members, device): row} with the shortest time."""
    found = {}
    for row in rows:
        key = (row["name"], row["members"], row["device"])
        if "seconds" in row and (key not in found or row["seconds"] < found[key]["seconds"]):
            found[key] = row
    return found


def times(row):
    return f"{row['microseconds_per_network_step']:.4g} µs"


def peer_rows(ours, theirs, gpu):
    """(what, ours, the peer's, ratio, target ratio): the peer's fastest variant, and JAX's plain one if different."""
    mine = best(ours)
    plain = [row | {"peer": f"{row['peer']}, plain"} for row in theirs if "products dot, parameters tree, unroll 1, threefry"
             in row.get("variant", "")]
    for (name, members, peer), row in sorted(peers.fastest(theirs + plain).items(), key=str):
        device = "cpu" if row["on"] == "cpu" else gpu
        if (name, members, device) not in mine:
            continue
        us = mine[name, members, device]
        target = TARGET_CPU_AGAINST_JAX if device == "cpu" else TARGET.get((name, members, peer.split(",")[0]))
        ratio = row["microseconds_per_network_step"] / us["microseconds_per_network_step"]
        yield f"{name} x {members} on {device}: {peer}", times(us), times(row), ratio, target


def own_rows(ours, gpu):
    """The figures without a peer, in the same form; for seconds, the ratio is the target divided by ours."""
    mine = best(ours)
    for (name, members, device), row in mine.items():
        if name.startswith("small") and members == 8448:
            rate = row["network_steps_per_second"]
            yield f"{name} x {members}: network-steps per second", f"{rate / 1e6:.1f} M", "", rate / TARGET_NETWORK_STEPS, 1
        if name == "job":
            target = TARGET_JOB_SECONDS["cpu" if device == "cpu" else "gpu"]
            yield (f"job of {members} networks on {device}", f"{row['seconds']:.3f} s", f"target <= {target:g} s",
                   target / row["seconds"], 1)
        if "+" in device and (name, members, gpu) in mine:
            one = mine[name, members, gpu]["seconds"]
            yield (f"{name} x {members}: {device} against one", f"{row['seconds'] * 1e3:.2f} ms", f"{one * 1e3:.2f} ms",
                   one / row["seconds"], TARGET_TWO_GPUS)


def print_table(ours, theirs, options):
    rows = [("what", "ours", "peer", None, None), *peer_rows(ours, theirs, options.gpu), *own_rows(ours, options.gpu)]
    if options.markdown:
        print("\n| what | ours | peer | ratio | target | |\n|---|---|---|---|---|---|")
    for what, mine, peer, ratio, target in rows if not options.markdown else rows[1:]:
        reached = "" if target is None else ("reached" if ratio >= target else "missed")
        cells = [what, mine, peer, "ratio" if ratio is None else f"{ratio:.2f}", "" if target is None else f">= {target:g}",
                 reached]
        if options.markdown:
            print(f"| {' | '.join(cells)} |")
        else:
            print(f"{cells[0]:62s}{cells[1]:>14s}{cells[2]:>18s}{cells[3]:>9s} {cells[4]:>8s} {cells[5]}")


def show(options):
    ours, theirs = [], []
    for name in options.show:
        with open(name) as file:
            figures = json.load(file)
        ours += figures["ours"]
        theirs += figures["peers"]
    print_table(ours, theirs, options)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=os.path.join(HERE, "..", "..", "build", "release", "benchmarks", "population_benchmark"))
    parser.add_argument("--gpu", default="gpu:0")
    parser.add_argument("--only", default="small,default,cpu,job", type=lambda text: text.split(","))
    parser.add_argument("--peers", choices=("cuda", "cpu", "none"), default="cuda", help="where PyTorch and JAX run")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=60, help="per framework, after which nothing new is started")
    parser.add_argument("--thorough", action="store_true", help="try every way to write the step in JAX")
    parser.add_argument("--output", default="")
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--markdown", action="store_true", help="print the table as Markdown")
    parser.add_argument("--show", nargs="+", default=[], help="only print the table of earlier --output files")
    options = parser.parse_args()
    if options.show:
        return show(options)
    ours = measure_ours(options)
    names = [name for name in ("small", "small, same rows", "default") if name.split(",")[0] in options.only]
    theirs = []
    if options.peers != "none" and names:
        theirs += [row | {"on": options.peers} for row in measure_peers(options, names, options.peers, "")]
    if options.peers != "none" and "cpu" in options.only:
        rows = measure_peers(options, ["default"], "cpu", "jax", {1: 1000, 32: 50})
        theirs += [row | {"on": "cpu", "peer": "JAX on the CPU"} for row in rows]
    print_table(ours, theirs, options)
    if options.output:
        os.makedirs(options.output, exist_ok=True)
        with open(os.path.join(options.output, "figures.json"), "w") as file:
            json.dump({"ours": ours, "peers": theirs}, file, indent=1)
    sys.exit(any("failed" in row for row in ours + theirs))


if __name__ == "__main__":
    main()
