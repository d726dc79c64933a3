"""Writes the notebooks in python/notebooks/, without outputs: python3 python/tools/make_notebook.py

The notebooks are kept here as text, so that changes to them are readable.
"""

import json
import pathlib

FIRST_STEPS = [
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
    axis.axhspan(profile.value_area_low, profile.value_area_high, color="tab:orange", alpha=0.3, zorder=0, label="value area")
    axis.axhline(profile.point_of_control, color="tab:red", label="point of control")
    axis.set(title=str(profile.date), xlabel="volume (contracts)")
axes[0].set_ylabel("price (points)")
axes[0].legend()
plt.show()""",
    """The closes and the value areas of the last 60 sessions. Prices of different contracts are not comparable, so those before a
roll are shifted by its gap.""",
    """last = {name: sessions[name][-60:] for name in ("date", "value_area_low", "value_area_high", "point_of_control", "close")}
shift = sessions["roll_offset"][-1] - sessions["roll_offset"][-60:]
figure, axis = plt.subplots(figsize=(11, 4), layout="constrained")
axis.fill_between(last["date"], last["value_area_low"] + shift, last["value_area_high"] + shift, alpha=0.3, label="value area")
axis.plot(last["date"], last["point_of_control"] + shift, label="point of control")
axis.plot(last["date"], last["close"] + shift, linewidth=1, color="black", label="close")
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

WORTH = [
    """# What a model is worth

From daily bars to out-of-sample predictions, a backtest, and the same trades in two other packages. Needs `rekindle-train`,
`pandas`, `matplotlib`, `backtesting` and `vectorbt`. The prices are the daily bars of a stock that come with the package
`backtesting`; to use your own, replace `prices`.""",
    """import backtesting
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import vectorbt
from backtesting.test import GOOG

import rekindle_train as rk

prices = GOOG.rename_axis("date")
bars = rk.read_bars(prices.reset_index(), name="GOOG", instrument="US-STOCK")
print(bars)""",
    """## Walk-forward

For each of eight windows, three networks with different seeds are trained, on earlier days only. They predict the return of the
next day. The latest fifth of the days stays untouched; `final=True` opens it, once all choices have been made.""",
    """judged = rk.walk_forward(
    bars,
    output="runs",
    features=["session", "returns", "gap"],
    hidden_layers=[16, 8],
    epochs=5,
    batch_size=16,
    learning_rate=1e-3,
    population=3,
    folds=8,
    device="cpu",
)
print(judged)""",
    """predictions = judged.predictions.to_pandas()
predictions = predictions[predictions["seed"] == "mean"].set_index("session")
print(predictions[["known_at", "fold", "prediction", "sigma", "outcome", "baseline"]].tail())""",
    """## Backtest

Long 100 shares if the mean of the networks predicts a rise, otherwise short. Orders are filled at the open of the next day.
Costs that you do not set are those typical of the instrument.""",
    """tested = rk.backtest(bars, judged, output="backtest", size=100, commission_percent=0.05, slippage_ticks=0, margin_percent=100)
print(tested)
figure, axis = plt.subplots(figsize=(11, 4), layout="constrained")
axis.plot(tested.equity["date"], tested.equity["equity"], label="predictions")
axis.plot(tested.equity["date"], tested.equity["buy_and_hold"], label="buy and hold")
axis.set_ylabel("equity (USD)")
axis.legend()
plt.show()""",
    """## The same predictions in `backtesting`

At the close of each day, the strategy learns the prediction; the package fills its orders at the next open, too.""",
    """side = np.sign(predictions["prediction"]).rename("Side")
traded = prices.loc[: side.index[-1]].join(side).fillna({"Side": 0.0})


class FollowPredictions(backtesting.Strategy):
    def init(self):
        pass

    def next(self):
        side = self.data.Side[-1]
        if side != np.sign(self.position.size):
            self.position.close()
            if side:
                (self.buy if side > 0 else self.sell)(size=100)


simulation = backtesting.Backtest(traded, FollowPredictions, cash=100_000, commission=0.0005, finalize_trades=True)
trades = simulation.run()["_trades"]
profits = tested.trades["profit"]
print(len(trades), "trades; rekindle_train has", len(profits))
# Both close the last trade at the end of the data, but at different prices.
print(f"largest difference of a profit: {np.abs(trades['PnL'][:-1] - profits[:-1]).max():.4f} USD")""",
    """## The same predictions in `vectorbt`

The position of a day is the side that was known at the end of the day before.""",
    """portfolio = vectorbt.Portfolio.from_orders(
    traded["Close"],
    size=100 * traded["Side"].shift(1).fillna(0),
    size_type="targetamount",
    price=traded["Open"],
    fees=0.0005,
    init_cash=100_000,
    freq="1D",
)
equity = pd.Series(tested.equity["equity"], index=tested.equity["date"])
difference = (portfolio.value().reindex(equity.index) - equity).abs()
# vectorbt keeps the last position open, which saves its commission.
print(f"largest difference of the equity: {difference[:-1].max():.4f} USD")
print(f"Sharpe ratio of vectorbt: {portfolio.sharpe_ratio():.2f}")""",
    """## Search

Which setting is best, and how much of its score is the luck of having tried many? The verdict takes the number of trials into
account.""",
    """found = rk.search(
    bars,
    {"learning_rate": "1e-4..1e-2@log", "hidden_layers": [[8], [16, 8]], "dropout_rate": [0, 0.25]},
    output="runs",
    trials=24,
    folds=4,
    epochs=3,
    batch_size=16,
    device="cpu",
)
print(found)
trials = found.trials
figure, axis = plt.subplots(figsize=(11, 4), layout="constrained")
for layers in sorted(set(trials["hidden_layers"])):
    rows = trials["hidden_layers"] == layers
    axis.scatter(trials["learning_rate"][rows], trials["loss_saved_percent"][rows], label=f"hidden layers {layers}")
axis.set(xscale="log", xlabel="learning rate", ylabel="loss reduction (%)")
axis.legend()
plt.show()""",
    """`rk.walk_forward(bars, **found.walk_forward)` judges the best setting on the same windows; with `final=True` also on the days
that no trial has seen.""",
]

NOTEBOOKS = {"first-steps": FIRST_STEPS, "what-a-model-is-worth": WORTH}


def cell(number, source):
    """Cells with code print or plot something."""
    text = source.splitlines(keepends=True)
    is_text = not any(word in source for word in ("plt.", "print(", "import "))
    common = {"id": f"cell-{number}", "metadata": {}, "source": text}
    if is_text:
        return {"cell_type": "markdown", **common}
    return {"cell_type": "code", "execution_count": None, "outputs": [], **common}


def notebook(cells):
    """The text of the file."""
    content = {
        "cells": [cell(number, source) for number, source in enumerate(cells)],
        "metadata": {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    folder = pathlib.Path(__file__).parents[1] / "notebooks"
    folder.mkdir(exist_ok=True)
    for name, cells in NOTEBOOKS.items():
        (folder / f"{name}.ipynb").write_text(notebook(cells), encoding="utf-8")
