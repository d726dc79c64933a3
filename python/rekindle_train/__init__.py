"""Rekindle in Python: from market bars to volume profiles, features and trained networks, computed by the program's own code.

>>> import rekindle_train as rk
>>> bars = rk.read_bars("bars.parquet", session="rth")
>>> bars.sessions()["point_of_control"]
>>> run = rk.train(bars, output="runs", epochs=3)
>>> print(run.verdict)
>>> print(run.predict(bars))
>>> judged = rk.walk_forward(bars, epochs=3)
>>> print(rk.backtest(bars, judged))
"""

from ._bars import Bars, Features, Profile, Profiles, read_bars, simulate
from ._core import __version__
from ._errors import RekindleError, UsageError
from ._progress import Progress
from ._research import Backtest, Report, Search, WalkForward, backtest, report, search, walk_forward
from ._run import Prediction, Run, predict, train
from ._table import Table

__all__ = [
    "Backtest",
    "Bars",
    "Features",
    "Prediction",
    "Profile",
    "Profiles",
    "Progress",
    "RekindleError",
    "Report",
    "Run",
    "Search",
    "Table",
    "UsageError",
    "WalkForward",
    "backtest",
    "predict",
    "read_bars",
    "report",
    "search",
    "simulate",
    "train",
    "walk_forward",
]
