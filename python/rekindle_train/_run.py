"""Training runs and predictions."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Tuple, Union

from . import _core
from ._bars import Bars
from ._errors import RekindleError, UsageError
from ._progress import Listener, ProgressArgument, _logger
from ._signatures import as_json, takes_settings
from ._table import Table

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._settings import TrainSettings

_METADATA = "best_model_metadata.json"


@dataclass(frozen=True)
class Prediction:
    """A model's prediction of what follows the last bar or the last complete session.

    Attributes
    ----------
    value : float
        In the unit of the target: a log return, or the probability of a rise.
    target : str
        What the value is.
    interval : tuple of float
        The low and the high end of the range that is expected to contain ``interval_level`` of the outcomes; None if unknown.
    baseline : float
        What a model without features predicts.
    from_session, from_bar_end : str
        The session, and the end of the last bar that was used, with its zone.
    price : float
        The close of that bar or session, in points.
    verdict : str
        The model's verdict on its validation rows.
    notes : list of str
    details : dict
        The whole prediction, as ``rekindle predict --format json`` prints it.
    """

    value: float
    target: str
    interval: Optional[Tuple[float, float]]
    interval_level: float
    baseline: Optional[float]
    from_session: str
    from_bar_end: str
    price: float
    verdict: str
    notes: List[str]
    details: Dict[str, Any]

    def __str__(self) -> str:
        return "\n".join(self.details["lines"])


class ResultFolder:
    """A folder with results and a report."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def folder(self) -> Path:
        """The folder with the results."""
        return self._folder

    @property
    def report(self) -> Path:
        """The report, a web page."""
        return self._folder / "report.html"


class Run(ResultFolder):
    """A training run in its folder. Made by :func:`train`, or opened by :meth:`Run.open`."""

    def __init__(self, folder: "Union[str, os.PathLike[str]]", predictions: Optional[Table] = None) -> None:
        super().__init__(Path(folder))
        self._predictions = predictions
        self._metadata: Optional[Dict[str, Any]] = None

    @classmethod
    def open(cls, folder: "Union[str, os.PathLike[str]]") -> "Run":
        """Opens the folder of a run.

        Parameters
        ----------
        folder : path
            ``train_YYYYMMDD_HHMMSS``, as :func:`train` and ``rekindle train`` create it.

        Returns
        -------
        Run

        Raises
        ------
        UsageError
            The folder is not a run folder.
        """
        _core.check_run_folder(os.fspath(folder))
        return cls(folder)

    @property
    def settings(self) -> Dict[str, Any]:
        """Every setting of the run."""
        return json.loads((self._folder / "config.json").read_text(encoding="utf-8"))

    @property
    def metadata(self) -> Dict[str, Any]:
        """What is known about the run and its data: the object ``rekindle`` of docs/formats/run-folder.md."""
        if self._metadata is None:
            file = self._folder / _METADATA
            if not file.exists():
                raise RekindleError(
                    "the run is not finished",
                    str(self._folder),
                    hint="Continue it: train(bars, resume_from_checkpoint=run.folder).",
                )
            self._metadata = json.loads(file.read_text(encoding="utf-8"))["rekindle"]
        return self._metadata

    @property
    def metrics(self) -> List[Dict[str, Any]]:
        """One entry for each epoch: losses, accuracy, learning rate, gradient norm, steps, seconds, rows per second."""
        lines = (self._folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines]

    @property
    def scores(self) -> List[Dict[str, Any]]:
        """Each score on the validation rows, with its 95 % interval and its baseline."""
        return self.metadata["evaluation"]["scores"]

    @property
    def verdict(self) -> str:
        """Whether the model is better than its baseline."""
        return self.metadata["evaluation"]["verdict"]

    @property
    def importance(self) -> List[Dict[str, Any]]:
        """By how much the loss on the validation rows grows without the information in each group of features."""
        return self.metadata.get("importance", [])

    @property
    def has_edge(self) -> bool:
        """Whether the verdict is that the model is better than its baseline."""
        return self.metadata["evaluation"]["has_edge"]

    @property
    def predictions(self) -> Table:
        """What the network predicted for the validation rows: ``date``, ``known_at``, ``prediction``, ``outcome``; for several
        instruments also ``instrument``.

        Available only if this object trained the run, because the folder does not hold them.
        """
        if self._predictions is None:
            raise RekindleError(
                "the predictions for the validation rows are not stored in the run folder",
                str(self._folder),
                hint="train() returns a run that has them.",
            )
        return self._predictions

    def predict(self, bars: Bars, *, other_instrument: bool = False, progress: ProgressArgument = None) -> Prediction:
        """Predicts what follows the last bar (group ``minute``) or the last complete session.

        Parameters
        ----------
        bars : Bars
            Of one instrument; :meth:`predict_each` takes several.
        other_instrument : bool, default False
            Accept bars of an instrument other than the model's.
        progress : callable or bool, optional
            As in :func:`read_bars`.

        Returns
        -------
        Prediction

        Raises
        ------
        UsageError
            The bars differ from the model's in features, tick, bar length, sessions or instrument.
        """
        return predict(self._folder, bars, other_instrument=other_instrument, progress=progress)

    def predict_each(self, bars: Bars, *, progress: ProgressArgument = None) -> Dict[str, Prediction]:
        """Predicts for each of several instruments what follows its last bar or session.

        Parameters
        ----------
        bars : Bars
            Read with ``several_instruments``.
        progress : callable or bool, optional
            As in :func:`read_bars`.

        Returns
        -------
        dict of str to Prediction
            By the names of the instruments.

        Raises
        ------
        UsageError
            As :meth:`predict`, or the bars are of one instrument.
        """
        if not bars.instruments:
            raise UsageError("predict_each takes bars of several instruments", hint="predict takes bars of one.")
        return {one["name"]: _prediction(one) for one in _predictions(self._folder, bars, "", False, progress)}

    def __repr__(self) -> str:
        return f"<Run in {self._folder}>"


def predict(
    model: "Union[str, os.PathLike[str]]",
    bars: Bars,
    *,
    scaler: "Union[str, os.PathLike[str]]" = "",
    other_instrument: bool = False,
    progress: ProgressArgument = None,
) -> Prediction:
    """Predicts with any model that ``rekindle predict`` takes.

    Parameters
    ----------
    model : path
        A run folder, or one of its model files, or a model of the original system.
    bars : Bars
        Of one instrument; :meth:`Run.predict_each` takes several.
    scaler : path, optional
        The scaler (JSON) of a model that has none.
    other_instrument : bool, default False
        Accept bars of an instrument other than the model's.
    progress : callable or bool, optional
        As in :func:`read_bars`.

    Returns
    -------
    Prediction

    Raises
    ------
    UsageError
        The bars do not fit the model, or are of several instruments.
    """
    if bars.instruments:
        raise UsageError(
            f"predict takes bars of one instrument, and these are of {', '.join(bars.instruments)}",
            hint="predict_each of a run predicts for all of them, and bars[NAME] are the bars of one.",
        )
    return _prediction(_predictions(model, bars, os.fspath(scaler), other_instrument, progress)[0])


def _predictions(
    model: "Union[str, os.PathLike[str]]", bars: Bars, scaler: str, other_instrument: bool, progress: ProgressArgument
) -> List[Dict[str, Any]]:
    with Listener(progress) as listener:
        return json.loads(_core.predict(os.fspath(model), bars._core, scaler, other_instrument, listener))


def _prediction(found: Dict[str, Any]) -> Prediction:
    low, high = found["interval"]
    return Prediction(
        value=found["value"],
        target=found["target"],
        interval=None if low is None else (low, high),
        interval_level=found["interval_level"],
        baseline=found["baseline"],
        from_session=found["from_session"],
        from_bar_end=found["from_bar_end"],
        price=found["price_points"],
        verdict=found["verdict"],
        notes=found["notes"],
        details=found,
    )


@takes_settings("train")
def train(bars: Bars, *, progress: ProgressArgument = None, **settings: "Unpack[TrainSettings]") -> Run:
    """Trains a network, or a population of them, and writes a run folder; exactly as ``rekindle train`` does.

    Ctrl-C, or the stop button of a notebook, ends the training after the current step: a checkpoint is written, and
    ``train(bars, resume_from_checkpoint=folder)`` continues from it, bit for bit.

    Parameters
    ----------
    bars : Bars
    progress : callable or bool, optional
        As in :func:`read_bars`. An exception in the callback ends the training like Ctrl-C.
    **settings
        The settings below.

    Returns
    -------
    Run

    Raises
    ------
    UsageError
        A setting is wrong, or there are too few bars.
    RekindleError
        The training failed: the loss is not finite, the device was lost, the disk is full.
    """
    text, _ = as_json("train", dict(settings))
    with Listener(progress) as listener:
        outcome = _core.train(bars._core, text, listener)
    return Run(outcome["folder"], Table(outcome["validation"]))
