#!/usr/bin/env python3
"""Recomputes the reference values of tests/mlp with PyTorch; see check_against_pytorch.sh."""
import argparse
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import torch

import cases
import make_golden
from reference import Network, Run, data, gradient_at, initial_weights, layer_distances, weights_along_the_way

LARGEST_GRADIENT_DISTANCE = 1e-5
SEEDS = 16


class Engine:
    """Runs the C++ engine through rekindle_mlp_tool."""

    def __init__(self, tool, folder, device):
        self.tool, self.folder, self.device = tool, folder, device

    def run(self, case, weights, action, steps=1):
        x, y = data(case["model"], case["rows"], case["training"]["loss"]["kind"])
        for name, values in (("x", x), ("y", y), ("w", np.asarray(weights, dtype=np.float32))):
            values.tofile(f"{self.folder}/{name}")
        spec = {"device": self.device, "model": case["model"], "training": case["training"], "action": action, "steps": steps,
                "batch_size": case["batch_size"], "inputs": f"{self.folder}/x", "targets": f"{self.folder}/y",
                "parameters": f"{self.folder}/w", "output": f"{self.folder}/out"}
        with open(f"{self.folder}/spec", "w") as file:
            json.dump(spec, file)
        subprocess.run([self.tool, f"{self.folder}/spec"], check=True, stdout=subprocess.DEVNULL)
        return np.fromfile(f"{self.folder}/out", dtype=np.float32)


def check_golden(failures):
    """The committed files must match what this PyTorch computes."""
    description, floats = make_golden.build()
    with open(os.path.join(make_golden.FOLDER, "golden.json")) as file:
        committed = json.load(file)
    stored = np.fromfile(os.path.join(make_golden.FOLDER, "golden.f32"), dtype="<f4")
    seeded, stored_seeded = description.pop("seeded"), committed.pop("seeded")
    same = committed | {"torch": ""} == json.loads(json.dumps(description)) | {"torch": ""} and \
        all(np.allclose(a["float64"], b["float64"], rtol=1e-9) for a, b in zip(seeded, stored_seeded, strict=True))
    distance = np.linalg.norm(stored - floats) / np.linalg.norm(floats) if stored.shape == floats.shape else np.inf
    print(f"golden files: description {'equal' if same else 'DIFFERS'}, floats at relative distance {distance:.1e}")
    if not same or distance > 1e-6:
        failures.append("golden files: run tests/mlp/make_golden.py")


def check_gradients(engine, case, failures):
    """Every layer's gradient at weights from four steps of a float64 run."""
    sizes = Network(case["model"], 0, torch.float64).sizes()
    worst, torch_worst = 0.0, 0.0
    for weights in weights_along_the_way(case).values():
        expected = gradient_at(case, weights)
        worst = max(worst, *layer_distances(engine.run(case, weights, "gradients"), expected, sizes))
        torch_worst = max(torch_worst, *layer_distances(gradient_at(case, weights, torch.float32), expected, sizes))
    fine = worst <= LARGEST_GRADIENT_DISTANCE
    print(f"  {case['name']:36s} engine {worst:.1e}   PyTorch float32 {torch_worst:.1e}   {'' if fine else 'TOO FAR'}", flush=True)
    if not fine:
        failures.append(f"gradient of {case['name']}")


def check_seeds(engine, case, failures, steps=100):
    """Uses many seeds, because the errors of two equally good float32 runs differ by orders of magnitude."""
    ours, theirs = [], []
    for seed in range(SEEDS):
        weights = initial_weights(case["model"], seed)
        exact, single = Run(case, torch.float64, weights), Run(case, torch.float32, weights)
        for _ in range(steps):
            exact.step()
            single.step()
        reference = exact.network.flat()
        ours.append(np.linalg.norm(engine.run(case, weights, "train", steps) - reference) / np.linalg.norm(reference))
        theirs.append(np.linalg.norm(single.network.flat() - reference) / np.linalg.norm(reference))
    ratio = np.median(ours) / np.median(theirs)
    print(f"  {case['name']:36s} engine {np.median(ours):.2e}   PyTorch float32 {np.median(theirs):.2e}   "
          f"ratio {ratio:.2f}   {'' if ratio <= 2 else 'TOO FAR'}", flush=True)
    if not ratio <= 2:
        failures.append(f"distance after {steps} steps of {case['name']}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tool", help="rekindle_mlp_tool")
    parser.add_argument("--device", default="cpu", help="cpu (the default) or gpu:N")
    options = parser.parse_args()
    torch.set_num_threads(1)
    failures = []
    print(f"PyTorch {torch.__version__}, numpy {np.__version__}, engine on {options.device}")
    check_golden(failures)
    with tempfile.TemporaryDirectory() as folder:
        engine = Engine(options.tool, folder, options.device)
        print(f"largest distance of a layer's gradient from float64 (at most {LARGEST_GRADIENT_DISTANCE:.0e}):")
        for case in cases.SMALL + cases.LARGE:
            check_gradients(engine, case, failures)
        print(f"distance from float64 after 100 steps, median of {SEEDS} seeds (ratio at most 2):")
        for case in cases.SEEDED:
            check_seeds(engine, case, failures)
    for failure in failures:
        print(f"FAILED: {failure}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
