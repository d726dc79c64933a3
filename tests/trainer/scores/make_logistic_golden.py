#!/usr/bin/env python3
"""Writes tests/trainer/data/logistic.json: scikit-learn's LogisticRegression on the inputs of ridge.json.

A target counts as a rise if it is above the median of the training targets. The exact leave-one-out losses
come from one fit for each row. Needs NumPy and scikit-learn (made with 1.9.1):  python3 make_logistic_golden.py ../data
"""

import json
import pathlib
import sys

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

PENALTIES = [0.5, 20.0]


def fit(inputs, rises, penalty):
    model = LogisticRegression(C=1 / penalty, tol=1e-12, max_iter=100_000, solver="newton-cholesky")
    return model.fit(inputs, rises)


def case(ridge):
    columns, train = ridge["columns"], ridge["train_rows"]
    inputs = np.array(ridge["inputs"], np.float32).astype(np.float64).reshape(-1, columns)
    targets = np.array(ridge["targets"], np.float32)
    median = float(np.median(targets[:train]))
    rises = targets[:train] > median
    standard = StandardScaler().fit(inputs[:train])
    scaled = standard.transform(inputs)
    result = {"name": ridge["name"], "median": median, "predictions": {}, "leave_one_out_losses": {}}
    for penalty in PENALTIES:
        model = fit(scaled[:train], rises, penalty)
        result["predictions"][str(penalty)] = model.predict_proba(scaled)[:, 1].tolist()
        losses = []
        for row in range(train):
            others = np.arange(train) != row
            p = fit(scaled[:train][others], rises[others], penalty).predict_proba(scaled[row : row + 1])[0, 1]
            losses.append(-np.log(p if rises[row] else 1 - p))
        result["leave_one_out_losses"][str(penalty)] = float(np.mean(losses))
    return result


def main():
    folder = pathlib.Path(sys.argv[1])
    ridge = json.loads((folder / "ridge.json").read_text())
    cases = [case(one) for one in ridge if len(set(one["targets"][: one["train_rows"]])) > 1]
    (folder / "logistic.json").write_text(json.dumps(cases) + "\n")
    print(f"{len(cases)} cases")


if __name__ == "__main__":
    main()
