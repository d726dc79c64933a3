#!/usr/bin/env python3
"""Measures PyTorch and JAX on the networks of the GPU benchmarks, on one device.

    benchmarks/gpu/peers.py [--device cuda|cpu] [--output peers.json] [--only torch|jax] [--thorough] [--tiny]

Float32 with the highest precision (no TF32), warm-up not included, synchronized before and after timing, median of
--repeats. PyTorch: one network, eager with the default AdamW, with the fused one, and the whole step as one CUDA graph.
JAX: jit + lax.scan for one network, vmap + scan for many, donated buffers; --thorough tries more variants of the step.
The fastest variant is the peer. Each framework runs in its own process, one after the other, so that neither holds the
other's memory; --seconds limits each. --tiny is for testing this program.
"""
import argparse
import json
import os
import subprocess
import sys

from networks import NETWORKS

HERE = os.path.dirname(os.path.abspath(__file__))
#: Lets the driver record loops of kernels once, where XLA supports it.
COMMAND_BUFFERS = "--xla_gpu_enable_command_buffer=+WHILE,+DYNAMIC_SLICE_FUSION --xla_gpu_graph_min_graph_size=1"


def run_peer(program, options, environment, label):
    """The rows that the peer printed, even if it failed midway; the last row says what went wrong."""
    command = [sys.executable, os.path.join(HERE, program), json.dumps(options)]
    rows = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          env=os.environ | environment) as process:
        output, errors = process.communicate()
        for line in output.splitlines():
            if line.startswith("{"):
                rows.append(json.loads(line) | label)
    if process.returncode != 0:
        rows.append({"program": program, "failed": errors[-2000:]} | label)
    return rows


def measure(options, names=tuple(NETWORKS), counts=None):
    """All rows; `names`: the networks to measure; `counts`: {networks: steps}, replacing those of networks.py."""
    sizes = [(name, members, 3 if options.tiny else steps)
             for name in names if options.network in ("", name)
             for members, steps in (counts or NETWORKS[name]["steps"]).items() if not options.tiny or members <= 132]
    common = {"sizes": sizes, "repeats": options.repeats, "seconds": options.seconds, "thorough": options.thorough}
    tf32 = {"NVIDIA_TF32_OVERRIDE": "0"}
    rows = []
    if options.only in ("", "torch"):
        rows += run_peer("torch_peer.py", common | {
            "device": options.device, "compile": options.compile, "eager_steps": 10 if options.tiny else 300,
            "graph_steps": 10 if options.tiny else 3000}, tf32, {})
    if options.only in ("", "jax"):
        jax = {"JAX_PLATFORMS": options.device, "XLA_PYTHON_CLIENT_PREALLOCATE": "false"} | tf32
        rows += run_peer("jax_peer.py", common, jax, {})
        if options.command_buffers:
            flags = f"{os.environ.get('XLA_FLAGS', '')} {COMMAND_BUFFERS}"
            rows += run_peer("jax_peer.py", common | {"thorough": False}, jax | {"XLA_FLAGS": flags}, {"flags": "command buffers"})
    return rows


def fastest(rows):
    """{(network, networks, peer): row} with the shortest time."""
    best = {}
    for row in rows:
        time = row.get("microseconds_per_network_step")
        key = (row.get("network"), row.get("networks"), row.get("peer"))
        if time is not None and (key not in best or time < best[key]["microseconds_per_network_step"]):
            best[key] = row
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--output", default="")
    parser.add_argument("--only", choices=("", "torch", "jax"), default="")
    parser.add_argument("--network", choices=("", *NETWORKS), default="")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=60, help="per framework, after which nothing new is started")
    parser.add_argument("--thorough", action="store_true")
    parser.add_argument("--compile", action="store_true", help="also measure torch.compile")
    parser.add_argument("--command-buffers", action="store_true", help="also JAX with XLA's command buffers for loops")
    parser.add_argument("--tiny", action="store_true")
    options = parser.parse_args()
    rows = measure(options)
    for row in rows:
        time = row.get("microseconds_per_network_step")
        if time is None:
            print(json.dumps(row)[:2200], flush=True)
        else:
            print(f"{row['network']:16s} x {row['networks']:5d}  {time:10.4f} µs per network-step  {row['peer']} "
                  f"{row.get('variant', '')} {row.get('flags', '')}", flush=True)
    if options.output:
        with open(options.output, "w") as file:
            json.dump(rows, file, indent=1)
    sys.exit(any("failed" in row for row in rows))


if __name__ == "__main__":
    main()
