"""Writes python/notebooks/first-steps.ipynb, without outputs: python3 python/tools/make_notebook.py

The notebook is kept here as text, so that changes to it are readable.
"""

import json
import pathlib

CELLS = [
    """# First steps with rekindle_train

From a Parquet file to volume profiles, a trained network and a prediction. Needs `rekindle-train`, `pyarrow` and
`matplotlib`. The bars are simulated; to use your own, replace `bars.parquet` with the name of your file.""",
    """import matplotlib.pyplot as plt
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import rekindle_train as rk

pq.write_table(pa.table(rk.simulate(400_000, seed=3)), "bars.parquet")""",
    """## Bars and sessions

The tick, the length of a bar and the contracts are found in the file. `session="rth"` would keep only the regular hours.""",
    """bars = rk.read_bars("bars.parquet")
print(bars)
print("tick", bars.tick, "points; contracts", bars.contracts)
sessions = bars.sessions()
sessions.to_pandas().tail()""",
    """## Volume profiles

How much volume traded at each price, for the last three sessions. The line is the point of control, the price with the
most volume; the shaded range is the value area, which holds 70 % of the volume.""",
    """profiles = bars.profiles()
figure, axes = plt.subplots(1, 3, figsize=(11, 4), sharey=True, layout="constrained")
for axis, profile in zip(axes, profiles[-3:]):
    axis.barh(profile.prices, profile.volumes, height=bars.tick, color="tab:blue")
    axis.axhspan(profile.value_area_low, profile.value_area_high, color="tab:orange", alpha=0.2, label="value area")
    axis.axhline(profile.point_of_control, color="tab:red", label="point of control")
    axis.set(title=str(profile.date), xlabel="volume (contracts)")
axes[0].set_ylabel("price (points)")
axes[0].legend()
plt.show()""",
    """The closes and the value areas of all sessions. Prices of different contracts are not comparable, so those before a roll are
shifted by its gap.""",
    """shift = sessions["roll_offset"][-1] - sessions["roll_offset"]
figure, axis = plt.subplots(figsize=(11, 4), layout="constrained")
axis.fill_between(sessions["date"], sessions["value_area_low"] + shift, sessions["value_area_high"] + shift, alpha=0.3, label="value area")
axis.plot(sessions["date"], sessions["point_of_control"] + shift, label="point of control")
axis.plot(sessions["date"], sessions["close"] + shift, linewidth=1, color="black", label="close")
axis.set_ylabel("price (points)")
axis.legend()
plt.show()""",
    """## Features

One row for each session. `known_at` is the time from which a row is known: no feature uses anything later.""",
    """features = bars.features(features=["session", "returns", "gap"])
print(features.matrix.shape, features.names[:5], "…")
features.to_pandas().iloc[-3:, :6]""",
    """## Training

A small network for the return of the next session. The run folder holds the models, checkpoints and a report.""",
    """run = rk.train(
    bars,
    output="runs",
    features=["session", "returns", "gap"],
    hidden_layers=[16, 8],
    epochs=15,
    batch_size=8,
    device="cpu",
)
print(run.verdict)
for score in run.scores[:3]:
    print(f"{score['name']}: {score['value']:.3g} {score['unit']}, baseline {score['baseline']:.3g} ({score['baseline_name']})")""",
    """metrics = run.metrics
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
left.plot([one["epoch"] for one in metrics], [one["train_loss"] for one in metrics], label="training")
left.plot([one["epoch"] for one in metrics], [one["val_loss"] for one in metrics], label="validation")
left.set(xlabel="epoch", ylabel="loss", title="Loss")
left.legend()
rows = run.predictions
right.scatter(100 * rows["prediction"], 100 * rows["outcome"], s=12)
right.axhline(0, color="gray", linewidth=0.5)
right.axvline(0, color="gray", linewidth=0.5)
right.set(xlabel="predicted return (%)", ylabel="outcome (%)", title="Validation rows")
plt.show()""",
    """The simulated price has no edge to learn, and the verdict says so.

## Prediction""",
    """print(run.predict(bars))""",
]


def cell(number, source):
    """Cells alternate, but a plot may follow code."""
    text = source.splitlines(keepends=True)
    is_text = not any(word in source for word in ("plt.", "print(", "import "))
    common = {"id": f"cell-{number}", "metadata": {}, "source": text}
    if is_text:
        return {"cell_type": "markdown", **common}
    return {"cell_type": "code", "execution_count": None, "outputs": [], **common}


def notebook():
    """The text of the file."""
    content = {
        "cells": [cell(number, source) for number, source in enumerate(CELLS)],
        "metadata": {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    target = pathlib.Path(__file__).parents[1] / "notebooks" / "first-steps.ipynb"
    target.parent.mkdir(exist_ok=True)
    target.write_text(notebook(), encoding="utf-8")
