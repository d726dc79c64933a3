#!/usr/bin/env python3
"""Writes tests/market/data/features/barriers.json: labels of the triple barrier method by mlfinpy.

Closes are a random walk in ticks. The width of the barriers at a row is width * s * sqrt(bars), where s is the
root mean square of the latest 50 log returns. mlfinpy says when the first barrier is touched (get_events); the label is
the sign of the return until then, 0 at the vertical barrier. Its function barrier_touched is not used: it compares log
returns with log(1 + target), so it reports that lower barriers are touched when they are not. mlfinpy needs an
environment of its own, because it pins old versions of NumPy and pandas (made with mlfinpy 0.1.2):
python3 make_barriers.py ../data/features
"""

import json
import pathlib
import sys

import numpy as np
import pandas as pd
from mlfinpy.labeling import get_events

TRAILING = 50


def case(seed, rows, bars, width):
    random = np.random.default_rng(seed)
    closes = 4000 + np.cumsum(random.integers(-25, 26, rows))
    index = pd.date_range("2024-01-01", periods=rows, freq="D")
    close = pd.Series(closes.astype(float), index=index)
    squares = np.log(close / close.shift(1)) ** 2
    volatility = np.sqrt(squares.rolling(TRAILING).mean())
    target = (width * volatility * np.sqrt(bars)).dropna()
    starts = target.index[: rows - bars - TRAILING]
    vertical = pd.Series(index[[index.get_loc(at) + bars for at in starts]], index=starts)
    events = get_events(close, starts, [1, 1], target, 0, 1, vertical, verbose=False)
    returns = close[events["t1"]].to_numpy() / close[events.index].to_numpy() - 1
    labels = np.where(np.abs(returns) > events["trgt"], np.sign(returns), 0)
    return {"closes": closes.tolist(), "bars": bars, "width": width,
            "rows": [int(index.get_loc(at)) for at in events.index],
            "labels": [int(label) for label in labels],
            "ends": [int(index.get_loc(at)) for at in events["t1"]]}


def main():
    cases = [case(1, 200, 8, 0.7), case(2, 160, 5, 1.0), case(3, 160, 1, 1.2)]
    path = pathlib.Path(sys.argv[1]) / "barriers.json"
    path.write_text(json.dumps(cases, separators=(",", ":")) + "\n")
    print(path, [{label: one["labels"].count(label) for label in (-1, 0, 1)} for one in cases])


if __name__ == "__main__":
    main()
