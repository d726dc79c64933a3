#!/usr/bin/env python3
"""Compares whole jobs of `rekindle train` with the same jobs in pandas and PyTorch eager, measured in one run.

    benchmarks/job_against_pytorch.py [--program build/release/bin/rekindle] [--bars 1140000] [--repeats 5]

1. Per session: read the merged CSV, profile every session, compute the 54 features, train 54-128-64-1 for 3 epochs,
   write the run folder with its report. Wall seconds and the peak resident set of the process.
2. Per minute: 19 features, 32,16, batch 16, shuffled, dropout, clipping, validation not included; one thread
   each. Training rows per second, from metrics.jsonl for rekindle and from timed steps for PyTorch.

Needs numpy, pandas and torch. Runs alternate and medians are printed, because machines are shared and noisy.
"""

import argparse
import json
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

import numpy
import pandas
import torch

LOOK_BACKS = (5, 10, 20, 50)
TICK = 0.25


def run_program(arguments):
    """Wall seconds and peak resident MiB of one process."""
    start = time.perf_counter()
    finished = subprocess.run(["/usr/bin/time", "-f", "%M", *arguments], capture_output=True, text=True)
    if finished.returncode != 0:
        sys.exit(f"{' '.join(arguments)} failed:\n{finished.stderr}")
    return time.perf_counter() - start, int(finished.stderr.strip().splitlines()[-1]) / 1024


def network(inputs, hidden, dropout):
    layers = [torch.nn.Linear(inputs, hidden[0]), torch.nn.SiLU()]
    for index, (width_in, width_out) in enumerate(zip(hidden, hidden[1:])):
        layers += [torch.nn.Linear(width_in, width_out), torch.nn.LayerNorm(width_out), torch.nn.SiLU(),
                   torch.nn.Dropout(dropout * (1 + 0.2 * index))]
    return torch.nn.Sequential(*layers, torch.nn.LayerNorm(hidden[-1]), torch.nn.Linear(hidden[-1], 1))


def train_steps(model, inputs, targets, order, batch, fused):
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4, fused=fused)
    loss_function = torch.nn.MSELoss()
    model.train()
    for first in range(0, len(order), batch):
        rows = order[first:first + batch]
        optimizer.zero_grad()
        loss = loss_function(model(inputs[rows]).squeeze(-1), targets[rows])
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()


def session_figures(bars):
    low = numpy.rint(bars["low"].to_numpy() / TICK).astype(numpy.int64)
    high = numpy.rint(bars["high"].to_numpy() / TICK).astype(numpy.int64)
    volume = bars["volume"].to_numpy(dtype=numpy.float64)
    base, levels = low.min(), high.max() - low.min() + 2
    share = volume / (high - low + 1)
    steps = numpy.bincount(low - base, share, levels) - numpy.bincount(high - base + 1, share, levels)
    profile = numpy.cumsum(steps)[:-1]
    by_volume = numpy.argsort(-profile, kind="stable")
    taken = by_volume[:numpy.searchsorted(numpy.cumsum(profile[by_volume]), 0.7 * profile.sum()) + 1]
    first, last, total = bars.iloc[0], bars.iloc[-1], volume.sum()
    close = bars["close"].to_numpy()
    session_high, session_low = bars["high"].max(), bars["low"].min()
    vwap = (close * volume).sum() / total
    area_low, area_high = (taken.min() + base) * TICK, (taken.max() + base) * TICK
    spread = max(session_high - session_low, 1e-4)
    return {"vpoc": (profile.argmax() + base) * TICK, "total_volume": total, "value_area_low": area_low,
            "value_area_high": area_high, "value_area_width": area_high - area_low, "price_range": spread,
            "range_pct": 100 * spread / first["open"], "close_change_pct": 100 * (last["close"] - first["open"]) / first["open"],
            "session_high": session_high, "session_low": session_low, "session_open": first["open"],
            "session_close": last["close"], "vwap": vwap, "close_to_vwap_pct": 100 * (last["close"] - vwap) / vwap}


def session_features(frame):
    columns = dict(frame)
    for p in LOOK_BACKS:
        vpoc, width = frame["vpoc"], frame["value_area_width"]
        columns |= {f"price_mom_{p}d": 100 * frame["session_close"].pct_change(p),
                    f"volatility_{p}d": frame["close_change_pct"].rolling(p).std(),
                    f"volume_trend_{p}d": 100 * frame["total_volume"].pct_change(p),
                    f"vpoc_change_{p}d": vpoc.diff(p), f"vpoc_pct_change_{p}d": 100 * vpoc.pct_change(p),
                    f"range_change_{p}d": 100 * frame["range_pct"].pct_change(p),
                    f"va_width_{p}d_ma": width.rolling(p).mean(), f"va_width_change_{p}d": width / width.rolling(p).mean(),
                    f"vpoc_std_{p}d": vpoc.rolling(p).std(),
                    f"vpoc_zscore_{p}d": (vpoc - vpoc.rolling(p).mean()) / vpoc.rolling(p).std()}
    return pandas.DataFrame(columns)


def session_job_in_pytorch(path):
    start = time.perf_counter()
    bars = pandas.read_csv(path, comment="#", parse_dates=["timestamp"])
    local = bars["timestamp"].dt.tz_localize("UTC").dt.tz_convert("America/New_York")
    day = (local + pandas.Timedelta(hours=6) - pandas.Timedelta(seconds=1)).dt.date
    frame = pandas.DataFrame([session_figures(group) for _, group in bars.groupby(day)])
    features = session_features(frame).replace([numpy.inf, -numpy.inf], numpy.nan)
    target = numpy.log(frame["session_close"].shift(-1) / frame["session_close"])
    usable = features.notna().all(axis=1) & target.notna()
    values, outcome = features[usable].to_numpy(), target[usable].to_numpy()
    border = int(0.8 * len(values)) - 1
    low, middle, high = numpy.percentile(values[:border], [25, 50, 75], axis=0)
    scaled = numpy.clip((values - middle) / numpy.where(high > low, high - low, 1), -10, 10)
    inputs, targets = (torch.tensor(x, dtype=torch.float32) for x in (scaled, outcome / outcome[:border].std()))
    model = network(inputs.shape[1], (128, 64), 0.4)
    for epoch in range(3):
        train_steps(model, inputs, targets, torch.randperm(border), 32, fused=True)
        model.eval()
        with torch.no_grad():
            model(inputs[border + 1:])
    torch.save(model.state_dict(), path.with_suffix(".pt"))
    return time.perf_counter() - start


def minute_rows_per_second_in_pytorch(fused, rows=200_000, steps=1500, batch=16):
    inputs, targets = torch.randn(rows, 19), torch.randn(rows)
    model = network(19, (32, 16), 0.4)
    train_steps(model, inputs, targets, torch.randperm(rows)[:200 * batch], batch, fused)
    order = torch.randperm(rows)[:steps * batch]
    start = time.perf_counter()
    train_steps(model, inputs, targets, order, batch, fused)
    return steps * batch / (time.perf_counter() - start)


def newest_metrics(output):
    run = max(pathlib.Path(output).glob("train_*"))
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/release/bin/rekindle")
    parser.add_argument("--bars", type=int, default=1_140_000)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        data = pathlib.Path(folder) / "bars.csv"
        run_program([options.program, "simulate", "--bars", str(options.bars), "--seed", "1", "--output", str(data)])
        print(f"{options.bars:,} simulated bars, {data.stat().st_size / 2**20:.0f} MiB; torch {torch.__version__}, "
              f"pandas {pandas.__version__}")

        session = [options.program, "train", "--quiet", "--data", str(data), "--epochs", "3", "--output", f"{folder}/session"]
        run_program(session)
        walls, sizes, peers = [], [], []
        for repeat in range(options.repeats):
            wall, size = run_program(session)
            walls.append(wall)
            sizes.append(size)
            if repeat % 2 == 0:
                peers.append(session_job_in_pytorch(data))
        ours, peer = statistics.median(walls), statistics.median(peers)
        print(f"per session, whole job, 3 epochs: {ours:.2f} s ({min(walls):.2f} to {max(walls):.2f} s), peak resident set "
              f"{max(sizes):.0f} MiB; pandas and PyTorch eager {peer:.1f} s: ratio {peer / ours:.1f}")

        rates, epochs, eager, fused = [], [], [], []
        for repeat in range(max(1, options.repeats // 2)):
            output = f"{folder}/minute{repeat}"
            run_program([options.program, "train", "--quiet", "--data", str(data), "--features", "minute", "--target", "bar-return",
                         "--hidden-layers", "32,16", "--batch-size", "16", "--epochs", "2", "--threads", "1", "--output", output])
            metrics = newest_metrics(output)
            rates += [m["rows_per_second"] for m in metrics]
            epochs += [m["seconds"] for m in metrics]
            eager.append(minute_rows_per_second_in_pytorch(False))
            fused.append(minute_rows_per_second_in_pytorch(True))
        rate = statistics.median(rates)
        print(f"per minute, batch 16, one thread: {rate / 1e6:.2f} M rows/s, an epoch with validation {statistics.median(epochs):.3f} s; "
              f"PyTorch eager {statistics.median(eager):,.0f} rows/s (ratio {rate / statistics.median(eager):.0f}), with fused AdamW "
              f"{statistics.median(fused):,.0f} rows/s (ratio {rate / statistics.median(fused):.0f})")
        print(f"peak resident set of this Python process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB")


if __name__ == "__main__":
    main()
