"""What trained models are worth: walk-forward, search and backtest."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Sequence, Union

from . import _core
from ._bars import Bars
from ._errors import UsageError
from ._progress import Listener, ProgressArgument
from ._run import ResultFolder
from ._signatures import BY_FUNCTION, as_json, default_of, takes_settings
from ._table import Table

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._settings import BacktestSettings, SearchSettings, WalkForwardSettings


class _Job(ResultFolder):
    """A finished job and its folder."""

    def __init__(self, outcome: Dict[str, Any]) -> None:
        super().__init__(Path(outcome["folder"]).absolute())
        self._lines: List[str] = outcome["lines"]

    def __repr__(self) -> str:
        return f"<{type(self).__name__} in {self._folder}>"


class _Judged(_Job):
    """A job whose figures are in results.json."""

    def __init__(self, outcome: Dict[str, Any]) -> None:
        super().__init__(outcome)
        self._verdict: str = outcome["verdict"]
        self._has_edge: bool = outcome["has_edge"]
        self._figures: Dict[str, Any] = json.loads((self._folder / "results.json").read_text(encoding="utf-8"))

    @property
    def verdict(self) -> str:
        """The judgment, which begins with one plain sentence."""
        return self._verdict

    @property
    def has_edge(self) -> bool:
        """Whether the verdict is that there is an edge."""
        return self._has_edge

    @property
    def figures(self) -> Dict[str, Any]:
        """All figures: the content of ``results.json``."""
        return self._figures

    def __str__(self) -> str:
        return "\n".join([self._verdict, "", *self._lines])


class WalkForward(_Judged):
    """A walk-forward job. Made by :func:`walk_forward`."""

    def __init__(self, outcome: Dict[str, Any]) -> None:
        super().__init__(outcome)
        self._notes: List[str] = outcome["notes"]
        self._predictions = Table(outcome["predictions"])

    @property
    def predictions(self) -> Table:
        """Every out-of-sample prediction: a row for each network and, if there are several, one for their mean.

        ``known_at``, ``session``, ``instrument``, ``fold``, ``seed`` (``"mean"`` for the mean), ``prediction``, ``sigma``,
        ``outcome``, ``baseline``: the columns of ``predictions.csv`` (docs/formats/predictions.md).
        """
        return self._predictions

    @property
    def scores(self) -> List[Dict[str, Any]]:
        """Each score on the predicted rows, with its 95 % interval and its baseline."""
        return self._figures["evaluation"]["scores"]

    @property
    def importance(self) -> List[Dict[str, Any]]:
        """By how much the loss grows without the information in each group of features."""
        return self._figures["importance"]

    @property
    def instruments(self) -> Dict[str, List[Dict[str, Any]]]:
        """The scores of each of several instruments by its name."""
        return {one["name"]: one["evaluation"].get("scores", []) for one in self._figures.get("instruments", [])}

    @property
    def notes(self) -> List[str]:
        """Notes on the result, as sentences."""
        from ._errors import in_python

        return [in_python(note) for note in self._notes]


class Search(_Judged):
    """A search for the best setting. Made by :func:`search`."""

    def __init__(self, outcome: Dict[str, Any]) -> None:
        super().__init__(outcome)
        self._trials = Table(outcome["trials"])
        self._arguments: List[str] = outcome["walk_forward"]

    @property
    def trials(self) -> Table:
        """A row for each setting that was tried, with its scores from its highest rung.

        ``trial``, ``rung``, ``epochs``, each setting that varies, ``loss_saved_percent``, ``timing_ratio`` (both NaN if
        the setting diverged), ``diverged``, ``seconds``: the columns of ``trials.csv`` (docs/formats/search.md).
        """
        return self._trials

    @property
    def best(self) -> Dict[str, Any]:
        """The value of each varying setting in the best trial."""
        return self._figures["best"]["settings"]

    @property
    def walk_forward(self) -> Dict[str, Any]:
        """The best setting as keyword arguments: ``rk.walk_forward(bars, **found.walk_forward)``.

        They include the settings that did not vary, and the windows that the setting was chosen on.
        """
        rows = BY_FUNCTION["walk_forward"]
        found = json.loads((self._folder / "best.json").read_text(encoding="utf-8"))
        chosen = {name: value for name, value in found.items() if name in rows and value != default_of(rows[name])}
        for option, value in zip(self._arguments[2::2], self._arguments[3::2]):
            name = option[2:].replace("-", "_")
            chosen[name] = value if rows[name]["kind"] == "word" else json.loads(value)
        return chosen


class Backtest(_Job):
    """A backtest. Made by :func:`backtest`."""

    def __init__(self, outcome: Dict[str, Any]) -> None:
        super().__init__(outcome)
        self._figures: Dict[str, Any] = json.loads(outcome["figures"])
        self._trades, self._equity = Table(outcome["trades"]), Table(outcome["equity"])

    @property
    def verdict(self) -> str:
        """Whether the result is more than luck and the market explain."""
        return self._figures["verdict"]

    @property
    def has_edge(self) -> bool:
        """Whether the verdict is that there is an edge."""
        return self._figures["has_edge"]

    @property
    def trades(self) -> Table:
        """The closed trades in the order of their exits: the columns of ``trades.csv`` (docs/formats/backtest.md)."""
        return self._trades

    @property
    def equity(self) -> Table:
        """A row for each trading day: the columns of ``equity.csv`` (docs/formats/backtest.md)."""
        return self._equity

    @property
    def figures(self) -> Dict[str, Any]:
        """All figures: the content of ``backtest.json``; ``figures["strategy"]`` are those of the strategy."""
        return self._figures

    def __str__(self) -> str:
        return "\n".join(self._lines)


@takes_settings("walk_forward")
def walk_forward(bars: Bars, *, progress: ProgressArgument = None, **settings: "Unpack[WalkForwardSettings]") -> WalkForward:
    """Trains repeatedly on the past and scores the rows that follow; exactly as ``rekindle walk-forward`` does.

    Ctrl-C ends it; ``walk_forward(bars, resume_from_checkpoint=folder)`` continues and keeps the finished networks. For a
    finished job, the same call returns its result again, and ``final=True`` opens its final part.

    Parameters
    ----------
    bars : Bars
    progress : callable or bool, optional
        As in :func:`read_bars`. An exception in the callback ends the job like Ctrl-C.
    **settings
        The settings below.

    Returns
    -------
    WalkForward

    Raises
    ------
    UsageError
        A setting is wrong, or there are too few bars.
    """
    text, options = as_json("walk_forward", dict(settings))
    with Listener(progress) as listener:
        return WalkForward(_core.walk_forward(bars._core, text, options, listener))


Values = Union[str, Sequence[object]]


def _written(value: object) -> str:
    if isinstance(value, (list, tuple)):
        return ",".join(_written(one) for one in value)
    if hasattr(value, "item"):
        value = value.item()
    return str(value).lower() if isinstance(value, bool) else str(value)


def _dimensions(vary: Union[Mapping[str, Values], Sequence[str]]) -> List[str]:
    """The varying settings as the program writes them: NAME=VALUES."""
    if isinstance(vary, str) or not isinstance(vary, Mapping):
        return [vary] if isinstance(vary, str) else list(vary)
    written = []
    for name, values in vary.items():
        choices = values if isinstance(values, str) else "|".join(_written(value) for value in values)
        written.append(f"{name.replace('_', '-')}={choices}")
    return written


@takes_settings("search")
def search(
    bars: Bars,
    vary: Union[Mapping[str, Values], Sequence[str]] = (),
    *,
    ray: Optional[str] = None,
    ray_workers: Optional[int] = None,
    progress: ProgressArgument = None,
    **settings: "Unpack[SearchSettings]",
) -> Search:
    """Searches for the settings that predict best; exactly as ``rekindle search`` does.

    Ctrl-C ends it; ``search(bars, resume_from_checkpoint=folder)`` continues and keeps the finished trials.

    Parameters
    ----------
    bars : Bars
    vary : mapping, or sequence of str
        The settings to vary. ``{"learning_rate": "1e-4..1e-2@log", "hidden_layers": [[32, 16], [64, 32]]}`` gives each
        a list of choices, or an interval as text: ``LOW..HIGH``, with ``/N`` for N grid points and ``@log`` for a
        logarithmic scale. ``["learning-rate=1e-4..1e-2@log"]``, in the program's words, means the same. Besides the
        settings of :func:`train`, ``train_rows`` can vary. Needed unless a search is resumed.
    ray : str, optional
        Runs the trials on a Ray cluster: ``"auto"`` for the one that this machine belongs to, ``"local"`` to start one
        on this machine, or its address. The results are the same as without Ray. If a worker ends, another one
        runs its unfinished trials again. Every host needs this package. If the bars were read from files, every host
        needs them at the same paths. Needs the package ``ray``.
    ray_workers : int, optional
        How many processes run trials. The default is one for each host, with all of its CPUs and GPUs.
    progress : callable or bool, optional
        As in :func:`read_bars`. An exception in the callback ends the search like Ctrl-C.
    **settings
        The settings below.

    Returns
    -------
    Search

    Raises
    ------
    UsageError
        A setting is wrong, or there are too few bars.
    RekindleError
        Every trial diverged.
    """
    text, options = as_json("search", dict(settings))
    dimensions = _dimensions(vary)
    if dimensions:
        options = json.dumps({"vary": dimensions, **json.loads(options)})
    elif not settings.get("resume_from_checkpoint"):
        raise UsageError("no setting varies", "vary", 'a mapping such as {"learning_rate": "1e-4..1e-2@log"}')
    with Listener(progress) as listener:
        if ray is None:
            return Search(_core.search(bars._core, text, options, listener, None))
        from ._ray import Cluster

        with Cluster(ray, ray_workers, bars) as cluster:
            return Search(_core.search(bars._core, text, options, listener, cluster.run))


class Report:
    """The reports of several jobs on one page. Made by :func:`report`.

    Attributes
    ----------
    path : pathlib.Path
        The page.
    verdict : str
        One verdict on all jobs, which begins with one plain sentence.
    has_edge : bool
    stages : list of dict
        The jobs: ``kind``, ``report`` (its page), ``judged``, ``verdict``, ``has_edge``, and ``final`` if its final part
        was opened.
    """

    def __init__(self, path: Path, found: Dict[str, Any]) -> None:
        self.path = path
        self.verdict: str = found["verdict"]
        self.has_edge: bool = found["has_edge"]
        self.stages: List[Dict[str, Any]] = found["stages"]

    def __str__(self) -> str:
        return self.verdict

    def __repr__(self) -> str:
        return f"<Report {self.path}: {self.verdict.split(':')[0]}>"


def report(
    *jobs: "Union[ResultFolder, str, os.PathLike[str]]",
    output: "Union[str, os.PathLike[str]]" = "rekindle-report.html",
) -> Report:
    """Combines the reports of jobs on the same bars into one page with one verdict; exactly as ``rekindle report`` does.

    Parameters
    ----------
    *jobs : Run, WalkForward, Search, Backtest or path
        Results, or folders that hold them at any depth.
    output : path, default "rekindle-report.html"
        The page to write. It links to the pages of the jobs.

    Returns
    -------
    Report

    Raises
    ------
    UsageError
        A folder holds no finished job, or the jobs read different bars.
    """
    folders = [os.path.abspath(os.fspath(job.folder if isinstance(job, ResultFolder) else job)) for job in jobs]
    if not folders:
        raise UsageError("there is nothing to report", "jobs", "results of train, walk_forward, search or backtest, or folders")
    page = Path(output).absolute()
    return Report(page, json.loads(_core.report(folders, os.fspath(page))))


@takes_settings("backtest")
def backtest(
    bars: Bars,
    signals: Any,
    *,
    progress: ProgressArgument = None,
    **settings: "Unpack[BacktestSettings]",
) -> Backtest:
    """Simulates trading on past bars, with costs; exactly as ``rekindle backtest`` does.

    Parameters
    ----------
    bars : Bars
        Their ``instrument`` determines the costs; without one, the names of their contracts do. Each of several
        instruments trades an equal share of the capital at its own costs.
    signals : WalkForward, path or table
        What to trade: the predictions of a walk-forward job, or a file (CSV, Parquet) or a table with the column ``known_at`` and
        either ``prediction`` (docs/formats/predictions.md) or ``position`` (docs/formats/positions.md). Times are UTC. A
        table is any object with ``__arrow_c_stream__``, as for :func:`read_bars`.
    progress : callable or bool, optional
        As in :func:`read_bars`.
    **settings
        The settings below.

    Returns
    -------
    Backtest

    Raises
    ------
    UsageError
        A setting or a signal is wrong, or no bar follows the first signal.
    """
    table, name = signals, ""
    if isinstance(signals, WalkForward):
        table, name = signals.predictions, os.fspath(signals.folder / "predictions.csv")
    elif isinstance(signals, (str, os.PathLike)):
        table, name = None, os.path.abspath(os.fspath(signals))
    elif not hasattr(signals, "__arrow_c_stream__") and not hasattr(signals, "__arrow_c_array__"):
        raise TypeError(
            f"cannot read signals from {type(signals).__name__}: pass a WalkForward, a path, or a table with "
            "__arrow_c_stream__, as in polars, pandas 2.2, pyarrow and DuckDB"
        )
    text, options = as_json("backtest", dict(settings))
    with Listener(progress) as listener:
        return Backtest(_core.backtest(bars._core, table, name, text, options, listener))
