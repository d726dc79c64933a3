"""Progress and messages of a job."""

from __future__ import annotations

import logging
import math
import os
import sys
import time
from dataclasses import dataclass
from typing import Callable, Optional, Union

_logger = logging.getLogger("rekindle_train")


@dataclass(frozen=True)
class Progress:
    """What a callback for ``progress`` receives, at most twenty times a second and after every epoch.

    Attributes
    ----------
    stage : str
        ``"Reading bars"``, ``"Training"`` and so on.
    done, total : int
        How much of the stage is done, in ``unit``; the total is 0 if it is not known.
    unit : str
        ``"bytes"``, ``"rows"``, ``"steps"``, ``"epochs"``.
    loss, validation_loss : float
        Mean loss of the running epoch, and of the last epoch on the validation rows; NaN where there is none.
    learning_rate : float
        NaN where there is none.
    accuracy : float
        After an epoch: share of the validation rows whose direction is predicted correctly; otherwise NaN.
    """

    stage: str
    done: int
    total: int
    unit: str
    loss: float = math.nan
    validation_loss: float = math.nan
    learning_rate: float = math.nan
    accuracy: float = math.nan


ProgressArgument = Union[None, bool, Callable[[Progress], object]]


class _Line:
    """One line on standard error, overwritten with each report."""

    def __init__(self) -> None:
        self._stage, self._began, self._width = "", 0.0, 0

    def __call__(self, progress: Progress) -> None:
        now = time.monotonic()
        if progress.stage != self._stage:
            self._stage, self._began = progress.stage, now
        elapsed = now - self._began
        parts = [progress.stage]
        if progress.total:
            share = min(progress.done / progress.total, 1)
            parts.append(f"{share:4.0%}|{'█' * round(20 * share):<20}|")
            if 0 < share < 1 and elapsed > 0.5:
                parts.append(f"{elapsed / share - elapsed:.0f} s left")
        if math.isfinite(progress.loss):
            parts.append(f"loss {progress.loss:.5g}")
        if math.isfinite(progress.validation_loss):
            parts.append(f"validation {progress.validation_loss:.5g}")
        self._write("  ".join(parts))

    def finish(self) -> None:
        """Removes the line."""
        self._write("")
        sys.stderr.write("\r" if self._width else "")
        sys.stderr.flush()
        self._width = 0

    def _write(self, text: str) -> None:
        if text or self._width:
            sys.stderr.write("\r" + text.ljust(self._width))
            sys.stderr.flush()
        self._width = len(text)


def _is_watched() -> bool:
    """Whether standard error is visible: in a terminal or a notebook."""
    return sys.stderr is not None and (sys.stderr.isatty() or "ipykernel" in sys.modules) and os.environ.get("TERM") != "dumb"


class Listener:
    """Receives what a job reports; called by the extension module on the thread that runs the job."""

    def __init__(self, progress: ProgressArgument) -> None:
        self._line: Optional[_Line] = None
        if callable(progress):
            self._call: Optional[Callable[[Progress], object]] = progress
        elif progress or (progress is None and _is_watched()):
            self._line = self._call = _Line()
        else:
            self._call = None

    def __enter__(self) -> "Listener":
        return self

    def __exit__(self, *_: object) -> None:
        if self._line:
            self._line.finish()

    def advanced(
        self, stage: str, done: int, total: int, unit: str, loss: float, validation_loss: float, learning_rate: float, networks: int
    ) -> None:
        if self._call:
            self._call(Progress(stage, done, total, unit, loss, validation_loss, learning_rate))

    def epoch_ended(
        self,
        epoch: int,
        epochs: int,
        train_loss: float,
        validation_loss: float,
        accuracy: float,
        learning_rate: float,
        best: bool,
        seconds: float,
        networks: int,
    ) -> None:
        if self._call and not self._line:
            self._call(Progress("Epoch", epoch, epochs, "epochs", train_loss, validation_loss, learning_rate, accuracy))

    def stage_ended(self, stage: str, seconds: float, summary: str) -> None:
        self.message("info", f"{stage}: {summary}")

    def message(self, level: str, text: str) -> None:
        from ._errors import in_python

        if self._line and level == "warning":
            self._line.finish()
        _logger.log({"debug": 10, "info": 20, "warning": 30}[level], "%s", in_python(text))
