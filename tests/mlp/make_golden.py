#!/usr/bin/env python3
"""Writes data/golden.json and data/golden.f32 with PyTorch in float64. Run it after changing cases.py.

golden.f32 holds float32 arrays one after the other; golden.json names their offsets (in floats). Per case: weights at
steps 0, 1, 10 and 100 of a run, the gradient of the first batch at each of these weights, and the weights and their
moving average after `steps` steps. Seeded cases: the mean loss over all rows after 100 steps from 16 initializations, in
float64 and in PyTorch's float32.
"""
import json
import os

import numpy as np
import torch

import cases
from reference import Run, dropout_factors, gradient_at, initial_weights, weights_along_the_way

STEPS = 30
SEEDS, SEEDED_STEPS = 16, 100
FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data")


def plateau_rates():
    """Learning rates of ReduceLROnPlateau after each epoch of a made-up history."""
    parameter = torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([parameter], lr=1e-3)
    schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=2)
    losses = [1.0, 0.9, 0.89999, 0.89995, 0.9, 0.7, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8, float("nan"), 0.69, 0.69, 0.69, 0.69]
    losses += [0.69] * 60
    rates = []
    for loss in losses:
        schedule.step(loss)
        rates.append(optimizer.param_groups[0]["lr"])
    return {"factor": 0.5, "patience": 2, "learning_rate": 1e-3,
            "losses": [None if loss != loss else loss for loss in losses], "rates": rates}


def masks():
    result = []
    for seed, layer, batch, rows, units, rate in ((42, 5, 0, 3, 20, 0.4), (0xFEDCBA9876543210, 9, (1 << 32) + 7, 2, 33, 0.1),
                                                  (1, 2, 3, 5, 16, 0.5)):
        kept = dropout_factors(seed, layer, batch, rows, units, rate) > 0
        result.append({"seed": seed, "layer": layer, "batch": batch, "rate": rate,
                       "kept": ["".join("#" if k else "." for k in row) for row in kept]})
    return result


def loss_after(case, seed, dtype):
    """Evaluation mode, in the run's own dtype."""
    run = Run(case, dtype, initial_weights(case["model"], seed))
    for _ in range(SEEDED_STEPS):
        run.step()
    return run.evaluate()


def seeded():
    return [case | {"steps": SEEDED_STEPS} |
            {str(dtype).split(".")[1]: [loss_after(case, seed, dtype) for seed in range(SEEDS)]
             for dtype in (torch.float64, torch.float32)} for case in cases.SEEDED]


def build():
    floats, described, at = [], [], 0

    def put(values):
        nonlocal at
        floats.append(np.asarray(values, dtype=np.float32))
        at += len(values)
        return at - len(values)

    for case in cases.SMALL:
        points = [{"step": step, "weights": put(weights), "gradient": put(gradient_at(case, weights))}
                  for step, weights in weights_along_the_way(case).items()]
        run = Run(case)
        for _ in range(STEPS):
            run.step()
        described.append(case | {"points": points, "steps": STEPS, "trained": put(run.network.flat()),
                                 "average": put(run.average)})
    return {"torch": torch.__version__, "cases": described, "seeded": seeded(), "plateau": plateau_rates(),
            "masks": masks()}, np.concatenate(floats)


def main():
    torch.set_num_threads(1)
    description, floats = build()
    os.makedirs(FOLDER, exist_ok=True)
    with open(os.path.join(FOLDER, "golden.json"), "w") as file:
        json.dump(description, file, separators=(",", ":"))
        file.write("\n")
    floats.astype("<f4").tofile(os.path.join(FOLDER, "golden.f32"))
    print(f"{len(description['cases'])} cases, {floats.nbytes / 1024:.0f} KiB")


if __name__ == "__main__":
    main()
