"""Walk-forward, search and backtest give exactly what the program gives."""

import csv as csv_module
import json
import logging
import os
import pickle
import signal

import numpy as np
import pytest
from conftest import SMALL, options_of, run_program

import rekindle_train as rk

WINDOWS = {"folds": 4, "train_rows": 60}
VARY = {"learning_rate": "1e-4..1e-2@log", "dropout_rate": [0, 0.25], "hidden_layers": [[8], [16, 8]]}


def columns_of(path):
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv_module.reader(file))
    return {name: [row[i] for row in rows[1:]] for i, name in enumerate(rows[0])}


def same_table(table, path, skipped=()):
    """The table has the values of the file, which may have fewer digits."""
    expected = columns_of(path)
    assert table.columns == list(expected)
    for name, texts in expected.items():
        if name in skipped:
            continue
        values = table[name]
        if values.dtype.kind == "f":
            numbers = [float(text) if text else np.nan for text in texts]
            np.testing.assert_allclose(values, numbers, rtol=2e-11, atol=1e-11, err_msg=name)
        elif values.dtype.kind == "M":
            zone = "Z" if texts and texts[0].endswith("Z") else ""
            assert [f"{text}{zone}" for text in np.datetime_as_string(values)] == texts
        else:
            assert [str(int(value)) if values.dtype.kind in "bi" else value for value in values] == texts, name


def of_program(command, csv, folder, output, settings):
    run_program(
        command, "--data", csv, "--output", output, "--instrument", "none", *options_of(settings), folder=folder
    )
    (job,) = (folder / output).iterdir()
    return job


@pytest.fixture(scope="module")
def csv(folder):
    """300,000 bars of one minute, which are enough sessions for several windows."""
    path = folder / "long.csv"
    run_program("simulate", "--bars", 300_000, "--seed", 3, "--output", path, folder=folder)
    return path


@pytest.fixture(scope="module")
def bars(csv):
    return rk.read_bars(csv, progress=False)


@pytest.fixture(scope="module")
def walked(bars, folder):
    return rk.walk_forward(bars, output=folder / "walked", population=2, progress=False, **WINDOWS, **SMALL)


@pytest.fixture(scope="module")
def found(bars, folder):
    return rk.search(bars, VARY, trials=6, folds=3, output=folder / "found", progress=False, **SMALL)


def test_walk_forward(csv, walked, folder):
    other = of_program("walk-forward", csv, folder, "walked-cli", {"population": 2, **WINDOWS, **SMALL})
    assert (walked.folder / "predictions.csv").read_bytes() == (other / "predictions.csv").read_bytes()
    same_table(walked.predictions, other / "predictions.csv")
    results = json.loads((other / "results.json").read_text())
    assert walked.verdict == results["evaluation"]["verdict"]
    assert walked.scores == results["evaluation"]["scores"]
    assert walked.importance == results["importance"]
    assert walked.has_edge == results["evaluation"]["has_edge"]
    assert str(walked).startswith(walked.verdict)
    assert walked.report.exists()


def test_final_part(bars, walked, folder):
    """A finished job returns the same result again; the final part adds its rows."""
    again = rk.walk_forward(bars, resume_from_checkpoint=walked.folder, progress=False)
    assert again.folder == walked.folder
    np.testing.assert_array_equal(again.predictions["prediction"], walked.predictions["prediction"])
    opened = rk.walk_forward(bars, resume_from_checkpoint=walked.folder, final=True, progress=False)
    assert set(opened.predictions["fold"]) - set(walked.predictions["fold"]) == {"final"}
    assert "final" in opened.figures
    assert any("final part" in note for note in opened.notes)


def test_search(csv, found, folder):
    varied = [
        ("--vary", text)
        for text in ("learning-rate=1e-4..1e-2@log", "dropout-rate=0|0.25", "hidden-layers=8|16,8")
    ]
    settings = {"trials": 6, "folds": 3, **SMALL}
    output = ("--output", "found-cli", "--instrument", "none")
    run_program("search", "--data", csv, *output, *[word for pair in varied for word in pair], *options_of(settings), folder=folder)
    (other,) = (folder / "found-cli").iterdir()
    same_table(found.trials, other / "trials.csv", skipped=["seconds"])
    assert found.figures == json.loads((other / "results.json").read_text())
    assert found.best == found.figures["best"]["settings"]
    assert found.verdict == found.figures["verdict"]
    chosen = found.walk_forward
    assert chosen["folds"] == 3 and chosen["learning_rate"] == found.best["learning_rate"]


def test_search_continues(bars, found, folder):
    more = rk.search(bars, resume_from_checkpoint=found.folder, trials=8, progress=False)
    assert more.folder == found.folder
    assert len(more.trials) == 8
    np.testing.assert_array_equal(more.trials["timing_ratio"][:6], found.trials["timing_ratio"])


def test_the_best_setting_walks_forward(bars, found, folder):
    judged = rk.walk_forward(bars, output=folder / "best", progress=False, **found.walk_forward)
    settings = json.loads((judged.folder / "walk-forward.json").read_text())["config"]
    assert {name: settings[name] for name in found.best} == found.best


RULES = {"capital": 2_000_000, "sizing": "fraction", "size": 0.5, "commission_percent": 0.01, "threshold": 0.0001, "trials": 3}


def test_backtest(csv, bars, walked, folder):
    """The program trades the predictions of its own walk-forward, and the module those of its own."""
    (job,) = (folder / "walked-cli").iterdir()
    predictions = job / "predictions.csv"
    run_program(
        "backtest", "--data", csv, "--predictions", predictions, "--output", "traded-cli", *options_of(RULES), folder=folder
    )
    other = folder / "traded-cli"
    tested = rk.backtest(bars, walked, output=folder / "traded", progress=False, **RULES)
    same_table(tested.trades, other / "trades.csv")
    same_table(tested.equity, other / "equity.csv")
    assert tested.figures == json.loads((other / "backtest.json").read_text())
    assert tested.verdict == tested.figures["verdict"]
    assert str(tested).startswith(tested.verdict)
    assert len(tested.trades) == tested.figures["strategy"]["trades"] > 0


def predictions_of(walked):
    """The columns that a backtest needs, for the mean of the networks."""
    table = walked.predictions
    mean = table["seed"] == "mean"
    return {name: table[name][mean] for name in ("known_at", "prediction", "outcome")}


def pyarrow_table(columns):
    return pytest.importorskip("pyarrow").table(columns)


def pandas_table(columns):
    return pytest.importorskip("pandas").DataFrame(columns)


def polars_table(columns):
    return pytest.importorskip("polars").DataFrame({**columns, "known_at": columns["known_at"].astype("datetime64[us]")})


@pytest.mark.parametrize("make", [pyarrow_table, pandas_table, polars_table])
def test_signals_in_tables(bars, walked, folder, make):
    expected = rk.backtest(bars, walked, output=folder / "signals", progress=False)
    columns = predictions_of(walked)
    tested = rk.backtest(bars, make(columns), output=folder / "signals", progress=False)
    np.testing.assert_array_equal(tested.equity["equity"], expected.equity["equity"])
    positions = {"known_at": columns["known_at"], "position": np.sign(columns["prediction"])}
    traded = rk.backtest(bars, make(positions), output=folder / "signals", progress=False)
    first = columns["known_at"][-1].astype("datetime64[D]")
    before = expected.equity["date"] < first
    np.testing.assert_allclose(traded.equity["equity"][: before.sum()], expected.equity["equity"][before], rtol=1e-12)
    own = rk.backtest(bars, walked.predictions, output=folder / "signals", progress=False)
    np.testing.assert_array_equal(own.equity["equity"], expected.equity["equity"])


@pytest.mark.parametrize(
    "call, kind, text",
    [
        (lambda bars: rk.search(bars), rk.UsageError, "no setting varies"),
        (lambda bars: rk.search(bars, {"epochs": [1, 2]}, method="halving"), rk.UsageError, "min_epochs"),
        (lambda bars: rk.search(bars, {"learning_rate": [0.1]}, reduction=4), rk.UsageError, "method='halving'"),
        (lambda bars: rk.search(bars, {"learning_rat": [0.1]}), rk.UsageError, "learning"),
        (lambda bars: rk.search(bars, {"learning_rate": [0.1]}, several_instruments="by-name"), TypeError, "it is a setting of read_bars()"),
        (lambda bars: rk.walk_forward(bars, test_blocks=2), rk.UsageError, "test_blocks has no effect without blocks"),
        (lambda bars: rk.walk_forward(bars, window="rolling", blocks=4), rk.UsageError, "blocks"),
        (lambda bars: rk.walk_forward(bars, folds=0), rk.UsageError, "folds"),
        (lambda bars: rk.walk_forward(bars, fold=3), TypeError, "it is a setting of backtest()"),
        (lambda bars: rk.walk_forward(bars, epochs="three"), rk.UsageError, "epochs"),
        (lambda bars: rk.backtest(bars, "missing.csv"), rk.UsageError, "missing.csv"),
        (lambda bars: rk.backtest(bars, [1, 2]), TypeError, "cannot read signals from list"),
        (lambda bars: rk.backtest(bars, bars.table()), rk.UsageError, "known_at"),
        (lambda bars: rk.backtest(bars, bars.table(), lookback=5), rk.UsageError, "sizing='volatility'"),
        (lambda bars: rk.backtest(bars, bars.table(), sizing="half"), rk.UsageError, "sizing"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_wrong_use(bars, call, kind, text):
    with pytest.raises(kind) as raised:
        call(bars)
    assert text in str(raised.value)
    if kind is rk.UsageError:
        assert "--" not in str(raised.value)


def test_progress(bars, folder):
    seen = []
    rk.search(bars, {"learning_rate": [1e-3, 1e-2]}, method="grid", folds=3, progress=seen.append, output=folder / "seen", **SMALL)
    assert {one.unit for one in seen if one.stage == "Searching"} == {"trials"}


@pytest.mark.parametrize("function", ["walk_forward", "search"])
def test_ctrl_c(bars, folder, caplog, function):
    """The message names the folder, and the continued job gives the same as an uninterrupted one."""
    settings = {**SMALL, "epochs": 200, "folds": 3}
    call = {
        "walk_forward": lambda **more: rk.walk_forward(bars, **more),
        "search": lambda **more: rk.search(bars, *([] if "resume_from_checkpoint" in more else [VARY]), **more),
    }[function]
    if function == "search":
        settings["trials"] = 40
    output = folder / f"interrupted-{function}"

    stages = []

    def interrupt(progress):
        if progress.stage != "Reading bars" and progress.done > 0 and not stages:
            stages.append(progress.stage)
            os.kill(os.getpid(), signal.SIGINT)

    with caplog.at_level(logging.WARNING, "rekindle_train"), pytest.raises(KeyboardInterrupt):
        call(progress=interrupt, output=output, **settings)
    (job,) = output.iterdir()
    assert any(f'{function}(bars, resume_from_checkpoint="{job}")' in message for message in caplog.messages)
    continued = call(resume_from_checkpoint=job, progress=False)
    assert continued.folder == job and continued.verdict


def test_bars_can_be_pickled(bars):
    again = pickle.loads(pickle.dumps(bars))
    assert again._report["data_hash"] == bars._report["data_hash"]
    assert again.settings == bars.settings
    pa = pytest.importorskip("pyarrow")
    table = rk.read_bars(pa.table(rk.simulate(5000)), name="ES", progress=False)
    again = pickle.loads(pickle.dumps(table))
    assert again.files == table.files and len(again) == len(table)
