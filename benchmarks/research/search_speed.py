#!/usr/bin/env python3
"""Times a large search, and compares a small search with scikit-learn's GridSearchCV in the same run.

    search_speed.py [--program PATH] [--data FILE] [--threads N] [--repeats N]

The networks are 54-32-16-1 without normalization layers (ReLU, as MLPRegressor has), batch 8, 3 epochs, on weekly sessions.

1. 10,000 settings (10 learning rates, 10 dropout rates, 100 weight decays) on 5 folds: seconds and peak memory.
2. 50 settings (10 learning rates, 5 weight decays) on 5 folds: seconds for training and scoring, compared with GridSearchCV
   with TimeSeriesSplit(5) over MLPRegressor(hidden_layer_sizes=(32, 16), batch_size=8, max_iter=3) on the same features, which
   rekindle features writes. Neither time includes reading bars or computing features. Only this part needs scikit-learn.
"""

import argparse
import csv
import json
import pathlib
import resource
import statistics
import subprocess
import tempfile
import time
import warnings

SESSIONS = ["--session-length", "week", "--device", "cpu"]


def network(dropout):
    layers, inputs = [], 54
    for name, width in (("input_layer", 32), ("hidden_layer", 16)):
        layers += [{"kind": "linear", "name": name, "inputs": inputs, "outputs": width},
                   {"kind": "activation", "activation": "relu", "inputs": width}]
        layers.append({"kind": "dropout", "dropout_rate": dropout, "inputs": width})
        inputs = width
    layers.append({"kind": "linear", "name": "output_layer", "inputs": inputs, "outputs": 1})
    return {"version": 1, "inputs": 54, "initialization": "pytorch_default", "layers": layers}


def search(program, data, folder, threads, vary):
    """Runs a search. Returns the seconds that the stage Searching took, the total seconds, and the peak memory in MB."""
    command = [program, "search", "--data", data, "--output", folder, "--threads", str(threads), "--method", "grid",
               "--folds", "5", "--batch-size", "8", "--epochs", "3", "--log-format", "json", *SESSIONS]
    for dimension in vary:
        command += ["--vary", dimension]
    start = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    output, errors = process.communicate()
    if process.returncode != 0:
        raise SystemExit(errors)
    events = [json.loads(line) for line in output.splitlines()]
    stages = {event["stage"]: event["seconds"] for event in events if event.get("event") == "stage"}
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1000
    return stages["Searching"], time.monotonic() - start, peak


def seconds_of_scikit_learn(program, data, folder, threads):
    import numpy
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.model_selection import GridSearchCV, TimeSeriesSplit
    from sklearn.neural_network import MLPRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import RobustScaler

    warnings.simplefilter("ignore", ConvergenceWarning)
    path = pathlib.Path(folder) / "features.csv"
    subprocess.run([program, "features", "--data", data, "--output", path, "--session-length", "week"], check=True,
                   capture_output=True)
    rows = list(csv.DictReader(path.open()))
    names = list(rows[0])[-54:]
    inputs = numpy.array([[float(row[name]) for name in names] for row in rows])
    closes = numpy.array([float(row["session_close"]) for row in rows])
    targets = numpy.diff(numpy.log(closes))
    model = make_pipeline(RobustScaler(), MLPRegressor(hidden_layer_sizes=(32, 16), batch_size=8, max_iter=3, tol=0))
    grid = {"mlpregressor__learning_rate_init": list(numpy.geomspace(1e-4, 1e-2, 10)),
            "mlpregressor__alpha": list(numpy.geomspace(1e-4, 1e-1, 5))}
    start = time.monotonic()
    GridSearchCV(model, grid, cv=TimeSeriesSplit(5), n_jobs=threads, refit=False, error_score="raise").fit(
        inputs[:-1], targets / targets.std())
    return time.monotonic() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/release/bin/rekindle")
    parser.add_argument("--data", default="sample-data/sp500.csv")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    program, data, threads = arguments.program, arguments.data, arguments.threads
    with tempfile.TemporaryDirectory() as folder:
        models = []
        for step in range(10):
            path = pathlib.Path(folder) / f"dropout_{step}.json"
            path.write_text(json.dumps(network(step * 0.05)))
            models.append(str(path))
        rates = "learning-rate=1e-4..1e-2/10@log"
        ours, theirs = [], []
        for _ in range(arguments.repeats):
            ours.append(search(program, data, folder, threads,
                               [rates, "weight-decay=1e-4..1e-1/5@log", "model=" + models[0]])[0])
            theirs.append(seconds_of_scikit_learn(program, data, folder, threads))
        searching, seconds, peak = search(program, data, folder, threads,
                                          [rates, "weight-decay=1e-4..1e-1/100@log", "model=" + "|".join(models)])
    print(f"10,000 settings on 5 folds, {threads} threads: {searching:.1f} s to search, {seconds:.1f} s in total, "
          f"{peak:.0f} MB")
    own, other = statistics.median(ours), statistics.median(theirs)
    print(f"50 settings on 5 folds: {own:.2f} s, GridSearchCV {other:.2f} s, ratio {other / own:.1f}")


if __name__ == "__main__":
    main()
