"""Signatures and docstrings of the functions that take settings, from the table of settings in the extension module."""

from __future__ import annotations

import inspect
import json
import math
import os
import textwrap
from typing import Any, Callable, Dict, Tuple, TypeVar

from . import _core

#: A setting or an option: name, kind, default (JSON), words, group, brief, detail, commands.
Row = Dict[str, Any]

#: Every setting of a run by its name.
SETTINGS: Dict[str, Row] = {row["name"]: row for row in _core.settings()}

#: What walk-forward, search and backtest take besides settings, by command and name.
OPTIONS: Dict[str, Dict[str, Row]] = {
    command: {row["name"]: row for row in _core.options(command)} for command in ("walk-forward", "search", "backtest")
}

_READING_GROUPS = ("Input", "Time and sessions", "Volume profile")
_READING = [name for name, row in SETTINGS.items() if row["group"] in _READING_GROUPS and name != "data"]
#: Options that are parameters of their own.
_PARAMETERS = ("vary", "predictions", "positions")


def _named(*names: str) -> Dict[str, Row]:
    return {name: row for name, row in SETTINGS.items() if name in names}


def _of_command(command: str) -> Dict[str, Row]:
    """The settings of a command, without those that read_bars() takes, then its own options."""
    own = {name: row for name, row in SETTINGS.items() if command in row["commands"] and name not in _READING and name != "data"}
    return {**own, **{name: row for name, row in OPTIONS.get(command, {}).items() if name not in _PARAMETERS}}


#: What each function takes as keyword arguments.
BY_FUNCTION: Dict[str, Dict[str, Row]] = {
    "read_bars": {**{name: SETTINGS[name] for name in _READING}, **_named("threads")},
    "Bars.features": _named("features", "threads"),
    "Bars.targets": _named(
        "features", "target", "target_bars", "dead_band", "barrier_width", "across_sessions", "loss", "threads"
    ),
    "train": _of_command("train"),
    "walk_forward": _of_command("walk-forward"),
    "search": _of_command("search"),
    "backtest": {**_named("threads"), **_of_command("backtest")},
}

_TYPES = {
    "flag": "bool",
    "word": "str",
    "word_list": "Sequence[str]",
    "integer": "int",
    "integer_list": "Sequence[int]",
    "number": "float",
    "path": "str | os.PathLike[str]",
    "path_list": "Sequence[str]",
    "text_list": "Sequence[str]",
    "text": "str",
}


def type_of(row: Row) -> str:
    """The annotation for the type of a setting."""
    if row["kind"] == "word":
        kind = f"Literal[{', '.join(repr(word) for word in row['words'])}]"
    else:
        kind = "str | float" if row["name"] == "tick" else _TYPES[row["kind"]]
    return kind if default_of(row) is not None else f"{kind} | None"


def default_of(row: Row) -> Any:
    """The default of a setting; None if it depends on others."""
    return json.loads(row["default"])


def _plain(row: Row, value: Any) -> Any:
    """Converts a value to one that JSON can hold."""
    kind = row["kind"]
    if kind == "path":
        return os.path.abspath(os.fspath(value)) if value else ""
    if kind == "word_list" and isinstance(value, str):
        return [word.strip() for word in value.split(",")]
    if kind in ("word_list", "integer_list", "path_list", "text_list") and not isinstance(value, str):
        return [item.item() if hasattr(item, "item") else item for item in value]
    if kind in ("text", "word") and isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(value)
    return value.item() if hasattr(value, "item") else value


def _finite(name: str, value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        from ._errors import UsageError

        raise UsageError(f"invalid value {value}", name, "a finite number")
    return value


def _refuse(function: str, name: str) -> None:
    """Raises TypeError for a setting that the function does not take."""
    where = [other for other, rows in BY_FUNCTION.items() if name in rows]
    if where:
        raise TypeError(f"{function}() does not take {name!r}; it is a setting of {where[0]}()")
    import difflib

    near = difflib.get_close_matches(name, BY_FUNCTION[function], 1)
    raise TypeError(f"{function}() has no setting {name!r}" + (f"; did you mean {near[0]!r}?" if near else ""))


def as_json(function: str, values: Dict[str, Any]) -> Tuple[str, str]:
    """The settings of a run, and the other options, as JSON text. Raises TypeError for one that the function does not take."""
    rows = BY_FUNCTION[function]
    settings: Dict[str, Any] = {}
    options: Dict[str, Any] = {}
    for name, value in values.items():
        if name not in rows:
            _refuse(function, name)
        if value is not None:
            kept = settings if SETTINGS.get(name) is rows[name] else options
            kept[name] = _finite(name, _plain(rows[name], value))
    return json.dumps(settings), json.dumps(options)


_Function = TypeVar("_Function", bound=Callable[..., Any])


def _documented(row: Row) -> str:
    kind = type_of(row).replace("Literal[", "{").replace("]", "}") if row["kind"] == "word" else type_of(row)
    default = "optional" if default_of(row) is None else f"default {default_of(row)!r}"
    body = textwrap.fill(f"{row['brief']}. {row['detail']}", 110, initial_indent="    ", subsequent_indent="    ")
    return f"{row['name']} : {kind.replace(' | None', '')}, {default}\n{body}"


def takes_settings(name: str) -> Callable[[_Function], _Function]:
    """Adds the settings of the function ``name`` to its signature and its docstring, in place of ``**settings``."""
    rows = BY_FUNCTION[name].values()

    def decorate(function: _Function) -> _Function:
        signature = inspect.signature(function)
        parameters = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
        parameters += [
            inspect.Parameter(row["name"], inspect.Parameter.KEYWORD_ONLY, default=default_of(row), annotation=type_of(row))
            for row in rows
        ]
        function.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        from ._errors import in_python

        described = "\n".join(_documented(row) for row in rows)
        text = inspect.cleandoc(function.__doc__ or "")
        function.__doc__ = text.replace("**settings\n    The settings below.", in_python(described))
        return function

    return decorate
