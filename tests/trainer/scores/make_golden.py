#!/usr/bin/env python3
"""Writes ../data/ridge.json with scikit-learn: inputs, targets, and what Ridge and RidgeCV make of them.

Needs numpy and scikit-learn 1.5 or later. Inputs are multiples of 1/64 and therefore exact as float32.
"""
import json
import os

import numpy as np
from sklearn.linear_model import Ridge, RidgeCV
from sklearn.preprocessing import StandardScaler

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "ridge.json")
NEW_ROWS = 5


def rounded(values):
    return np.round(np.asarray(values) * 64) / 64


def cases():
    random = np.random.default_rng(1)
    x = random.normal(size=(45, 4))
    yield "more rows than columns", x, x @ [0.5, -0.25, 0, 0.1] + 0.5 * random.normal(size=45)
    yield "noise", random.normal(size=(45, 6)), random.normal(size=45)
    x = random.normal(size=(15, 20))
    yield "more columns than rows", x, x[:, 0] - x[:, 1] + 0.1 * random.normal(size=15)
    x = random.normal(size=(35, 5))
    x[:, 1] = 3  # constant
    x[:, 3] = x[:, 0]  # twice the same
    x[:, 4] = x[:, 0] - 2 * x[:, 2]  # a combination of others
    yield "constant and collinear columns", x, x[:, 0] + 0.3 * random.normal(size=35)
    x = random.normal(size=(40, 3)) * [1, 100, 0.25] + [5000, -300, 0]
    yield "large means and different scales", x, 0.01 * (x[:, 0] - 5000) + 0.01 * random.normal(size=40)


def solved(name, x, y):
    x, y = rounded(x), np.asarray(y, dtype=np.float32).astype(float)
    train, new = slice(0, len(y) - NEW_ROWS), slice(len(y) - NEW_ROWS, None)
    rows = len(y[train])
    scaler = StandardScaler().fit(x[train])
    standard = scaler.transform(x)
    penalties = [rows * 10 ** (half_decade / 2) for half_decade in range(-12, 9)]
    chosen = RidgeCV(alphas=penalties, store_cv_results=True).fit(standard[train], y[train])
    fixed = {str(p): Ridge(alpha=p, solver="svd").fit(standard[train], y[train]).predict(standard).tolist()
             for p in (0.01, 1.0, 100.0)}
    return {"name": name, "columns": x.shape[1], "train_rows": rows, "inputs": x.ravel().tolist(), "targets": y.tolist(),
            "fixed_penalty_predictions": fixed, "penalty": float(chosen.alpha_),
            "leave_one_out_errors": chosen.cv_results_.mean(axis=0).tolist(),
            "predictions": chosen.predict(standard).tolist()}


def main():
    with open(PATH, "w", encoding="utf-8") as file:
        cases_of_file = [json.dumps(solved(*case)) for case in cases()]
        file.write("[\n" + ",\n".join(cases_of_file) + "\n]\n")


if __name__ == "__main__":
    main()
