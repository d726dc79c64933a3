#!/usr/bin/env python3
"""Writes ../data/statistics.json: series and panels of returns, and the figures that other packages compute for them.

Needs holdout-backtest 0.1 and arch 8 (PyPI). Bootstrap figures depend on random numbers, so they use many replicates
and are compared with a tolerance.
"""
import json
import math
import os

import holdout
import numpy as np
from arch.bootstrap import StationaryBootstrap
from arch.bootstrap import optimal_block_length as block_length_of_arch
from holdout.sharpe import serial_correlation_factor

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "statistics.json")


def autoregressive(random, count, factor):
    values = np.zeros(count)
    for i, shock in enumerate(random.normal(size=count)):
        values[i] = factor * values[i - 1] + shock
    return values


def series():
    random = np.random.default_rng(15)
    yield "independent and normal", 0.01 * random.normal(size=300) + 0.001
    yield "autoregressive, 0.6", 0.005 * autoregressive(random, 400, 0.6) + 0.002
    yield "autoregressive, -0.4", 0.005 * autoregressive(random, 300, -0.4) - 0.001
    yield "heavy tails", 0.01 * random.standard_t(3, size=250) + 0.002
    yield "skewed", 0.01 * (1 - random.exponential(size=280)) + 0.002
    yield "mostly without a position", np.where(random.uniform(size=300) < 0.7, 0, 0.01 * random.normal(size=300) + 0.004)


def figures(name, values):
    values = np.round(values, 6)
    estimate = holdout.estimate_sharpe(values)
    shape = {"skewness": estimate.skewness, "kurtosis": estimate.kurtosis}
    length = holdout.optimal_block_length(values)
    correlation = holdout.autocorrelation(values, 11)
    bootstrap = StationaryBootstrap(max(1, round(length)), values, seed=7)
    interval = bootstrap.conf_int(np.mean, reps=20000, method="percentile", size=0.95)[:, 0]
    result = {
        "name": name, "returns": values.tolist(), "ratio": estimate.value, **shape,
        "probabilistic": [holdout.probabilistic_sharpe_ratio(estimate.value, len(values), benchmark=b, **shape)
                          for b in (0, 0.05, -0.1)],
        "deflated": [holdout.deflated_sharpe_ratio(estimate.value, len(values), n_trials=n, trials_variance=v, **shape)
                     for n, v in ((1, 0.01), (2, 0.002), (10, 0.002), (1000, 0.0005))],
        "block_length": length, "block_length_of_arch": float(block_length_of_arch(values)["stationary"].iloc[0]),
        "autocorrelations": correlation.tolist(), "factor_of_12": serial_correlation_factor(12, correlation),
        "mean_interval": {"block_length": max(1, round(length)), "interval": interval.tolist()},
    }
    if estimate.value > 0:
        result["minimum_length"] = holdout.minimum_track_record_length(estimate.value, confidence=0.95, **shape)
    return result


def panels():
    random = np.random.default_rng(16)
    noise = random.normal(size=(240, 6))
    yield "no skill", 0.01 * noise, 8
    yield "one with skill", 0.01 * noise + np.array([0, 0, 0.003, 0, 0, 0]), 8
    yield "several with skill, one hopeless", 0.01 * noise + np.array([0.002, 0, 0.003, 0, -0.006, 0.0012]), 10
    common = random.normal(size=(123, 1))
    yield "correlated, uneven blocks", 0.01 * (0.8 * common + 0.6 * random.normal(size=(123, 5))), 16


def tests(name, values, blocks):
    values = np.round(values, 6)
    overfitting = holdout.probability_of_backtest_overfitting(values, n_blocks=blocks)
    options = {"n_bootstrap": 20000, "block_length": 4, "seed": 3}
    superior = holdout.superior_predictive_ability(values, **options)
    return {
        "name": name, "strategies": values.shape[1], "returns": values.ravel().tolist(), "blocks": blocks,
        "overfitting": overfitting.pbo, "loss": overfitting.probability_of_loss, "splits": overfitting.n_partitions,
        "first_logits": overfitting.logits[:40].tolist(), "logit_sum": float(np.sum(overfitting.logits)),
        "inside_sum": float(np.sum(overfitting.in_sample)), "outside_sum": float(np.sum(overfitting.out_of_sample)),
        "best": superior.best, "statistic": superior.statistic,
        "p_values": [superior.lower, superior.consistent, superior.upper],
        "stepdown": holdout.romano_wolf(values, **options).adjusted_pvalues.tolist(),
    }


def main():
    content = {
        "series": [figures(*case) for case in series()],
        "panels": [tests(*case) for case in panels()],
        "expected_maximum": [[n, holdout.expected_maximum_sharpe(n, 1.0)] for n in (1, 2, 3, 10, 100, 10**6, 10**12)],
    }
    assert all(math.isfinite(case["factor_of_12"]) for case in content["series"])
    with open(PATH, "w", encoding="utf-8") as file:
        file.write(json.dumps(content).replace('{"name"', '\n{"name"') + "\n")


if __name__ == "__main__":
    main()
