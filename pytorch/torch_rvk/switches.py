"""Environment variables that turn something on or off: one meaning for all of them, in Python and in C++
(foundation/include/rekindle/foundation/environment.h)."""

import os

_OFF = ("", "0", "off", "false", "no")


def is_on(text):
    """Empty, 0, off, false and no, in any case, are off; anything else is on."""
    return text.lower() not in _OFF


def switched_on(name, unless_set=False):
    """Whether the variable is on; `unless_set` if it is not set or empty."""
    text = os.environ.get(name, "")
    return is_on(text) if text else unless_set
