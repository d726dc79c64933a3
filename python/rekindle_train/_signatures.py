"""Signatures and docstrings of the functions that take settings, from the table of settings in the extension module."""

from __future__ import annotations

import inspect
import json
import math
import os
import textwrap
from typing import Any, Callable, Dict, List, TypeVar

from . import _core

#: Settings for bars of several instruments, which the module cannot read.
_OF_THE_PROGRAM = ("several_instruments", "scale_by", "instrument_input")

#: Every setting by its name.
SETTINGS: Dict[str, Dict[str, Any]] = {row["name"]: row for row in _core.settings() if row["name"] not in _OF_THE_PROGRAM}

_READING_GROUPS = ("Input", "Time and sessions", "Volume profile")


def _named(*names: str) -> List[str]:
    return [name for name in SETTINGS if name in names]


#: The settings that each function takes.
READING = [name for name, row in SETTINGS.items() if row["group"] in _READING_GROUPS and name != "data"] + ["threads"]
FEATURES = _named("features", "threads")
TARGETS = _named(
    "features", "target", "target_bars", "dead_band", "barrier_width", "across_sessions", "loss", "threads"
)
TRAINING = [name for name, row in SETTINGS.items() if "train" in row["commands"] and name not in READING[:-1] and name != "data"]

_TYPES = {
    "flag": "bool",
    "word": "str",
    "word_list": "Sequence[str]",
    "integer": "int",
    "integer_list": "Sequence[int]",
    "number": "float",
    "path": "str | os.PathLike[str]",
    "path_list": "Sequence[str]",
    "text": "str",
}


def type_of(name: str) -> str:
    """The annotation for the type of a setting."""
    row = SETTINGS[name]
    if row["kind"] == "word":
        return f"Literal[{', '.join(repr(word) for word in row['words'])}]"
    if name == "tick":
        return "str | float"
    return _TYPES[row["kind"]]


def default_of(name: str) -> Any:
    """The default of a setting."""
    return json.loads(SETTINGS[name]["default"])


def _plain(name: str, value: Any) -> Any:
    """Converts a value to one that JSON can hold."""
    kind = SETTINGS[name]["kind"] if name in SETTINGS else "text"
    if kind == "path":
        return os.path.abspath(os.fspath(value)) if value else ""
    if kind == "word_list" and isinstance(value, str):
        return [word.strip() for word in value.split(",")]
    if kind in ("word_list", "integer_list", "path_list") and not isinstance(value, str):
        return [_plain("", item) for item in value]
    if kind in ("text", "word") and name in SETTINGS and isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(value)
    return value.item() if hasattr(value, "item") else value


def _finite(name: str, value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        from ._errors import UsageError

        raise UsageError(f"invalid value {value}", name, "a finite number")
    return value


def as_json(function: str, allowed: List[str], settings: Dict[str, Any]) -> str:
    """The settings as JSON text. Raises TypeError for a setting that the function does not take."""
    for name in settings:
        if name not in allowed:
            where = [other for other, names in BY_FUNCTION.items() if name in names]
            if where:
                raise TypeError(f"{function}() does not take {name!r}; it is a setting of {where[0]}()")
            import difflib

            near = difflib.get_close_matches(name, allowed, 1)
            raise TypeError(f"{function}() has no setting {name!r}" + (f"; did you mean {near[0]!r}?" if near else ""))
    return json.dumps({name: _finite(name, _plain(name, value)) for name, value in settings.items() if value is not None})


BY_FUNCTION = {"read_bars": READING, "Bars.features": FEATURES, "Bars.targets": TARGETS, "train": TRAINING}

_Function = TypeVar("_Function", bound=Callable[..., Any])


def _documented(name: str) -> str:
    row = SETTINGS[name]
    kind = type_of(name).replace("Literal[", "{").replace("]", "}") if row["kind"] == "word" else type_of(name)
    body = textwrap.fill(f"{row['brief']}. {row['detail']}", 110, initial_indent="    ", subsequent_indent="    ")
    return f"{name} : {kind}, default {default_of(name)!r}\n{body}"


def takes_settings(names: List[str]) -> Callable[[_Function], _Function]:
    """Gives a function with ``**settings`` the signature and the parameters' descriptions of these settings."""

    def decorate(function: _Function) -> _Function:
        signature = inspect.signature(function)
        parameters = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
        parameters += [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default_of(name), annotation=type_of(name))
            for name in names
        ]
        function.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        from ._errors import in_python

        described = "\n".join(_documented(name) for name in names)
        text = inspect.cleandoc(function.__doc__ or "")
        function.__doc__ = text.replace("**settings\n    The settings below.", in_python(described))
        return function

    return decorate
