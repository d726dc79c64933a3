#!/usr/bin/env python3
"""Writes ../data/backtests.json: strategies on simulated prices, and the trades and equity that the package backtesting
reports for them. check_against_backtesting.py runs the same strategies on the data that comes with the package.

Needs backtesting 0.6 (PyPI). The strategies avoid cases in which the rules of the two programs differ: the capital covers every
order, only market orders have protective orders, and the last position is closed before the data ends.
"""
import json
import os
import random
import warnings

import pandas as pd
from backtesting import Backtest, Strategy

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "backtests.json")
CAPITAL = 10_000_000


class Recorded(Strategy):
    """A strategy that records its decisions."""

    def init(self):
        type(self).decisions = []
        self.last = None
        self.random = random.Random(7)

    def decide(self, target_position, size, limit=None, stop=None, sl=None, tp=None):
        """Decides on `size` contracts from the next bar on, unless that repeats the last decision. Records `target_position`."""
        if self.last == (target_position, size, limit, stop):
            return
        self.last = (target_position, size, limit, stop)
        for order in list(self.orders):
            if not order.is_contingent:
                order.cancel()
        for trade in self.trades:  # the package would fill them before the market order of the same open
            trade.sl = trade.tp = None
        change = size - self.position.size
        if change:
            (self.buy if change > 0 else self.sell)(size=abs(change), limit=limit, stop=stop, sl=sl, tp=tp)
        type(self).decisions.append({"bar": len(self.data) - 1, "target_position": target_position, "limit": limit,
                                     "stop": stop, "stop_loss": sl, "take_profit": tp})

    def next(self):
        count = len(self.data)
        if count == self.rows - 1:
            self.decide(0, 0)
        elif 35 <= count < self.rows - 1:
            self.step(self.data.Close)

    def mean(self, closes, count):
        return sum(closes[-count:]) / count


class Crossing(Recorded):
    def step(self, closes):
        sign = 1 if self.mean(closes, 10) > self.mean(closes, 30) else -1
        self.decide(sign * 100, sign * 100)


class ScalingIn(Recorded):
    def step(self, closes):
        level = sum(closes[-1] > self.mean(closes, count) for count in (5, 12, 30))
        self.decide(level * 50 - 50, level * 50 - 50)


class Brackets(Recorded):
    def step(self, closes):
        sign = 1 if self.mean(closes, 5) > self.mean(closes, 20) else -1
        if self.last and self.last[0] == sign * 80:
            return
        price = closes[-1]
        self.decide(sign * 80, sign * 80, sl=price * (1 - sign * 0.02), tp=price * (1 + sign * 0.05))


class Breakout(Recorded):
    def step(self, closes):
        if len(self.data) % 4:
            return
        up = closes[-1] >= closes[-9]
        price = max(self.data.High[-8:]) if up else min(self.data.Low[-8:])
        sign = 1 if up else -1
        if self.position.size != sign * 10_000:
            self.decide(sign * 10_000, sign * 10_000, stop=price)


class Reversion(Recorded):
    def step(self, closes):
        if len(self.data) % 3:
            return
        sign = -1 if closes[-1] >= closes[-6] else 1
        if self.position.size != sign * 10_000:
            self.decide(sign * 10_000, sign * 10_000, limit=closes[-1] * (1 - sign * 0.001))


class ShareOfEquity(Recorded):
    def step(self, closes):
        sign = 1 if closes[-1] > self.mean(closes, 6) else -1
        if self.last is None or self.last[0] != sign:
            self.decide(sign, sign * int(0.6 * self.equity / closes[-1]))


class Random(Recorded):
    def step(self, closes):
        if self.random.random() < 0.6:
            return
        size = self.random.choice((-300, -100, 0, 100, 200))
        kind = self.random.choice(("market", "limit", "stop"))
        buys = size > self.position.size
        distance = closes[-1] * self.random.choice((-0.01, -0.002, 0, 0.002, 0.01, 0.03))
        if kind == "market" or size in (0, self.position.size):
            self.decide(size, size)
        elif kind == "limit":
            self.decide(size, size, limit=closes[-1] - (distance if buys else -distance))
        else:
            self.decide(size, size, stop=closes[-1] + (distance if buys else -distance))


CASES = [
    ("moving averages, long and short", "stock", Crossing, 0.002, "fixed"),
    ("scaling in and out", "stock", ScalingIn, 0.0005, "fixed"),
    ("stop loss and take profit", "stock", Brackets, 0.001, "fixed"),
    ("random orders of every kind", "stock", Random, 0.0005, "fixed"),
    ("breakouts with stop orders", "currency", Breakout, 0.0001, "fixed"),
    ("reversion with limit orders", "currency", Reversion, 0.0001, "fixed"),
    ("a share of the equity", "coin", ShareOfEquity, 0.0025, "fraction"),
]


def run(name, data, strategy, commission, sizing, frames):
    frame = frames[data]
    strategy.rows = len(frame)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.filterwarnings("error", message=".*Broker canceled.*|.*contingent SL/TP.*")
        stats = Backtest(frame, strategy, cash=CAPITAL, commission=commission).run()
    trades = stats["_trades"]
    equity = [round(value, 6) for value in stats["_equity_curve"]["Equity"]]
    net = equity[-1] - CAPITAL
    assert abs(net - sum(trades["PnL"])) < 1e-3 or abs(net - sum(trades["PnL"] - trades["Commission"])) < 1e-3, (name, net)
    gross = abs(net - sum(trades["PnL"])) >= 1e-3
    rows = [[int(t.EntryBar), int(t.ExitBar), int(t.Size), float(t.EntryPrice), float(t.ExitPrice),
             float(t.PnL - t.Commission if gross else t.PnL)] for t in trades.itertuples()]
    assert len(rows) > 10 and stats["Exposure Time [%]"] > 5, (name, len(rows))
    return {"name": name, "data": data, "commission": commission, "sizing": sizing, "decisions": strategy.decisions,
            "trades": rows, "equity": equity}


def prices(seed, count, start, volatility, digits):
    """Returns bars of a random walk with gaps and clusters of volatility."""
    numbers = random.Random(seed)
    rows, price, scale = [], start, volatility
    for _ in range(count):
        scale = 0.9 * scale + 0.1 * volatility * (0.3 + numbers.random() * 2)
        path = [price * (1 + 0.4 * scale * numbers.gauss(0, 1))]
        for _ in range(6):
            path.append(path[-1] * (1 + 0.4 * scale * numbers.gauss(0, 1)))
        path = [round(value, digits) for value in path]
        rows.append((path[0], max(path), min(path), path[-1]))
        price = path[-1]
    index = pd.date_range("2020-01-01", periods=count, freq="h")
    return pd.DataFrame(rows, columns=["Open", "High", "Low", "Close"], index=index)


def main():
    frames = {"stock": prices(1, 500, 400, 0.02, 2), "currency": prices(2, 600, 1.15, 0.001, 5), "coin": prices(5, 160, 500, 0.1, 2)}
    content = {"capital": CAPITAL, "bars": {}, "cases": [run(*case, frames) for case in CASES]}
    for name, frame in frames.items():
        content["bars"][name] = [[float(row.Open), float(row.High), float(row.Low), float(row.Close)] for row in frame.itertuples()]
    with open(PATH, "w", encoding="utf-8") as file:
        file.write(json.dumps(content, separators=(",", ":"), default=float).replace('{"name"', '\n{"name"').replace('"bars":', '\n"bars":') + "\n")


if __name__ == "__main__":
    main()
