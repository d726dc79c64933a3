"""Bars, and what is computed from them."""

from __future__ import annotations

import datetime
import json
import os
from typing import TYPE_CHECKING, Any, Dict, Iterable, Iterator, List, Sequence, Tuple, Union, overload

from . import _core
from ._progress import Listener, ProgressArgument
from ._signatures import as_json, takes_settings
from ._table import Table

if TYPE_CHECKING:
    import numpy as np
    from typing_extensions import Unpack

    from ._settings import FeatureSettings, ReadSettings, TargetSettings

_MEMORY = "memory:"


class Profile:
    """The volume profile of one session: how much volume traded at each price.

    Attributes
    ----------
    date : datetime.date
        The date of the session.
    contract : str
    point_of_control : float
        The price with the most volume, in points.
    value_area_low, value_area_high : float
        The lowest and highest price of the value area, in points; 70 % of the volume traded between them.
    volume : float
        The volume of the session, in traded units.
    """

    def __init__(self, bars: "_core.Bars", index: int, row: Dict[str, Any]) -> None:
        self._bars, self._index, self._table = bars, index, Table(bars.profile(index))
        self.date = row["date"].astype(object)
        self.contract: str = row["contract"]
        self.point_of_control = float(row["point_of_control"])
        self.value_area_low = float(row["value_area_low"])
        self.value_area_high = float(row["value_area_high"])
        self.volume = float(row["volume"])

    @property
    def prices(self) -> "np.ndarray[Any, Any]":
        """The price levels in points, lowest first."""
        return self._table["price"]

    @property
    def volumes(self) -> "np.ndarray[Any, Any]":
        """The volume at each of these prices, in traded units."""
        return self._table["volume"]

    @property
    def high_volume_nodes(self) -> List[float]:
        """Prices of the peaks of the smoothed profile, in points."""
        return self._bars.nodes(self._index)[0]

    @property
    def low_volume_nodes(self) -> List[float]:
        """Prices of the lows between neighboring peaks, in points."""
        return self._bars.nodes(self._index)[1]

    def __repr__(self) -> str:
        return f"<Profile of {self.date}: {len(self._table)} levels, point of control {self.point_of_control:g}>"


class Profiles(Sequence[Profile]):
    """The volume profiles of all sessions, oldest first."""

    def __init__(self, bars: "_core.Bars") -> None:
        self._bars, self._sessions = bars, Table(bars.sessions())

    @property
    def table(self) -> Table:
        """All levels of all profiles: ``session``, ``date``, ``price`` (points), ``volume`` (traded units)."""
        return Table(self._bars.profiles())

    def __len__(self) -> int:
        return len(self._sessions)

    @overload
    def __getitem__(self, index: int) -> Profile: ...
    @overload
    def __getitem__(self, index: slice) -> List[Profile]: ...
    def __getitem__(self, index: Union[int, slice]) -> Union[Profile, List[Profile]]:
        numbers = range(len(self))[index]
        if isinstance(numbers, range):
            return [self[number] for number in numbers]
        return Profile(self._bars, numbers, {name: self._sessions[name][numbers] for name in self._sessions})

    def __repr__(self) -> str:
        return f"<Profiles of {len(self):,} sessions>"


class Features(Table):
    """A row for each session, or for each bar with the group ``minute``: ``date``, ``known_at`` (the end of the newest bar
    that the row uses) and the features."""

    def __init__(self, core: "_core.Features") -> None:
        super().__init__(core.table())
        self._features = core

    @property
    def names(self) -> List[str]:
        """The names of the features, in the order of the matrix."""
        return self.columns[2:]

    @property
    def matrix(self) -> "np.ndarray[Any, Any]":
        """The features as one array of shape (rows, features), read-only and not copied."""
        return self._features.matrix()


class Bars:
    """Bars that were read, cut into sessions with volume profiles. Made by :func:`read_bars`; immutable.

    Bars of several instruments, read with ``several_instruments``, go as a whole into :func:`train`, :func:`walk_forward`,
    :func:`search`, :func:`backtest` and :meth:`Run.predict_each`. ``bars["ES"]`` are those of one, with its table, sessions,
    profiles, features and targets; ``bars.instruments`` are the names.

    They can be pickled if the tables that they were read from can. Unpickling reads the same files or tables again.
    """

    def __init__(self, core: "_core.Bars") -> None:
        self._core = core
        self._origin: Tuple[List[object], str, Dict[str, Any]] = ([], "", {})
        self._taken = ""
        self._report: Dict[str, Any] = json.loads(core.report())

    def __len__(self) -> int:
        return len(self._core)

    @property
    def instruments(self) -> List[str]:
        """The names of the instruments, if the bars were read with ``several_instruments``; otherwise an empty list."""
        return self._report["instruments"]

    def __getitem__(self, instrument: str) -> "Bars":
        """The bars of one of several instruments, which have its tick, sessions, profiles and features."""
        bars = Bars(self._core.of(instrument))
        bars._origin, bars._taken = self._origin, instrument
        return bars

    def __iter__(self) -> Iterator[str]:
        return iter(self.instruments)

    @property
    def format(self) -> str:
        """The format of the first file, such as ``"merged CSV"``."""
        return self._report["format"]

    @property
    def files(self) -> List[str]:
        """The files that were read; ``memory:NAME`` for a table in memory."""
        return self._report["files"]

    @property
    def tick(self) -> Union[float, None]:
        """The smallest price step in points; None if the prices have none, or if several instruments have different ones."""
        return self._report["tick"]

    @property
    def bar_length(self) -> str:
        """The usual length of a bar, such as ``"1 minute"``."""
        return self._report["bar_length"]

    @property
    def contracts(self) -> Dict[str, int]:
        """The number of bars of each contract; the name is empty if the bars name none."""
        return self._report["contracts"]

    @property
    def notes(self) -> List[str]:
        """Notes on what was found while reading, as sentences."""
        from ._errors import in_python

        return [in_python(note) for note in self._report["notes"]]

    @property
    def settings(self) -> Dict[str, Any]:
        """Every setting in force."""
        return json.loads(self._core.config())

    @property
    def rejected(self) -> Table:
        """The rows that ``bad_rows="skip"`` skipped: ``file``, ``line``, ``column``, ``reason``, ``row``."""
        return Table(self._core.rejected())

    def table(self) -> Table:
        """The bars.

        Returns
        -------
        Table
            ``time`` (the end of the bar), ``open``, ``high``, ``low``, ``close`` (points), ``volume`` (traded units),
            ``contract``, and ``vix`` if there is one.
        """
        return Table(self._core.table())

    def sessions(self) -> Table:
        """The complete sessions, oldest first.

        Returns
        -------
        Table
            ``date``, ``known_at`` (the end of the last bar), ``contract``, ``first_bar`` and ``bars`` (the position of its
            first bar, and how many bars it has), ``open``, ``high``, ``low``, ``close``, ``vwap``, ``point_of_control``,
            ``value_area_low``, ``value_area_high`` (points), ``volume`` (traded units), ``roll_offset`` (points: the sum of
            the gaps of all rolls so far), ``half_day``, and ``vix`` if there is one.
        """
        return Table(self._core.sessions())

    def profiles(self) -> Profiles:
        """The volume profile of each session."""
        return Profiles(self._core)

    @takes_settings("Bars.features")
    def features(self, *, progress: ProgressArgument = None, **settings: "Unpack[FeatureSettings]") -> Features:
        """The features of each session or, with the group ``minute``, of each bar. They are exactly the program's.

        Parameters
        ----------
        progress : callable or bool, optional
            Receives :class:`Progress`; True for a line on standard error, False for nothing. By default there is a line
            in a terminal and in a notebook.
        **settings
            The settings below.

        Returns
        -------
        Features

        Raises
        ------
        UsageError
            A setting is wrong, or there are too few bars for a single row.
        """
        with Listener(progress) as listener:
            return Features(self._core.features(as_json("Bars.features", dict(settings))[0], listener))

    @takes_settings("Bars.targets")
    def targets(self, *, progress: ProgressArgument = None, **settings: "Unpack[TargetSettings]") -> Table:
        """What a network would learn to predict, for each row of :meth:`features` with the same groups.

        Parameters
        ----------
        progress : callable or bool, optional
            As in :meth:`features`.
        **settings
            The settings below.

        Returns
        -------
        Table
            ``date``, ``known_at``, ``target`` (a log return, or 1 and 0 for a direction; NaN where there is none).
        """
        with Listener(progress) as listener:
            return Table(self._core.targets(as_json("Bars.targets", dict(settings))[0], listener))

    def __reduce__(self) -> Tuple[Any, ...]:
        return _read_again, (*self._origin, self._taken)

    def __repr__(self) -> str:
        length = f" of {self.bar_length}" if self.bar_length else ""
        names = f" of {self._taken}" if self._taken else f" of {', '.join(self.instruments)}" if self.instruments else ""
        return f"<Bars: {len(self):,} bars{length}{names}, {self._report['sessions']:,} sessions, from {', '.join(self.files)}>"


Source = Union[str, "os.PathLike[str]", object]


def _is_path(source: object) -> bool:
    return isinstance(source, (str, os.PathLike))


def _sources(data: Any) -> Iterator[object]:
    one = _is_path(data) or hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__")
    yield from (data,) if one or not isinstance(data, Iterable) else data


def _paths_and_tables(sources: List[object], name: str) -> Tuple[List[str], Dict[str, object]]:
    paths: List[str] = []
    tables: Dict[str, object] = {}
    for source in sources:
        if _is_path(source):
            paths.append(os.path.abspath(os.fspath(source)))  # type: ignore[call-overload]
            continue
        if not hasattr(source, "__arrow_c_stream__") and not hasattr(source, "__arrow_c_array__"):
            raise TypeError(
                f"cannot read bars from {type(source).__name__}: pass a path, or a table with __arrow_c_stream__, "
                "as in polars, pandas 2.2, pyarrow and DuckDB"
            )
        number = f"-{len(tables) + 1}" if tables else ""
        paths.append(f"{_MEMORY}{name.replace(os.sep, '-')}{number}")
        tables[paths[-1]] = source
    return paths, tables


@takes_settings("read_bars")
def read_bars(
    data: Union[Source, Iterable[Source]],
    *,
    name: str = "table",
    progress: ProgressArgument = None,
    **settings: "Unpack[ReadSettings]",
) -> Bars:
    """Reads bars, cuts them into sessions and computes their volume profiles.

    Parameters
    ----------
    data : path, table, or several of them
        Files or folders in any format that the program reads (CSV, Parquet, SCID, DBN …), and tables in memory from polars,
        pandas, pyarrow, DuckDB or any library with ``__arrow_c_stream__``. Several sources form one history, in order of time,
        or with ``several_instruments`` one for each instrument, which a column such as ``symbol`` names.
        Columns are recognized by their names, like those of a file with a header.
    name : str, default "table"
        How messages name a table in memory, such as ``"ES 1 minute"``. If the table names no contract, its instrument is
        recognized by this name.
    progress : callable or bool, optional
        Receives :class:`Progress`; True for a line on standard error, False for nothing. By default there is a line in a
        terminal and in a notebook.
    **settings
        The settings below.

    Returns
    -------
    Bars

    Raises
    ------
    UsageError
        The input cannot be read as bars, or a setting is wrong.
    """
    return _read(list(_sources(data)), name, dict(settings), progress)


def _read(sources: List[object], name: str, settings: Dict[str, Any], progress: ProgressArgument = False) -> Bars:
    paths, tables = _paths_and_tables(sources, name)
    text, _ = as_json("read_bars", settings)
    with Listener(progress) as listener:
        bars = Bars(_core.read_bars(paths, tables, text, listener))
    bars._origin = (sources, name, settings)
    return bars


def _read_again(sources: List[object], name: str, settings: Dict[str, Any], instrument: str) -> Bars:
    bars = _read(sources, name, settings)
    return bars[instrument] if instrument else bars


_EPOCH = datetime.date(1970, 1, 1)


def simulate(bars: int, *, seed: int = 42, start_date: datetime.date = datetime.date(2021, 12, 6)) -> Table:
    """Simulates one-minute bars that resemble an index future, for tests and first steps.

    The price has no drift, so there is no edge to learn. The same arguments give the same bars on every machine, and the
    same bars as ``rekindle simulate``.

    Parameters
    ----------
    bars : int
        How many bars, 1 to 1,000,000,000.
    seed : int, default 42
    start_date : datetime.date, default 2021-12-06
        The first trading day.

    Returns
    -------
    Table
        In the form of :meth:`Bars.table`, which :func:`read_bars` accepts.
    """
    return Table(_core.simulate(bars, seed, (start_date - _EPOCH).days))
