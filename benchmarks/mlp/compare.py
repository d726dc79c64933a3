#!/usr/bin/env python3
"""Compares one training step of the engine with PyTorch eager and JAX, on one CPU core.

    benchmarks/mlp/compare.py [--tool build/release/tests/rekindle_mlp_tool] [--repeats 7] [--only NAME] [--no-jax]

Needs PyTorch, JAX (unless --no-jax) and the tool, which is built with the tests. Every peer gathers its batch by index,
then does forward, loss, backward, clipping (if the case has it) and AdamW. All run in turn on one pinned CPU core with
one thread; a figure is the median of the repeats. Times are CPU times of the processes, which do not count waiting for
the CPU, so that other jobs on the machine disturb less; --wall uses wall time instead.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import numpy as np
import torch
from torch import nn

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "tests", "mlp"))
import cases  # noqa: E402
from reference import hashed  # noqa: E402

#: name, model, training, batch size, rows, shuffled, steps of (engine, PyTorch, JAX) per repeat, target ratios
CASES = [
    ("16-32-16-1 batch 8", cases.plain(16, [32, 16]), cases.training(), 8, 20000, False, (40000, 300, 4000),
     {"eager, default AdamW": 250, "eager, fused AdamW": 150, "JAX scan": 5}),
    ("default 54-128-64-1 batch 32", cases.default(54, [128, 64]), cases.training(clip_norm=1.0), 32, 20000, False,
     (2000, 200, 1000), {"eager, default AdamW": 20, "eager, fused AdamW": 15, "JAX scan": 2}),
    ("64-256-128-1 batch 256", cases.plain(64, [256, 128]), cases.training(), 256, 20000, False, (200, 100, 100),
     {"eager, default AdamW": 2.5, "eager, fused AdamW": 2.5}),
    ("64-256-128-1 batch 4096", cases.plain(64, [256, 128]), cases.training(), 4096, 20000, False, (15, 15, 15), {}),
    ("per-minute 19-32-16-1 batch 16", cases.default(19, [32, 16]), cases.training(clip_norm=1.0), 16, 900000, True,
     (56250, 200, 2000), {"eager, fused AdamW": 100}),
]


class TorchPeer:
    def __init__(self, model, training, batch, x, y, order, fused):
        modules = []
        for layer in model["layers"]:
            kind = layer["kind"]
            if kind == "linear":
                modules.append(nn.Linear(layer["inputs"], layer["outputs"]))
            elif kind == "layer_norm":
                modules.append(nn.LayerNorm(layer["inputs"]))
            elif kind == "activation":
                modules.append({"relu": nn.ReLU, "silu": nn.SiLU}[layer["activation"]]())
            else:
                modules.append(nn.Dropout(layer["dropout_rate"]))
        self.model = nn.Sequential(*modules)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3, weight_decay=0.01, fused=True if fused else None)
        self.clip, self.batch = training["clip_norm"], batch
        self.x, self.y = torch.from_numpy(x), torch.from_numpy(y)
        self.order = torch.from_numpy(order.astype(np.int64))
        self.loss = nn.MSELoss()

    def run(self, steps):
        for i in range(steps):
            rows = self.order[i * self.batch:(i + 1) * self.batch]
            self.optimizer.zero_grad()
            loss = self.loss(self.model(self.x[rows]).squeeze(1), self.y[rows])
            loss.backward()
            if self.clip:
                nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
            self.optimizer.step()


class JaxPeer:
    def __init__(self, model, training, batch, x, y, order, steps):
        import jax
        import jax.numpy as jnp
        key = jax.random.PRNGKey(0)
        params = []
        for layer in model["layers"]:
            if layer["kind"] == "linear":
                key, sub = jax.random.split(key)
                bound = layer["inputs"] ** -0.5
                params.append((jax.random.uniform(sub, (layer["inputs"], layer["outputs"]), minval=-bound, maxval=bound),
                               jnp.zeros(layer["outputs"])))
            elif layer["kind"] == "layer_norm":
                params.append((jnp.ones(layer["inputs"]), jnp.zeros(layer["inputs"])))
            else:
                params.append(())

        def forward(params, x, key):
            for layer, p in zip(model["layers"], params):
                kind = layer["kind"]
                if kind == "linear":
                    x = x @ p[0] + p[1]
                elif kind == "layer_norm":
                    mean = x.mean(1, keepdims=True)
                    variance = ((x - mean) ** 2).mean(1, keepdims=True)
                    x = (x - mean) * jax.lax.rsqrt(variance + 1e-5) * p[0] + p[1]
                elif kind == "activation":
                    x = jax.nn.relu(x) if layer["activation"] == "relu" else jax.nn.silu(x)
                else:
                    key, sub = jax.random.split(key)
                    keep = 1 - layer["dropout_rate"]
                    x = jnp.where(jax.random.bernoulli(sub, keep, x.shape), x / keep, 0)
            return x[:, 0]

        def step(state, rows):
            params, m, v, t, key = state
            key, sub = jax.random.split(key)
            bx, by = self.x[rows], self.y[rows]
            grads = jax.grad(lambda p: ((forward(p, bx, sub) - by) ** 2).mean())(params)
            if training["clip_norm"]:
                norm = jnp.sqrt(sum((g ** 2).sum() for g in jax.tree.leaves(grads)))
                scale = jnp.minimum(1.0, training["clip_norm"] / (norm + 1e-6))
                grads = jax.tree.map(lambda g: g * scale, grads)
            t = t + 1
            m = jax.tree.map(lambda a, g: 0.9 * a + 0.1 * g, m, grads)
            v = jax.tree.map(lambda a, g: 0.999 * a + 0.001 * g * g, v, grads)
            c1, c2 = 1 - 0.9 ** t, 1 - 0.999 ** t
            params = jax.tree.map(
                lambda p, a, b: p * (1 - 1e-5) - 1e-3 / c1 * a / (jnp.sqrt(b) / jnp.sqrt(c2) + 1e-8), params, m, v)
            return (params, m, v, t, key), 0

        self.x, self.y = jnp.asarray(x), jnp.asarray(y)
        self.rows = jnp.asarray(order[:steps * batch].reshape(steps, batch).astype(np.int32))
        zeros = jax.tree.map(jnp.zeros_like, params)
        self.state = (params, zeros, zeros, jnp.float32(0), key)
        self.scan = jax.jit(lambda state, rows: jax.lax.scan(step, state, rows)[0])
        self.run(steps)

    def run(self, _steps):
        import jax
        self.state = jax.block_until_ready(self.scan(self.state, self.rows))


class EnginePeer:
    def __init__(self, tool, folder, model, training, batch, x, y, shuffled, steps):
        x.tofile(f"{folder}/x")
        y.tofile(f"{folder}/y")
        spec = {"model": model, "training": training, "action": "time", "batch_size": batch, "steps": steps,
                "inputs": f"{folder}/x", "targets": f"{folder}/y", "repeats": 1, "warm_up": True, "shuffled": shuffled}
        with open(f"{folder}/spec", "w") as file:
            json.dump(spec, file)
        self.command = [tool, f"{folder}/spec"]

    def seconds(self, wall):
        out = json.loads(subprocess.run(self.command, check=True, stdout=subprocess.PIPE).stdout)
        return out["wall_seconds_per_step" if wall else "cpu_seconds_per_step"]


def timed(peer, steps, wall):
    clock = time.perf_counter if wall else time.process_time
    start = clock()
    peer.run(steps)
    return (clock() - start) / steps


def floating_point_operations(model, batch):
    """Of the matrix products: forward, weight gradients, and input gradients except for the first layer."""
    linear = [2 * batch * layer["inputs"] * layer["outputs"] for layer in model["layers"] if layer["kind"] == "linear"]
    return 3 * sum(linear) - linear[0]


def measure(name, model, training, batch, rows, shuffled, steps, targets, options):
    x, y = hashed(rows * model["inputs"], 1).reshape(rows, -1), hashed(rows, 2)
    needed = max(steps[1:]) * batch
    order = np.arange(rows)
    if shuffled:
        order = np.random.default_rng(0).permutation(rows)
    order = np.resize(order, needed)
    with tempfile.TemporaryDirectory() as folder:
        engine = EnginePeer(options.tool, folder, model, training, batch, x, y, shuffled, steps[0])
        peers = {"eager, default AdamW": (TorchPeer(model, training, batch, x, y, order, False), steps[1]),
                 "eager, fused AdamW": (TorchPeer(model, training, batch, x, y, order, True), steps[1])}
        if not options.no_jax:
            peers["JAX scan"] = (JaxPeer(model, training, batch, x, y, order, steps[2]), steps[2])
        ours, theirs, peaks = [], {peer: [] for peer in peers}, []
        for peer, count in peers.values():
            peer.run(min(count, 20))
        for _ in range(options.repeats):
            ours.append(engine.seconds(options.wall))
            for peer, (runner, count) in peers.items():
                theirs[peer].append(timed(runner, count, options.wall))
            peaks.append(json.loads(subprocess.run([options.tool, "peak"], check=True, stdout=subprocess.PIPE).stdout))
    mine = statistics.median(ours)
    peak = statistics.median(p["gigaflops"] for p in peaks)
    share = floating_point_operations(model, batch) / mine / 1e9 / peak
    print(f"\n{name}\n  {'engine':24s}{mine * 1e6:12.2f} µs/step {batch / mine / 1e6:8.3f} M rows/s   "
          f"{share:.0%} of the multiply-add peak ({peak:.0f} GFLOP/s, {peaks[0]['instruction_set']})")
    for peer, times in theirs.items():
        ratio = statistics.median(times) / mine
        goal = f"   target {targets[peer]}" if peer in targets else ""
        print(f"  {peer:24s}{statistics.median(times) * 1e6:12.2f} µs/step {ratio:8.1f} x the engine's time{goal}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", default=os.path.join(HERE, "..", "..", "build", "release", "tests", "rekindle_mlp_tool"))
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--only", default="")
    parser.add_argument("--wall", action="store_true")
    parser.add_argument("--no-jax", action="store_true")
    options = parser.parse_args()
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    torch.set_num_threads(1)
    print(f"PyTorch {torch.__version__}, one CPU core, median of {options.repeats}, "
          f"{'wall' if options.wall else 'CPU'} time")
    for case in CASES:
        if options.only in case[0]:
            measure(*case, options)


if __name__ == "__main__":
    main()
