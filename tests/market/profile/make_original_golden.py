#!/usr/bin/env python3
"""Writes ../data/original_profiles.txt: random sessions and their volume profiles in the original system's three
generations, computed with the libraries that the original used (NumPy, pandas).

docs/volume-profile.md describes the rules. Each function is slow and literal on purpose: prices are floating-point
points, levels are found by comparison, and rolling means, quantiles and weighted means come from the library.

    pip install numpy pandas
    python3 make_original_golden.py > ../data/original_profiles.txt
"""

import random

import numpy as np
import pandas as pd

TICK = 0.25


def levels(bars):
    low = min(min(b[0], b[2], b[3]) for b in bars)
    high = max(max(b[0], b[1], b[3]) for b in bars)
    first, last = np.floor(low / TICK) * TICK, np.ceil(high / TICK) * TICK
    return np.arange(first, last + TICK, TICK)


def covered(prices, bar):
    return (prices >= min(bar[0], bar[2], bar[3])) & (prices <= max(bar[0], bar[1], bar[3]))


def greedy(prices, volumes, total):
    target = total * 0.7
    order = sorted(range(len(volumes)), key=lambda k: volumes[k], reverse=True)
    taken, reached = [], volumes[order[0]] * 0
    for k in order:
        taken.append(prices[k])
        reached = reached + volumes[k]
        if reached >= target:
            break
    return min(taken), max(taken)


def notebook(bars):
    prices = levels(bars)
    volumes = np.zeros(len(prices))
    for bar in bars:
        mask = covered(prices, bar)
        volumes[mask] += bar[4] / mask.sum()
    total = pd.Series(volumes).sort_values(ascending=False).sum()
    return (prices[np.argmax(volumes)], *greedy(prices, volumes, total))


def cpu(bars):
    prices = levels(bars)
    raw = pd.Series(np.zeros(len(prices)))
    for bar in bars:
        mask = covered(prices, bar)
        weights = np.ones(mask.sum())
        for price in bar[:4]:
            weights += 1.0 / (1.0 + np.abs(prices[mask] - price))
        raw[mask] += weights / weights.sum() * bar[4]
    smooth = raw.rolling(window=3, center=True).mean().fillna(raw)
    top = smooth >= smooth.quantile(0.95)
    start = control = int(smooth.argmax())
    if top.sum() >= 3:
        center = np.average(prices[top], weights=smooth[top])
        control = int(np.abs(prices - center).argmin())
    volumes, total = smooth.to_numpy(), smooth.sum()
    low = high = start
    reached = volumes[start]
    while reached < total * 0.7 and (low > 0 or high < len(volumes) - 1):
        above = volumes[high + 1] if high < len(volumes) - 1 else 0
        below = volumes[low - 1] if low > 0 else 0
        if high < len(volumes) - 1 and above >= below:
            high += 1
            reached += above
        else:
            low -= 1
            reached += below
    return prices[control], prices[low], prices[high]


def gpu(bars, chunk=3500):
    whole = {}
    size = chunk if len(bars) > 1000 else len(bars)
    for begin in range(0, len(bars), size):
        part = bars[begin:begin + size]
        prices = levels(part).astype(np.float32)
        volumes = np.zeros(len(prices), dtype=np.float32)
        for bar in part:
            mask = covered(prices, bar)
            weights = np.float32(1) / (np.float32(1) + np.abs(prices[mask] - np.float32(bar[3]))) + np.float32(1)
            total = np.float32(0)
            for weight in weights:
                total += weight
            volumes[mask] += weights / total * np.float32(bar[4])
        for price, volume in zip(prices, volumes):
            whole[float(price)] = whole.get(float(price), np.float32(0)) + volume
    prices = sorted(whole)
    kind = np.float64 if len(bars) > 1000 else np.float32
    volumes = [kind(whole[price]) for price in prices]
    total = kind(0)
    for volume in volumes:
        total += volume
    return (prices[int(np.argmax(volumes))], *greedy(prices, volumes, total))


def session(rng, count, max_levels, max_volume):
    close, bars = 24000, []
    for _ in range(count):
        span = rng.randint(0, max_levels)
        low = close + rng.randint(0, span) - span
        opened, close = low + rng.randint(0, span), low + rng.randint(0, span)
        bars.append((opened, low + span, low, close, rng.randint(1, max_volume)))
    return bars


def main():
    rng = random.Random(20250227)
    shapes = [(1, 0, 5), (1, 9, 5), (2, 1, 1), (3, 40, 9)]
    shapes += [(rng.randint(2, 60), rng.randint(0, 20), rng.choice([1, 3, 50])) for _ in range(45)]
    shapes += [(80, 150, 5000), (1060, 12, 2000)]
    print("# Made by make_original_golden.py with NumPy", np.__version__, "and pandas", pd.__version__)
    print("# session BARS, then open high low close volume of each bar (prices in ticks of 0.25), then for each")
    print("# generation point of control, value area low and value area high in ticks; G2 adds up chunks of 400 bars.")
    for shape in shapes:
        bars = session(rng, *shape)
        print("session", len(bars))
        for bar in bars:
            print(*bar)
        points = [tuple(p * TICK for p in bar[:4]) + (bar[4],) for bar in bars]
        results = {"N": notebook(points), "C": cpu(points), "G": gpu(points), "G2": gpu(points, chunk=400)}
        for name, figures in results.items():
            print(name, *(int(round(f / TICK)) for f in figures))


if __name__ == "__main__":
    main()
