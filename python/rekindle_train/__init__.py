"""Rekindle in Python: from market bars to volume profiles, features and trained networks, computed by the program's own code.

>>> import rekindle_train as rk
>>> bars = rk.read_bars("bars.parquet", session="rth")
>>> bars.sessions()["point_of_control"]
>>> run = rk.train(bars, output="runs", epochs=3)
>>> print(run.verdict)
>>> print(run.predict(bars))
"""

from ._bars import Bars, Features, Profile, Profiles, read_bars, simulate
from ._core import __version__
from ._errors import RekindleError, UsageError
from ._progress import Progress
from ._run import Prediction, Run, predict, train
from ._table import Table

__all__ = [
    "Bars",
    "Features",
    "Prediction",
    "Profile",
    "Profiles",
    "Progress",
    "RekindleError",
    "Run",
    "Table",
    "UsageError",
    "predict",
    "read_bars",
    "simulate",
    "train",
]
