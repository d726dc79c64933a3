#!/usr/bin/env python3
"""Compares the training speed of rekindle walk-forward with that of rekindle train, per core.

    walk_forward_speed.py [--program PATH] [--bars N] [--folds N] [--repeats N] [--threads N]

Both train a network of 32 and 16 units on the 19 features of one-minute bars, in batches of 16, for 3 epochs:
train on one split of the rows with one thread, walk-forward on rolling windows of 100,000 rows. The two commands run
alternately. The figures are medians of the training rows per second and core. For both commands, the time includes
shuffling and predicting, but not reading the bars, computing and scaling features, ridge regression, or the report.
The total time of each job is printed as well.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import tempfile
import time

NETWORK = ["--features", "minute", "--hidden-layers", "32,16", "--batch-size", "16", "--epochs", "3", "--device", "cpu"]


def run(arguments):
    start = time.monotonic()
    lines = subprocess.run(arguments, check=True, capture_output=True, text=True).stdout.splitlines()
    result = json.loads(lines[-1])
    return result, time.monotonic() - start


def speed_of_train(program, bars, folder):
    result, seconds = run([program, "train", "--data", bars, "--output", folder, "--threads", "1", *NETWORK,
                           "--log-format", "json"])
    epochs = [json.loads(line) for line in (pathlib.Path(result["run_folder"]) / "metrics.jsonl").open()]
    return statistics.median(epoch["rows_per_second"] for epoch in epochs), seconds


def speed_of_walk_forward(program, bars, folder, folds, threads):
    result, seconds = run([program, "walk-forward", "--data", bars, "--output", folder, "--threads", str(threads),
                           "--window", "rolling", "--train-rows", "100000", "--folds", str(folds), *NETWORK,
                           "--log-format", "json"])
    results = json.loads((pathlib.Path(result["folder"]) / "results.json").read_text())
    return results["trained_rows"] / results["training_seconds"] / threads, seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/release/bin/rekindle")
    parser.add_argument("--bars", type=int, default=1_140_000)
    parser.add_argument("--folds", type=int, default=40)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bars = f"{folder}/bars.csv"
        subprocess.run([arguments.program, "simulate", "--bars", str(arguments.bars), "--seed", "1", "--output", bars],
                       check=True, capture_output=True)
        single, walking = [], []
        for _ in range(arguments.repeats):
            single.append(speed_of_train(arguments.program, bars, folder))
            walking.append(speed_of_walk_forward(arguments.program, bars, folder, arguments.folds, arguments.threads))
    train, train_seconds = (statistics.median(values) for values in zip(*single))
    walk, walk_seconds = (statistics.median(values) for values in zip(*walking))
    print(f"train, 1 thread:                 {train:12,.0f} rows/s per core, {train_seconds:.1f} s in total")
    print(f"walk-forward, {arguments.threads} thread(s), {arguments.folds} folds: {walk:12,.0f} rows/s per core, "
          f"{walk_seconds:.1f} s in total")
    print(f"ratio: {walk / train:.2f}")


if __name__ == "__main__":
    main()
