#!/usr/bin/env python3
"""Lets PyTorch load what `rekindle train` writes; see check_against_pytorch.sh."""
import argparse
import json
import math
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import torch

LARGEST_DIFFERENCE = 1e-6  # of a raw output, whose unit is the std of the target or a logit
SESSIONS_OMITTED = (0, 1, 2, 5, 10)  # predictions start that many sessions earlier
# One run for each way in which the files differ.
RUNS = {
    "return, AdamW": [],
    "direction": ["--target", "direction"],
    "gaussian-nll, one hidden layer": ["--loss", "gaussian-nll", "--hidden-layers", "20"],
    "three hidden layers, averaged": ["--hidden-layers", "33,20,7", "--ema", "0.9"],
    "SGD with momentum": ["--optimizer", "sgd", "--momentum", "0.9", "--learning-rate", "0.001"],
    "SGD without": ["--optimizer", "sgd", "--learning-rate", "0.001"],
}


class Model(torch.nn.Module):
    """The original system's network, from its description."""

    def __init__(self, inputs, hidden, dropout, outputs):
        super().__init__()
        self.input_layer = torch.nn.Linear(inputs, hidden[0])
        self.hidden_layers = torch.nn.ModuleList(
            torch.nn.Sequential(torch.nn.Linear(a, b), torch.nn.LayerNorm(b), torch.nn.SiLU(),
                                torch.nn.Dropout(dropout * (1 + 0.2 * i)))
            for i, (a, b) in enumerate(zip(hidden, hidden[1:])))
        self.final_norm = torch.nn.LayerNorm(hidden[-1])
        self.output_layer = torch.nn.Linear(hidden[-1], outputs)

    def forward(self, rows):
        rows = torch.nn.functional.silu(self.input_layer(rows))
        for layer in self.hidden_layers:
            rows = layer(rows)
        return self.output_layer(self.final_norm(rows))


class Checks:
    def __init__(self):
        self.failures = []

    def expect(self, condition, text):
        if not condition:
            self.failures.append(text)
            print(f"  FAILED: {text}")


def rekindle(program, *arguments):
    result = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True)
    if result.returncode != 0:
        raise SystemExit(f"{program} {' '.join(map(str, arguments))}: exit status {result.returncode}\n{result.stderr}")
    return result.stdout


def load(path):
    """Loads the file as data, read and mapped; both must agree."""
    read = torch.load(path, weights_only=True)
    mapped = torch.load(path, weights_only=True, mmap=True)
    return read, mapped


def same_tensors(a, b):
    return list(a) == list(b) and all(torch.equal(a[key], b[key]) for key in a)


def check_state_dict(checks, model, state, name):
    expected = model.state_dict()
    checks.expect(list(state) == list(expected), f"{name}: keys {list(state)}")
    checks.expect(all(state[key].shape == expected[key].shape for key in expected if key in state), f"{name}: shapes")
    checks.expect(all(tensor.dtype == torch.float32 for tensor in state.values()), f"{name}: types")
    model.load_state_dict(state)


def check_optimizer(checks, model, config, state, name):
    """The state is accepted, and a step from it changes the weights by finite amounts."""
    if config["optimizer"] == "sgd":
        optimizer = torch.optim.SGD(model.parameters(), lr=1, momentum=config["momentum"])
        moments = ["momentum_buffer"] if config["momentum"] > 0 else []
    else:
        optimizer = torch.optim.AdamW(model.parameters(), lr=1)
        moments = ["exp_avg", "exp_avg_sq"]
    optimizer.load_state_dict(state)
    group = optimizer.param_groups[0]
    checks.expect(group["weight_decay"] == config["weight_decay"], f"{name}: weight decay {group['weight_decay']}")
    checks.expect(0 < group["lr"] <= config["learning_rate"], f"{name}: learning rate {group['lr']}")
    for parameter in model.parameters():
        for moment in moments:
            tensor = optimizer.state[parameter].get(moment)
            checks.expect(tensor is not None and tensor.shape == parameter.shape and tensor.abs().sum() > 0,
                          f"{name}: {moment}")
    before = [parameter.detach().clone() for parameter in model.parameters()]
    model(torch.ones(4, model.input_layer.in_features)).sum().backward()
    optimizer.step()
    checks.expect(all(torch.isfinite(p).all() for p in model.parameters()) and
                  any(not torch.equal(p, q) for p, q in zip(model.parameters(), before)), f"{name}: a step")


def raw_output(metadata, prediction):
    """Inverts the program's conversion of the network's first output."""
    if metadata["target"]["kind"] == "direction":
        return math.log(prediction / (1 - prediction))
    return prediction / metadata["target"]["scale"]


def check_predictions(checks, program, folder, run, model, bars, metadata, name):
    lines = bars.read_text().splitlines()
    scaler = metadata["scaler"]
    worst = 0.0
    for omitted in SESSIONS_OMITTED:
        part = folder / "part.csv"
        part.write_text("\n".join(lines[:len(lines) - omitted]) + "\n")
        rekindle(program, "features", "--quiet", "--data", part, "--clock", "raw", "--output", folder / "features.npy")
        row = np.load(folder / "features.npy")[-1]
        row = np.clip((row - scaler["center"]) / scaler["scale"], -scaler["clip"], scaler["clip"])
        with torch.no_grad():
            expected = model.eval()(torch.tensor(row[None], dtype=torch.float32))[0, 0].item()
        said = json.loads(rekindle(program, "predict", "--quiet", "--model", run, "--data", part, "--format", "json"))
        found = raw_output(metadata, said["value"])
        worst = max(worst, abs(found - expected) / max(1, abs(expected)))
    checks.expect(worst <= LARGEST_DIFFERENCE, f"{name}: predictions differ by {worst:.1e}")
    return worst


def check_run(checks, program, folder, bars, name, options):
    output = folder / "output"
    rekindle(program, "train", "--quiet", "--data", bars, "--clock", "raw", "--output", output, "--epochs", 3,
             "--batch-size", 8, "--hidden-layers", "24,16", *options)
    run = max(output.iterdir())
    config = json.loads((run / "config.json").read_text())
    metadata = json.loads((run / "best_model_metadata.json").read_text())["rekindle"]

    def new_model():
        return Model(54, config["hidden_layers"], config["dropout_rate"], 2 if config["loss"] == "gaussian-nll" else 1)

    best = new_model()
    for file in ("best_model.pt", "model_final.pt", "checkpoint.pt"):
        read, mapped = load(run / file)
        label = f"{name}, {file}"
        checks.expect(same_tensors(read["model_state_dict"], mapped["model_state_dict"]), f"{label}: mapped")
        model = best if file == "best_model.pt" else new_model()
        check_state_dict(checks, model, read["model_state_dict"], label)
        stepped = new_model()
        stepped.load_state_dict(read["model_state_dict"])
        check_optimizer(checks, stepped, config, read["optimizer_state_dict"], label)
    bare, _ = load(run / "model.pt")
    checks.expect(same_tensors(bare, best.state_dict()), f"{name}: model.pt")
    worst = check_predictions(checks, program, folder, run, best, bars, metadata, name)
    for file in sorted(output.rglob("*"), reverse=True):
        file.unlink() if file.is_file() else file.rmdir()
    print(f"{name}: loads; {len(SESSIONS_OMITTED)} predictions at a largest difference of {worst:.1e}")


def write_bars(path, sessions=120):
    """Sessions of one bar each: a random walk in ticks of 0.25."""
    random = np.random.default_rng(1)
    day, close, lines = np.datetime64("2020-01-06"), 13000, ["Date,Open,High,Low,Close,Volume"]
    while len(lines) <= sessions:
        if np.is_busday(day):
            opening = close + random.integers(-20, 21)
            close = opening + random.integers(-80, 81)
            high, low = max(opening, close) + random.integers(0, 40), min(opening, close) - random.integers(0, 40)
            prices = ",".join(f"{ticks / 4:.2f}" for ticks in (opening, high, low, close))
            lines.append(f"{day},{prices},{random.integers(100000, 150000)}")
        day += 1
    path.write_text("\n".join(lines) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    program = parser.parse_args().program
    checks = Checks()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write_bars(folder / "bars.csv")
        for run, options in RUNS.items():
            check_run(checks, program, folder, folder / "bars.csv", run, options)
    print(f"PyTorch {torch.__version__}: {len(RUNS)} runs, {len(checks.failures)} failures")
    return 1 if checks.failures else 0


if __name__ == "__main__":
    sys.exit(main())
