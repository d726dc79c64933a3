"""Bars of several instruments give exactly what the program gives."""

import csv as csv_module
import json
import pickle

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet
import pytest
from conftest import SMALL, options_of, run_program

import rekindle_train as rk

NAMES = ["ES", "NQ"]
WINDOWS = {"folds": 3, "train_rows": 50}


@pytest.fixture(scope="module")
def table():
    """One table of two instruments, in the order of time."""
    parts = []
    for seed, name in enumerate(NAMES):
        bars = pa.table(rk.simulate(250_000, seed=seed + 3))
        contracts = pa.array([text.replace("ES", name) for text in bars["contract"].to_pylist()])
        parts.append(bars.set_column(bars.column_names.index("contract"), "contract", contracts))
    return pa.concat_tables(parts).sort_by("time")


@pytest.fixture(scope="module")
def file(table, folder):
    pa.parquet.write_table(table, folder / "several.parquet")
    return folder / "several.parquet"


@pytest.fixture(scope="module")
def bars(table):
    return rk.read_bars(table, several_instruments="by-root", progress=False)


@pytest.fixture(scope="module")
def walked(bars, folder):
    return rk.walk_forward(bars, output=folder / "walked-several", progress=False, **WINDOWS, **SMALL)


def of(table, name):
    return table.filter(pa.compute.starts_with(table["contract"], name))


def of_program(command, file, folder, output, settings):
    options = ("--several-instruments", "by-root", "--instrument", "none")
    run_program(command, "--data", file, "--output", output, *options, *options_of(settings), folder=folder)
    (job,) = (folder / output).iterdir()
    return job


def test_each_instrument_is_read_as_if_alone(table, bars):
    assert bars.instruments == NAMES and list(bars) == NAMES
    assert len(bars) == sum(len(bars[name]) for name in NAMES) == len(table)
    for name in NAMES:
        alone = rk.read_bars(of(table, name), progress=False)
        for column in ("time", "open", "close", "volume"):
            np.testing.assert_array_equal(bars[name].table()[column], alone.table()[column])
        np.testing.assert_array_equal(bars[name].features(progress=False).matrix, alone.features(progress=False).matrix)
    for call in (bars.table, bars.sessions, bars.features):
        with pytest.raises(rk.UsageError, match="several instruments"):
            call()
    with pytest.raises(rk.UsageError, match="no instrument"):
        bars["CCC"]


def test_one_of_several_trains_like_one_alone(table, bars, folder):
    alone = rk.read_bars(of(table, "NQ"), progress=False)
    runs = [rk.train(one, output=folder / "of-one", progress=False, **SMALL) for one in (bars["NQ"], alone)]
    assert runs[0].scores == runs[1].scores
    assert runs[0].importance == runs[1].importance != []


def test_training_and_prediction(file, bars, folder):
    settings = {"instrument_input": "one-hot", **SMALL}
    run = rk.train(bars, output=folder / "trained-several", progress=False, **settings)
    other = of_program("train", file, folder, "trained-cli", settings)
    assert (run.folder / "best_model.safetensors").read_bytes()[-200:] == (other / "best_model.safetensors").read_bytes()[-200:]
    assert set(run.predictions["instrument"]) == set(NAMES)
    predicted = run.predict_each(bars, progress=False)
    assert sorted(predicted) == NAMES
    with pytest.raises(rk.UsageError, match="predict takes bars of one instrument"):
        run.predict(bars, progress=False)
    with pytest.raises(rk.UsageError, match="predict_each takes bars of several instruments"):
        run.predict_each(bars["ES"], progress=False)
    assert run.predict(bars["ES"], progress=False).value == predicted["ES"].value
    printed = json.loads(run_program("predict", "--model", other, "--data", file, "--format", "json", folder=folder))
    assert [one["value"] for one in printed["predictions"]] == [predicted[name].value for name in NAMES]


def test_walk_forward_and_backtest(file, bars, walked, folder):
    other = of_program("walk-forward", file, folder, "walked-several-cli", {**WINDOWS, **SMALL})
    assert (walked.folder / "predictions.csv").read_bytes() == (other / "predictions.csv").read_bytes()
    assert set(walked.predictions["instrument"]) == set(walked.instruments) == set(NAMES)
    tested = rk.backtest(bars, walked, output=folder / "bt-several", progress=False)
    of_file = rk.backtest(bars, walked.folder / "predictions.parquet", output=folder / "bt-parquet", progress=False)
    assert of_file.figures["strategy"] == tested.figures["strategy"]
    assert [one["name"] for one in tested.figures["instruments"]] == NAMES
    with open(folder / "bt-several/trades.csv", newline="", encoding="utf-8") as lines:
        rows = list(csv_module.DictReader(lines))
    assert tested.trades.columns == list(rows[0])
    assert list(tested.trades["instrument"]) == [row["instrument"] for row in rows]
    np.testing.assert_allclose(tested.equity["equity"][-1] - 100_000, tested.figures["strategy"]["profit"], rtol=1e-9)


def test_search_and_report(bars, walked, folder):
    found = rk.search(
        bars, {"learning_rate": "1e-4..1e-2@log"}, trials=3, folds=2, output=folder / "found-several", progress=False, **SMALL
    )
    run = rk.train(bars, output=folder / "run-several", progress=False, **SMALL)
    tested = rk.backtest(bars, walked, output=folder / "bt-report", progress=False)
    page = rk.report(run, walked, found, tested, output=folder / "all.html")
    assert page.path.read_text(encoding="utf-8").count(found.verdict.split(":")[0]) > 0
    assert [stage["kind"] for stage in page.stages] == ["training", "walk-forward", "search", "backtest"]
    assert page.verdict and str(page) == page.verdict
    printed = json.loads(run_program("report", *[stage["report"].rsplit("/", 1)[0] for stage in page.stages], "--output", "cli.html", "--format", "json", folder=folder))
    assert printed["verdict"] == page.verdict and printed["has_edge"] == page.has_edge
    with pytest.raises(rk.UsageError, match="nothing to report"):
        rk.report()


def test_pickles(bars):
    assert pickle.loads(pickle.dumps(bars)).instruments == NAMES
    one = pickle.loads(pickle.dumps(bars["NQ"]))
    np.testing.assert_array_equal(one.table()["close"], bars["NQ"].table()["close"])
