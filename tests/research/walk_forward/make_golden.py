#!/usr/bin/env python3
"""Writes tests/research/data/folds.json: windows, purging, embargo and paths of purgedcv and skfolio.

Times are hours since 1970. Rows are unevenly spaced and have targets of different lengths, as with a
triple barrier. Needs purgedcv 0.1.11, skfolio 1.12.2, pandas:  python3 make_golden.py ../data
"""

import json
import pathlib
import sys

import numpy as np
import pandas as pd
from purgedcv import CombinatorialPurgedCV, WalkForwardSplit
from skfolio.model_selection import CombinatorialPurgedCV as SkfolioCPCV
from skfolio.model_selection import WalkForward as SkfolioWalkForward

SECONDS = 3600


def times(rows, seed, longest):
    random = np.random.default_rng(seed)
    known = np.cumsum(random.integers(1, 4, rows))
    ends = known + random.integers(1, longest + 1, rows)
    return known, ends


def stamps(hours):
    return pd.Series(pd.to_datetime(hours * SECONDS, unit="s"))


def windows(rows, seed, longest, folds, test_size, train_size):
    known, ends = times(rows, seed, longest)
    rule = {"window": "sliding", "train_size": train_size} if train_size else {"window": "expanding"}
    split = WalkForwardSplit(folds, test_size, prediction_times=stamps(known), evaluation_times=stamps(ends),
                             purge_horizon=pd.Timedelta(0), **rule)
    result = [{"train": train.tolist(), "test": test.tolist()} for train, test in split.split(np.zeros((rows, 1)))]
    return {"known": known.tolist(), "ends": ends.tolist(), "train_size": train_size or 0, "folds": result}


def combinations(rows, seed, longest, groups, test_groups, embargo_hours, embargo_rows):
    known, ends = times(rows, seed, longest)
    embargo = {}
    if embargo_hours:
        embargo["embargo"] = pd.Timedelta(hours=embargo_hours)
    if embargo_rows:
        embargo["embargo_observations"] = embargo_rows
    split = CombinatorialPurgedCV(groups, test_groups, prediction_times=stamps(known), evaluation_times=stamps(ends),
                                  purge_horizon=pd.Timedelta(0), **embargo)
    folds = [{"train": train.tolist(), "test": test.tolist()} for train, test in split.split(np.zeros((rows, 1)))]
    # skfolio's groups are as large where they divide the rows evenly, and so are its paths.
    skfolio = SkfolioCPCV(n_folds=groups, n_test_folds=test_groups) if test_groups > 1 and groups > 2 else None
    return {"known": known.tolist(), "ends": ends.tolist(), "groups": groups, "test_groups": test_groups,
            "embargo_hours": embargo_hours, "embargo_rows": embargo_rows, "folds": folds,
            "path_ids": skfolio.get_path_ids().tolist() if skfolio else None,
            "paths": int(skfolio.n_test_paths) if skfolio else None}


def skfolio_windows(rows, train_size, test_size, purged, expanding):
    walk = SkfolioWalkForward(test_size=test_size, train_size=train_size, purged_size=purged, expand_train=expanding)
    return {"rows": rows, "train_size": train_size, "test_size": test_size, "purged": purged, "expanding": expanding,
            "folds": [{"train": train.tolist(), "test": test.tolist()} for train, test in walk.split(np.zeros((rows, 1)))]}


def main():
    golden = {
        "purgedcv_windows": [windows(60, 1, 1, 4, 6, 0), windows(60, 2, 9, 4, 6, 0), windows(60, 3, 9, 5, 5, 15),
                             windows(40, 4, 3, 10, 1, 8)],
        "purgedcv_combinations": [combinations(36, 5, 1, 6, 2, 0, 0), combinations(36, 6, 8, 6, 2, 0, 0),
                                  combinations(38, 7, 8, 6, 2, 5, 0), combinations(38, 8, 4, 5, 3, 0, 2),
                                  combinations(30, 9, 3, 4, 1, 3, 0)],
        "skfolio_windows": [skfolio_windows(50, 20, 5, 0, False), skfolio_windows(50, 20, 6, 2, True),
                            skfolio_windows(53, 14, 3, 3, False)],
    }
    path = pathlib.Path(sys.argv[1]) / "folds.json"
    path.write_text(json.dumps(golden, separators=(",", ":")) + "\n")
    print(path, path.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
