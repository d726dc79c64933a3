"""Wrong use, progress and cancellation, as a user sees them."""

import logging
import os
import pathlib
import signal
import threading
import time

import numpy as np
import pytest
from conftest import SMALL

import rekindle_train as rk
from rekindle_train import _progress
from rekindle_train._errors import in_python


@pytest.mark.parametrize(
    "call, where, text",
    [
        (lambda bars: rk.read_bars("missing.csv"), "missing.csv", "No such file"),
        (lambda bars: rk.read_bars(bars.files[0], zone="Mars/Base"), "zone", "Mars/Base"),
        (lambda bars: rk.read_bars(bars.files[0], tick="wide"), "tick", "not a tick size"),
        (lambda bars: rk.read_bars(bars.files[0], session="night"), "session", "one of rth, eth, all"),
        (lambda bars: rk.read_bars(bars.files[0], session_length="week", session="rth"), "", "session_length='week' cannot be combined with session='rth'"),
        (lambda bars: rk.train(bars, epochs=0), "epochs", "invalid value 0"),
        (lambda bars: rk.train(bars, learning_rate=float("nan")), "learning_rate", "a finite number"),
        (lambda bars: rk.train(bars, features=["sessions"]), "", "sessions"),
        (lambda bars: rk.train(bars, device="gpu:99"), "", "gpu:99"),
        (lambda bars: rk.Run.open("."), ".", "run"),
        (lambda bars: rk.predict("nothing.pt", bars), "nothing.pt", ""),
    ],
    ids=lambda value: value if isinstance(value, str) and value.isidentifier() else "",
)
def test_wrong_use(bars, call, where, text):
    with pytest.raises(rk.UsageError) as raised:
        call(bars)
    assert isinstance(raised.value, ValueError) and isinstance(raised.value, rk.RekindleError)
    assert where in raised.value.where
    assert text in str(raised.value)
    assert "--" not in str(raised.value)


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda bars: rk.read_bars(bars.files[0], epochs=3), "it is a setting of train()"),
        (lambda bars: rk.train(bars, epoch=3), "did you mean 'epochs'?"),
        (lambda bars: rk.read_bars(7), "cannot read bars from int"),
        (lambda bars: rk.read_bars([{}]), "cannot read bars from dict"),
        (lambda bars: rk.train(bars, several_instruments="by-name"), "it is a setting of read_bars()"),
    ],
)
def test_wrong_types(bars, call, text):
    with pytest.raises(TypeError) as raised:
        call(bars)
    assert text in str(raised.value)


def test_options_become_keywords():
    assert in_python("Use --bad-rows skip to skip them.") == "Use bad_rows='skip' to skip them."
    assert in_python("--tick none reads them") == "tick='none' reads them"
    assert in_python("(--purge, raised)") == "(purge, raised)"
    assert in_python("add --chain.") == "add chain=True."
    assert in_python("--clock exchange --stamp-zone ZONE") == "clock='exchange' stamp_zone=ZONE"
    assert in_python("--several-instruments trains one model") == "several_instruments trains one model"
    assert in_python("--vary learning-rate=1e-4..1e-2@log") == "vary={'learning_rate': '1e-4..1e-2@log'}"
    assert in_python("--sizing volatility --size 0.15") == "sizing='volatility' size=0.15"
    assert in_python("--other-instrument predicts") == "other_instrument predicts"


def test_values_of_other_types(csv, folder):
    """Paths, NumPy's numbers, single words and tuples are accepted."""
    bars = rk.read_bars(pathlib.Path(csv), tick=0.25, progress=False)
    assert bars.settings["tick"] == "0.25"
    run = rk.train(
        bars,
        progress=False,
        **{**SMALL, "features": "session,gap", "hidden_layers": (np.int64(8),), "epochs": np.int32(1), "output": folder / "types"},
    )
    assert run.settings["hidden_layers"] == [8]
    assert run.settings["features"] == ["session", "gap"]


def test_different_instruments(csv, folder):
    """Bars of two instruments are refused, whatever tells them apart."""
    lines = csv.read_text(encoding="utf-8").splitlines(keepends=True)
    other = folder / "NQ_1min.csv"
    other.write_text("".join(lines).replace("ES ", "NQ "), encoding="utf-8")
    with pytest.raises(rk.UsageError, match="different instruments") as raised:
        rk.read_bars([csv, other], progress=False)
    assert "several_instruments" in raised.value.hint


def test_bars_of_an_instrument(csv, folder):
    """Hours that come from the instrument do not count as the user's own, which session="all" would exclude."""
    bars = rk.read_bars(csv, instrument="ES", progress=False)
    assert bars.settings["regular_hours"] != "auto"
    run = rk.train(bars, progress=False, output=folder / "instrument", **SMALL)
    assert run.settings["instrument"] == "ES"
    with pytest.raises(rk.UsageError, match="regular_hours='08:30-15:00' cannot be combined|regular_hours cannot be combined"):
        rk.read_bars(csv, regular_hours="08:30-15:00", progress=False)


def test_progress(bars, folder):
    seen = []
    rk.train(bars, progress=seen.append, output=str(folder / "seen"), **SMALL)
    epochs = [progress for progress in seen if progress.stage == "Epoch"]
    assert [(one.done, one.total) for one in epochs] == [(1, 3), (2, 3), (3, 3)]
    assert all(0 <= one.accuracy <= 1 for one in epochs)


def test_an_exception_in_the_callback_ends_the_job(bars, folder):
    def stop(progress):
        if progress.stage == "Epoch":
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        rk.train(bars, progress=stop, output=str(folder / "stopped"), **{**SMALL, "epochs": 100_000})


def test_ctrl_c_leaves_a_checkpoint(bars, folder, caplog):
    """SIGINT arrives while another thread counts, which shows that the interpreter is not blocked."""
    output = folder / "interrupted"
    counted = []
    done = threading.Event()

    def interrupt():
        while not done.wait(0.01):
            counted.append(time.monotonic())
            if len(counted) == 50:
                os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        with caplog.at_level(logging.WARNING, "rekindle_train"), pytest.raises(KeyboardInterrupt):
            rk.train(bars, progress=False, output=str(output), **{**SMALL, "epochs": 1_000_000})
    finally:
        done.set()
        thread.join()
    assert len(counted) >= 50
    (run,) = output.iterdir()
    assert list((run / "checkpoints").iterdir())
    assert any("resume_from_checkpoint" in message for message in caplog.messages)
    with pytest.raises(rk.RekindleError, match="not finished"):
        rk.Run.open(run).verdict  # noqa: B018


def test_messages_are_logged(csv, caplog):
    with caplog.at_level(logging.INFO, "rekindle_train"):
        rk.read_bars(csv, progress=False)
    assert any("Reading bars" in message for message in caplog.messages)
    assert not any("--" in message for message in caplog.messages)


def test_the_line(monkeypatch, capsys, csv):
    monkeypatch.setattr(_progress, "_is_watched", lambda: True)
    rk.read_bars(csv)
    assert "Reading bars" in capsys.readouterr().err


def test_many_threads(csv):
    """Calls from several Python threads at once do not disturb each other."""
    results = []

    def read():
        results.append(rk.read_bars(csv, progress=False).sessions()["point_of_control"].sum())

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(results)) == 1 and len(results) == 4
