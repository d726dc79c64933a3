"""The module gives exactly what the program gives."""

import csv as csv_module
import json

import numpy as np
import pytest
from conftest import SMALL, options_of, run_program

import rekindle_train as rk


def columns_of(path):
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv_module.reader(file))
    return {name: [row[i] for row in rows[1:]] for i, name in enumerate(rows[0])}


@pytest.mark.parametrize("settings", [{}, {"session": "rth"}, {"features": ["session", "vix", "gap"]}, {"features": ["minute"]}])
def test_features(csv, folder, settings):
    run_program("features", "--data", csv, "--output", "f.csv", *options_of(settings), folder=folder)
    expected = columns_of(folder / "f.csv")
    own = {name: settings[name] for name in settings if name == "features"}
    reading = {name: settings[name] for name in settings if name != "features"}
    features = rk.read_bars(csv, progress=False, **reading).features(progress=False, **own)
    assert features.columns == list(expected)
    for name in features.names:
        np.testing.assert_array_equal(features[name], np.array(expected[name], float), err_msg=name)
    assert list(np.datetime_as_string(features["date"])) == expected["date"]
    assert [f"{text}Z" for text in np.datetime_as_string(features["known_at"])] == expected["known_at"]
    np.testing.assert_array_equal(features.matrix[:, 3], features[features.names[3]])


def test_profiles(csv, bars, folder):
    run_program("volume-profile", "--data", csv, "--output", "p.csv", folder=folder)
    expected = columns_of(folder / "p.csv")
    sessions = bars.sessions()
    assert list(np.datetime_as_string(sessions["date"])) == expected["date"]
    for name, column in [("vpoc", "point_of_control"), ("value_area_low", "value_area_low"), ("total_volume", "volume")]:
        np.testing.assert_array_equal(sessions[column], np.array(expected[name], float), err_msg=name)


def test_profile_levels(csv, bars, folder):
    """The profile of the last session, counted from the bars themselves: a bar's volume is spread evenly over its prices."""
    session = {name: bars.sessions()[name][-1] for name in ("first_bar", "bars", "contract")}
    table = bars.table()
    volume = {}
    for i in range(session["first_bar"], len(table)):
        if table["contract"][i] != session["contract"]:
            continue
        low, high = table["low"][i], table["high"][i]
        levels = np.arange(round(low / 0.25), round(high / 0.25) + 1)
        for level in levels:
            volume[level * 0.25] = volume.get(level * 0.25, 0) + table["volume"][i] / len(levels)
        session["bars"] -= 1
        if session["bars"] == 0:
            break
    profile = bars.profiles()[-1]
    assert list(profile.prices) == sorted(volume)
    np.testing.assert_allclose(profile.volumes, [volume[price] for price in sorted(volume)], rtol=0, atol=0.05)
    assert profile.point_of_control == max(sorted(volume), key=lambda price: round(volume[price], 2))
    levels = bars.profiles().table
    assert len(levels) == sum(len(one.prices) for one in bars.profiles())


def test_training(csv, run, folder):
    """The same weights, scores and predictions, byte for byte."""
    run_program("train", "--data", csv, "--output", "cli", "--instrument", "none", *options_of(SMALL), folder=folder)
    (other,) = (folder / "cli").iterdir()
    for file in ("best_model.safetensors", "model_final.safetensors"):
        assert (run.folder / file).read_bytes() == (other / file).read_bytes()
    opened = rk.Run.open(other)
    assert opened.scores == run.scores
    assert opened.verdict == run.verdict
    assert [row["val_loss"] for row in opened.metrics] == [row["val_loss"] for row in run.metrics]


def test_prediction(csv, bars, run, folder):
    printed = run_program("predict", "--model", run.folder, "--data", csv, "--format", "json", folder=folder)
    expected = json.loads(printed)
    prediction = run.predict(bars, progress=False)
    details = dict(prediction.details)
    assert "\n".join(details.pop("lines")) == str(prediction)
    assert details == expected
    assert prediction.interval[0] <= prediction.value <= prediction.interval[1]


def test_validation_rows(bars, run):
    """The reported scores follow from the predictions of the run."""
    rows = run.predictions
    assert len(rows) == run.metadata["evaluation"]["rows"]
    error = np.sum((rows["outcome"] - rows["prediction"]) ** 2)
    r2 = 1 - error / np.sum(rows["outcome"] ** 2)
    of_zero = [score for score in run.scores if "zero" in score["baseline_name"] and score["unit"] == "%"]
    assert of_zero[0]["value"] == pytest.approx(100 * r2, rel=1e-6)
    closes = bars.sessions()
    by_date = dict(zip(closes["date"], range(len(closes))))
    for i in (0, len(rows) - 1):
        at = by_date[rows["date"][i]]
        gap = closes["roll_offset"][at + 1] - closes["roll_offset"][at]
        assert rows["outcome"][i] == pytest.approx(np.log(closes["close"][at + 1] / (closes["close"][at] + gap)), rel=1e-5)


def test_targets(bars, run):
    targets = bars.targets(progress=False)
    features = bars.features(progress=False)
    np.testing.assert_array_equal(targets["date"], features["date"])
    assert np.isnan(targets["target"][-1])
    known = ~np.isnan(targets["target"])
    count = len(run.predictions)
    np.testing.assert_allclose(targets["target"][known][-count:], run.predictions["outcome"], rtol=1e-6)


def test_resume(bars, folder):
    settings = {**SMALL, "output": str(folder / "resumed")}
    first = rk.train(bars, progress=False, **{**settings, "epochs": 2})
    second = rk.train(bars, progress=False, resume_from_checkpoint=first.folder, epochs=3)
    assert second.folder == first.folder
    assert len(second.metrics) == 3
