"""Messages to the person who runs the script."""

import os
import sys
import traceback

_TORCH = os.path.join("", "torch", "")
_said = set()
CANNOT_MAP = 3  # the exit status


def say(what, becomes):
    """Prints one line for each mapping, at its first use."""
    if what not in _said:
        _said.add(what)
        print(f"torch_rvk.run: {what} → {becomes}", file=sys.stderr, flush=True)


def callers_line():
    """FILE:LINE of the innermost code that belongs neither to PyTorch nor to this package nor to Python's import system."""
    for frame in reversed(traceback.extract_stack()[:-1]):
        folders = frame.filename.split(os.sep)
        inside = "torch" in folders or "torch_rvk" in folders or "<frozen" in frame.filename
        if not inside and not frame.filename.startswith(os.path.dirname(os.__file__) + os.sep + "importlib"):
            return f"{frame.filename}:{frame.lineno}"
    return "unknown line"


def stop(what, why):
    """Ends the program at a call that has no counterpart."""
    print(f"torch_rvk.run: {callers_line()}: {what} cannot be mapped to rvk: {why}", file=sys.stderr, flush=True)
    raise SystemExit(CANNOT_MAP)
