#!/usr/bin/env python3
"""Times a search on a GPU beside the same networks in JAX on the same GPU.

    benchmarks/gpu/search.py [--program PATH] [--data FILE] [--device gpu] [--jax cuda] [--settings 10000] [--repeats 3]
    benchmarks/gpu/search.py --device cpu --jax cpu --settings 200 --repeats 1        tests this program, on any machine

`rekindle search` tries settings (10 learning rates x weight decays x 10 dropout rates) of networks 54-32-16-1 (ReLU, no
normalization layers, batch 8, 3 epochs) on five expanding folds of weekly sessions: five networks for each setting. JAX trains
the same number of networks on folds of the same sizes, with vmap over the settings and lax.scan over the steps of a fold, and
predicts the rows that follow. In JAX, all networks of a fold read the same rows in the same order, as they do in Rekindle.

Prints, as networks/s:
  training   Rekindle: training and predicting (the column seconds of trials.csv; on a CPU, those of all threads added up);
             JAX: the same, compiled before
  search     Rekindle: the stage Searching, with scores and the database; the whole program with reading, judging, and the report
JAX's compile time is printed beside them and counted in no ratio. As a check that both train the same kind of network, it prints
the median over all settings of how far the squared error is below the training mean's.

Needs numpy and jax. The part of JAX runs in its own process, so that neither program holds the other's memory.
"""

import argparse
import csv
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "research"))
from search_speed import SESSIONS, network  # noqa: E402

FOLDS, BATCH, EPOCHS, FINAL_SHARE = 5, 8, 3, 0.2
RATES, DROPOUTS = 10, 10


def geometric(first, last, count):
    return [first * (last / first) ** (i / (count - 1)) for i in range(count)]


def grid(settings):
    """(learning rate, weight decay, dropout rate) of every setting."""
    return [(rate, decay, step * 0.05) for step in range(DROPOUTS)
            for decay in geometric(1e-4, 1e-1, settings // (RATES * DROPOUTS)) for rate in geometric(1e-4, 1e-2, RATES)]


def run_rekindle(options, folder):
    """The seconds of training, of the stage Searching and of the program; the median loss reduction; the device."""
    models = []
    for step in range(DROPOUTS):
        path = pathlib.Path(folder) / f"dropout_{step}.json"
        path.write_text(json.dumps(network(step * 0.05)))
        models.append(str(path))
    output = tempfile.mkdtemp(dir=folder)
    sessions = [options.device if word == "cpu" else word for word in SESSIONS]
    command = [options.program, "search", "--data", options.data, "--output", output, "--method", "grid",
               "--folds", str(FOLDS), "--batch-size", str(BATCH), "--epochs", str(EPOCHS), "--log-format", "json", *sessions,
               "--vary", f"learning-rate=1e-4..1e-2/{RATES}@log",
               "--vary", f"weight-decay=1e-4..1e-1/{options.settings // (RATES * DROPOUTS)}@log",
               "--vary", "model=" + "|".join(models)]
    start = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True)
    seconds = time.monotonic() - start
    if done.returncode != 0:
        raise SystemExit(done.stdout[-2000:] + done.stderr[-2000:])
    events = [json.loads(line) for line in done.stdout.splitlines()]
    searching = next(event["seconds"] for event in events if event.get("stage") == "Searching" and event["event"] == "stage")
    with next(pathlib.Path(output).glob("search_*/trials.csv")).open() as file:
        trials = list(csv.DictReader(file))
    training = sum(float(trial["seconds"]) for trial in trials)
    saved = [float(trial["loss_saved_percent"]) for trial in trials if trial["diverged"] == "0"]
    return training, searching, seconds, statistics.median(saved)


def fold_sizes(rows):
    """(training rows, test rows) of each fold: the first half of the rows, then windows of equal size."""
    first = rows // 2
    edges = [first + (rows - first) * f // FOLDS for f in range(FOLDS + 1)]
    return [(edges[f], edges[f + 1]) for f in range(FOLDS)]


def folds_of(options, folder):
    """Per fold, scaled by its training rows: inputs and targets to train on, inputs and targets to predict."""
    import numpy

    path = pathlib.Path(folder) / "features.csv"
    subprocess.run([options.program, "features", "--data", options.data, "--output", path, "--session-length", "week"],
                   check=True, capture_output=True)
    with path.open() as file:
        rows = list(csv.DictReader(file))
    names = list(rows[0])[-54:]
    inputs = numpy.array([[float(row[name]) for name in names] for row in rows])[:-1]
    targets = numpy.diff(numpy.log([float(row["session_close"]) for row in rows]))
    used = int(len(targets) * (1 - FINAL_SHARE))
    for end, last in fold_sizes(used):
        train = inputs[:end - 1]  # the last row's outcome is not known when the window begins
        low, center, high = numpy.quantile(train, [0.25, 0.5, 0.75], axis=0)
        spread = numpy.where(high > low, high - low, 1)
        scale = targets[:end - 1].std()
        scaled = numpy.clip((inputs - center) / spread, -10, 10).astype(numpy.float32)
        outcome = (targets / scale).astype(numpy.float32)
        yield scaled[:end - 1], outcome[:end - 1], scaled[end:last], outcome[end:last]


def initial(generator, widths):
    import numpy

    layers = []
    for inputs, outputs in zip(widths, widths[1:]):
        bound = 1 / numpy.sqrt(inputs)
        layers.append(tuple(generator.uniform(-bound, bound, shape).astype(numpy.float32)
                            for shape in ((inputs, outputs), (outputs,))))
    return layers


def compiled_fold(data, settings, key):
    """The compiled training of all settings on one fold, its arguments, and the seconds that compiling took."""
    import jax
    import jax.numpy as jnp
    import numpy

    x, y, test_x, _ = data
    generator = numpy.random.default_rng(1)
    order = numpy.concatenate([numpy.resize(generator.permutation(len(x)), -(-len(x) // BATCH) * BATCH)
                               for _ in range(EPOCHS)]).reshape(-1, BATCH)
    start = jax.tree.map(jnp.asarray, initial(generator, [54, 32, 16, 1]))

    def forward(layers, rows, keep, key):
        for weights, bias in layers[:-1]:
            rows = jax.nn.relu(jnp.matmul(rows, weights, precision="highest") + bias)
            if key is not None:
                key, mine = jax.random.split(key)
                rows = jnp.where(jax.random.uniform(mine, rows.shape) < keep, rows / keep, 0)
        return (jnp.matmul(rows, layers[-1][0], precision="highest") + layers[-1][1])[:, 0]

    def train(rate, decay, dropout, x, y, order, test_x, key):
        keep = 1 - dropout

        def step(carry, rows):
            layers, m, v, t = carry
            t = t + 1
            mine = jax.random.fold_in(key, t.astype(jnp.int32))
            loss = lambda p: ((forward(p, x[rows], keep, mine) - y[rows]) ** 2).mean()  # noqa: E731
            gradients = jax.grad(loss)(layers)
            m = jax.tree.map(lambda a, g: 0.9 * a + 0.1 * g, m, gradients)
            v = jax.tree.map(lambda a, g: 0.999 * a + 0.001 * g * g, v, gradients)
            c1, c2 = 1 - 0.9 ** t, 1 - 0.999 ** t
            layers = jax.tree.map(lambda p, a, b: p * (1 - rate * decay) - rate / c1 * a / (jnp.sqrt(b / c2) + 1e-8),
                                  layers, m, v)
            return (layers, m, v, t), None

        zeros = jax.tree.map(jnp.zeros_like, start)
        layers = jax.lax.scan(step, (start, zeros, zeros, jnp.float32(0)), order)[0][0]
        return forward(layers, test_x, 1, None)

    arguments = [*map(jnp.asarray, numpy.array(settings, numpy.float32).T), *map(jnp.asarray, (x, y, order, test_x)), key]
    began = time.perf_counter()
    program = jax.jit(jax.vmap(train, in_axes=(0, 0, 0, *[None] * 5))).lower(*arguments).compile()
    return program, arguments, time.perf_counter() - began


def peer(options):
    """Runs in its own process: prints the seconds for all folds, those of compiling, and the median loss reduction."""
    import jax
    import numpy

    settings = grid(options.settings)
    with tempfile.TemporaryDirectory() as folder:
        folds = list(folds_of(options, folder))
    key = jax.random.key(0, impl=options.random)
    programs = [compiled_fold(data, settings, key) for data in folds]
    times = []
    for _ in range(options.repeats + 1):  # the first run is a warm-up
        start = time.perf_counter()
        forecasts = [jax.block_until_ready(program(*arguments)) for program, arguments, _ in programs]
        times.append(time.perf_counter() - start)
    loss, base = numpy.zeros(len(settings)), 0
    for (_, targets, _, outcomes), forecast in zip(folds, forecasts):
        unit = targets.std() ** 2
        loss += ((numpy.asarray(forecast) - outcomes) ** 2).sum(1) / unit
        base += ((targets.mean() - outcomes) ** 2).sum() / unit
    device = jax.devices()[0]
    print(json.dumps({"seconds": statistics.median(times[1:]), "compile": sum(program[2] for program in programs),
                      "saved": float(numpy.median(100 * (1 - loss / base))), "jax": jax.__version__,
                      "device": f"{device.platform}: {device.device_kind}"}))


def run_peer(arguments, options, random):
    import os

    environment = os.environ | {"JAX_PLATFORMS": options.jax, "NVIDIA_TF32_OVERRIDE": "0"}
    done = subprocess.run([sys.executable, __file__, *arguments, "--peer", "--random", random], env=environment,
                          capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(done.stderr[-2000:])
    return json.loads(done.stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/release/bin/rekindle")
    parser.add_argument("--data", default="sample-data/sp500.csv")
    parser.add_argument("--device", default="gpu", help="of rekindle search")
    parser.add_argument("--jax", choices=("cuda", "cpu"), default="cuda", help="JAX's platform")
    parser.add_argument("--settings", type=int, default=10_000, help="a multiple of 100, at least 200")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--peer", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--random", default="threefry2x32", help=argparse.SUPPRESS)
    options = parser.parse_args()
    for path, option in (options.program, "--program"), (options.data, "--data"):
        if not pathlib.Path(path).is_file():
            parser.error(f"{path} does not exist; {option} names another file")
    if options.peer:
        return peer(options)
    networks = options.settings * FOLDS
    print(f"{options.settings} settings on {FOLDS} folds, {networks} networks 54-32-16-1, batch {BATCH}, {EPOCHS} epochs; medians "
          f"of {options.repeats} runs after one that compiles the pipelines", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        runs = [run_rekindle(options, folder) for _ in range(1 + options.repeats)][1:]
    training, searching, total = (statistics.median(run[i] for run in runs) for i in range(3))
    print(f"rekindle --device {options.device}: training {training:.3f} s, {networks / training:,.0f} networks/s; search "
          f"{searching:.3f} s, {networks / searching:,.0f} networks/s; whole program {total:.3f} s, "
          f"{networks / total:,.0f} networks/s; median loss reduction {runs[-1][3]:.2f} %", flush=True)
    peers = []
    for random in ("threefry2x32", "unsafe_rbg"):
        peers.append(run_peer(sys.argv[1:], options, random))
        print(f"JAX with the random generator {random}: training {peers[-1]['seconds']:.3f} s, compiling "
              f"{peers[-1]['compile']:.1f} s", flush=True)
    best = min(peers, key=lambda row: row["seconds"])
    print(f"JAX {best['jax']} on {best['device']}, the faster generator: training {best['seconds']:.3f} s, "
          f"{networks / best['seconds']:,.0f} networks/s; median loss reduction {best['saved']:.2f} %")
    print(f"ratio of JAX's training time to Rekindle's: training {best['seconds'] / training:.2f}, search "
          f"{best['seconds'] / searching:.2f}, whole program {best['seconds'] / total:.2f}")


if __name__ == "__main__":
    main()
