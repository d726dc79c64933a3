"""Results as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Iterator, List

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from . import _core


class Table:
    """Columns of equal length.

    ``table["close"]`` is a NumPy array that views the values; ``polars.DataFrame(table)``, ``pyarrow.table(table)`` and
    DuckDB take the table through Arrow's C data interface, in most cases without copying it. Neither NumPy nor Arrow is
    needed for anything else.

    Times are UTC; with ``clock="raw"`` they are labels without a zone.
    """

    def __init__(self, core: "_core.Table") -> None:
        self._core = core

    @property
    def columns(self) -> List[str]:
        """The names of the columns."""
        return self._core.names

    def __len__(self) -> int:
        return len(self._core)

    def __contains__(self, name: object) -> bool:
        return name in self._core.names

    def __iter__(self) -> Iterator[str]:
        return iter(self._core.names)

    def __getitem__(self, name: str) -> "np.ndarray[Any, Any]":
        """A column as a read-only array.

        Numbers and times are not copied. Dates and texts are converted, to ``datetime64[D]`` and to an array of objects.
        """
        if name not in self._core.names:
            raise KeyError(f"{name!r}; the columns are {', '.join(self._core.names)}")
        import numpy as np

        view, kind = self._core.view(name), self._core.kind(name)
        if kind in ("instant", "label"):
            return view.view("datetime64[s]")
        if kind == "date":
            return view.astype("datetime64[D]")
        if kind == "text":
            return np.array(self._core.words(name), dtype=object)[view]
        return view

    def to_dict(self) -> "Dict[str, np.ndarray[Any, Any]]":
        """All columns by name, as ``table[name]`` gives them."""
        return {name: self[name] for name in self.columns}

    def to_pandas(self) -> "pd.DataFrame":
        """A pandas DataFrame with the same columns. Needs pandas, but not pyarrow."""
        import pandas as pd

        return pd.DataFrame(self.to_dict())

    def __arrow_c_schema__(self) -> object:
        return self._core.arrow_schema()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._core.arrow_stream()

    def __repr__(self) -> str:
        return f"<Table of {len(self):,} rows: {', '.join(self.columns[:12])}{', …' if len(self.columns) > 12 else ''}>"
