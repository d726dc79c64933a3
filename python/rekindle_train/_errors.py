"""The exceptions of this package."""

from __future__ import annotations

import re
from typing import Optional

_OPTION = re.compile(r"--([a-z][a-z-]*[a-z])(?:[ =](\"[^\"]*\"|'[^']*'|[\w./:+-]*[\w/]))?")
_VARY = re.compile(r"--vary ([\w-]+)=([^\s,]+)")
_USAGE, _INTERRUPTED = 2, 130


class RekindleError(Exception):
    """A job failed.

    Attributes
    ----------
    what : str
        What went wrong.
    where : str
        Where: ``file:line:column``, a path, or a setting. May be empty.
    expected : str
        What was expected instead. May be empty.
    hint : str
        What to do about it. May be empty.
    """

    def __init__(self, what: str, where: str = "", expected: str = "", hint: str = "") -> None:
        self.what, self.where, self.expected, self.hint = what, where, expected, hint
        text = f"{where}: {what}" if where else what
        if expected:
            text += f", expected {expected}"
        super().__init__(f"{text}\n{hint}" if hint else text)


class UsageError(RekindleError, ValueError):
    """A wrong setting, or input that cannot be used."""


def _value_in_python(setting: dict, value: str) -> Optional[str]:
    """The value as Python source; None if the setting cannot have it."""
    bare = value.strip("\"'")
    if setting["kind"] in ("integer", "number"):
        return bare if re.fullmatch(r"-?[\d.]+(e-?\d+)?", bare) else None
    if setting["kind"] == "flag":
        return None
    if bare in setting["words"] or bare.isupper() or value != bare or re.search(r"[\d/]", bare):
        return bare if bare.isupper() and bare not in setting["words"] else repr(bare)
    return None


def in_python(text: str) -> str:
    """The text with the program's options as keyword arguments: ``--bad-rows skip`` as ``bad_rows='skip'``."""
    from ._signatures import OPTIONS, SETTINGS

    rows = {**{name: row for options in OPTIONS.values() for name, row in options.items()}, **SETTINGS}
    def keyword(match: re.Match[str]) -> str:
        name, value = match[1].replace("-", "_"), match[2]
        setting = rows.get(name)
        if setting is None:
            return name + match[0][len(match[1]) + 2 :]
        if setting["kind"] == "flag":
            return f"{name}=True" + match[0][len(match[1]) + 2 :]
        written = _value_in_python(setting, value) if value else None
        return name + (match[0][len(match[1]) + 2 :] if written is None else f"={written}")

    text = text.replace("rejected.csv says why", "Bars.rejected lists them").replace("and list them in rejected.csv", "")
    text = _VARY.sub(lambda match: f"vary={{{match[1].replace('-', '_')!r}: {match[2]!r}}}", text)
    return _OPTION.sub(keyword, text).replace(" .", ".")


def make_error(what: str, where: str, expected: str, hint: str, status: int) -> BaseException:
    """The exception for a failure in the library; called by the extension module."""
    if status == _INTERRUPTED:
        return KeyboardInterrupt(what)
    kind = UsageError if status == _USAGE else RekindleError
    return kind(in_python(what), in_python(where), in_python(expected), in_python(hint))
