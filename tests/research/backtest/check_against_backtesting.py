#!/usr/bin/env python3
"""Usage: check_against_backtesting.py REKINDLE. Runs the strategies of make_golden.py on the data that comes with the package
backtesting (daily GOOG, hourly EURUSD, monthly BTCUSD), and `rekindle backtest` on their target positions. Every trade and the
equity at the end of every session must be the same to the cent. The figures of the report must be those that the package empyrical
computes from the returns of the sessions.

Needs backtesting 0.6 and empyrical-reloaded 0.5 or newer (PyPI).
"""
import csv
import datetime
import json
import pathlib
import subprocess
import sys
import tempfile

import empyrical
import make_golden
import numpy as np
import pandas as pd
from backtesting.test import BTCUSD, EURUSD, GOOG

# Replaces the times with consecutive hours, because rekindle would skip the hours of this file that lie outside the trading days of
# currencies.
HOURS = EURUSD.set_axis(pd.date_range("2017-01-02", periods=len(EURUSD), freq="h"))
FRAMES = {"stock": GOOG, "currency": HOURS, "coin": BTCUSD}
OPTIONS = {"stock": ["--instrument", "US-STOCK"], "currency": ["--instrument", "CRYPTO"], "coin": ["--instrument", "CRYPTO"]}


def known_at(data, stamp):
    """Returns the time at which the bar ends, as rekindle reads the file."""
    if data == "stock":
        return f"{stamp.date()}T23:00:00Z"
    if data == "coin":
        return f"{stamp.date() + datetime.timedelta(days=1)}T00:00:00Z"
    return f"{stamp:%Y-%m-%dT%H:%M:%S}Z"


def write_inputs(folder, case):
    frame = FRAMES[case["data"]]
    frame.rename_axis("time").to_csv(folder / "bars.csv")
    with open(folder / "positions.csv", "w", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["known_at", "position", "limit", "stop", "stop_loss", "take_profit"])
        for d in case["decisions"]:
            prices = ["" if d[name] is None else repr(float(d[name])) for name in ("limit", "stop", "stop_loss", "take_profit")]
            writer.writerow([known_at(case["data"], frame.index[d["bar"]]), d["target_position"], *prices])


def run(program, folder, case):
    sizing = ["--sizing", "fraction", "--size", "0.6"] if case["sizing"] == "fraction" else []
    command = [program, "backtest", "--data", folder / "bars.csv", "--positions", folder / "positions.csv", "--output", folder / "out",
               "--capital", str(make_golden.CAPITAL), "--commission-percent", repr(100 * case["commission"]), "--slippage-ticks", "0",
               "--margin-percent", "100", *OPTIONS[case["data"]], *sizing, "--quiet"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    trades = pd.read_csv(folder / "out" / "trades.csv")
    return trades, json.loads((folder / "out" / "backtest.json").read_text()), pd.read_csv(folder / "out" / "equity.csv")


def compare(case, trades, result, equity):
    own = sorted(zip(trades.quantity, trades.entry_price, trades.exit_price, trades.profit))
    theirs = sorted(tuple(row[2:]) for row in case["trades"])
    assert len(own) == len(theirs), f"{len(own)} trades, backtesting has {len(theirs)}"
    for a, b in zip(own, theirs):
        assert all(abs(x - y) < 0.005 for x, y in zip(a, b)), (a, b)
    profit = case["equity"][-1] - make_golden.CAPITAL
    assert abs(result["strategy"]["profit"] - profit) < 0.005, (result["strategy"]["profit"], profit)
    if case["data"] == "currency":  # a session has several bars, but since all trades match, checking the end is enough
        return
    by_date = dict(zip(equity.date, equity.equity))
    for stamp, value in zip(FRAMES[case["data"]].index, case["equity"]):
        if str(stamp.date()) in by_date:
            assert abs(by_date[str(stamp.date())] - value) < 0.005, stamp


def compare_figures(case, result, equity):
    """equity.csv has 12 significant digits."""
    returns, year = equity["return"], result["periods_per_year"]
    strategy, skill = result["strategy"], result["skill"]
    expected = {
        "total_return": empyrical.cum_returns_final(returns),
        "annual_return": empyrical.annual_return(returns, annualization=year),
        "annual_std": empyrical.annual_volatility(returns, annualization=year),
        "sharpe": empyrical.sharpe_ratio(returns, annualization=1),
        "market_share": empyrical.beta(returns, equity["market_return"]),
    }
    if case["data"] != "currency":  # the report measures drawdowns at bars, equity.csv at the ends of sessions
        expected["largest_drawdown"] = -empyrical.max_drawdown(returns)
    for name, value in expected.items():
        own = strategy.get(name, skill.get(name))
        assert abs(own - value) <= 1e-9 * max(1, abs(value)), f"{name}: {own}, empyrical has {value}"
    drawdown = 1 - equity.equity / np.maximum.accumulate(np.maximum(equity.equity, make_golden.CAPITAL))
    assert np.abs(drawdown - equity.drawdown).max() < 1e-9


def main():
    failures = 0
    for case in make_golden.CASES:
        golden = make_golden.run(*case, FRAMES)
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            write_inputs(folder, golden)
            try:
                trades, result, equity = run(sys.argv[1], folder, golden)
                compare(golden, trades, result, equity)
                compare_figures(golden, result, equity)
                print(f"equal: {golden['name']}, {len(golden['trades'])} trades of {golden['data']}, and the figures of empyrical")
            except (AssertionError, subprocess.CalledProcessError) as error:
                failures += 1
                print(f"DIFFERENT: {golden['name']} ({golden['data']}): {error}")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
