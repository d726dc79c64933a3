"""A search on a local Ray cluster of three workers gives the same results as a search in one process."""

import logging
import os
import pathlib
import re
import signal
import sqlite3
import subprocess
import time

import numpy as np
import pyarrow.csv
import pytest
import ray

import rekindle_train as rk

#: Each trial takes about 0.1 s, so that a worker can be ended while it runs.
SETTINGS = {"trials": 30, "folds": 3, "hidden_layers": [16, 8], "epochs": 1000, "batch_size": 16, "device": "cpu", "threads": 1}
VARY = {"learning_rate": "1e-4..1e-2@log", "dropout_rate": [0, 0.25]}
WORKERS = 3


@pytest.fixture(scope="module", autouse=True)
def cluster():
    ray.init(num_cpus=WORKERS, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("ray")


@pytest.fixture(scope="module")
def bars(folder):
    path = folder / "ES.csv"
    subprocess.run([os.environ["REKINDLE_PROGRAM"], "simulate", "--bars", "200000", "--output", path, "--quiet"], check=True)
    return rk.read_bars(path, progress=False)


@pytest.fixture(scope="module")
def expected(bars, folder):
    return rk.search(bars, VARY, output=folder / "here", progress=False, **SETTINGS)


def same(found, expected):
    assert found.trials.columns == expected.trials.columns
    for name in found.trials:
        if name != "seconds":
            np.testing.assert_array_equal(found.trials[name], expected.trials[name], err_msg=name)
    assert found.figures == expected.figures
    assert found.verdict == expected.verdict


def stored(job):
    with sqlite3.connect(job / "search.sqlite") as database:
        return database.execute("select trial, rung from trials order by trial, rung").fetchall()


def status_of(process):
    """The name and the parent of a process; None if it has ended."""
    try:
        lines = pathlib.Path(f"/proc/{process}/status").read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    fields = dict(line.split(":\t", 1) for line in lines if ":\t" in line)
    return fields["Name"], int(fields["PPid"])


def is_descendant(process):
    while process > 1:
        status = status_of(process)
        if status is None:
            return False
        process = status[1]
        if process == os.getpid():
            return True
    return False


def worker_processes():
    """The processes in which the trials of this test run."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdecimal() and status_of(entry.name):
            try:
                command = (entry / "cmdline").read_text(encoding="utf-8", errors="replace")
            except OSError:
                continue
            if command.startswith("ray::Worker") and is_descendant(int(entry.name)):
                found.append(int(entry.name))
    return found


def all_end():
    """Whether all workers end within two minutes, which only a busy machine needs."""
    for _ in range(1200):
        if not worker_processes():
            return True
        time.sleep(0.1)
    return False


def test_same_results(bars, expected, folder):
    seen = []
    found = rk.search(
        bars, VARY, ray="auto", ray_workers=WORKERS, output=folder / "cluster", progress=seen.append, **SETTINGS
    )
    same(found, expected)
    assert stored(found.folder) == stored(expected.folder)
    assert max(one.done for one in seen if one.stage == "Searching") > 0
    assert all_end()


def test_halving(bars, folder):
    settings = {**SETTINGS, "method": "halving", "epochs": 27}
    expected = rk.search(bars, VARY, output=folder / "halved-here", progress=False, **settings)
    found = rk.search(bars, VARY, ray="auto", ray_workers=WORKERS, output=folder / "halved", progress=False, **settings)
    same(found, expected)
    assert stored(found.folder) == stored(expected.folder)
    assert max(found.trials["rung"]) > 0
    assert all_end()  # the next test kills only its own workers


def test_a_killed_worker_costs_its_unfinished_trials(bars, expected, folder, caplog):
    killed = []

    def kill(progress):
        if progress.stage == "Searching" and progress.done > 0 and len(killed) < 2:
            for process in [one for one in worker_processes() if one not in killed][:1]:
                os.kill(process, signal.SIGKILL)
                killed.append(process)

    with caplog.at_level(logging.WARNING, "rekindle_train"):
        found = rk.search(bars, VARY, ray="auto", ray_workers=WORKERS, output=folder / "killed", progress=kill, **SETTINGS)
    assert len(killed) == 2
    same(found, expected)
    again = [int(match[1]) for match in map(re.compile(r"its (\d+) unfinished trials").search, caplog.messages) if match]
    assert len(again) == 2
    assert max(again) <= SETTINGS["trials"] // (8 * WORKERS) + 1


def test_ctrl_c(bars, expected, folder):
    """The finished trials are kept, and a search without Ray continues."""

    def interrupt(progress):
        if progress.stage == "Searching" and progress.done > 0:
            os.kill(os.getpid(), signal.SIGINT)

    output = folder / "interrupted"
    with pytest.raises(KeyboardInterrupt):
        rk.search(bars, VARY, ray="auto", ray_workers=WORKERS, output=output, progress=interrupt, **SETTINGS)
    assert all_end()
    (job,) = output.iterdir()
    assert 0 < len(stored(job)) < SETTINGS["trials"]
    same(rk.search(bars, resume_from_checkpoint=job, progress=False), expected)


def test_a_cluster_continues_a_search(bars, expected, folder):
    fewer = rk.search(bars, VARY, output=folder / "fewer", progress=False, **{**SETTINGS, "trials": 5})
    found = rk.search(
        bars, resume_from_checkpoint=fewer.folder, trials=SETTINGS["trials"], ray="auto", ray_workers=WORKERS, progress=False
    )
    same(found, expected)


def test_bars_from_a_table(bars, expected, folder):
    """Tables are sent to the workers."""
    table = pyarrow.csv.read_csv(bars.files[0], read_options=pyarrow.csv.ReadOptions(skip_rows=1))
    own = rk.read_bars(table, progress=False)
    found = rk.search(own, VARY, ray="auto", ray_workers=WORKERS, output=folder / "table", progress=False, **SETTINGS)
    np.testing.assert_array_equal(found.trials["timing_ratio"], expected.trials["timing_ratio"])


def test_other_bars_on_a_worker(bars, folder):
    """If the file on a worker's host differs, the search fails instead of giving another result."""
    path = folder / "changing.csv"
    lines = pathlib.Path(bars.files[0]).read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(lines), encoding="utf-8")
    changing = rk.read_bars(path, progress=False)
    path.write_text("".join(lines[:-2000]), encoding="utf-8")
    with pytest.raises(rk.UsageError, match="not those of the search"):
        rk.search(changing, VARY, ray="auto", ray_workers=WORKERS, output=folder / "changed", progress=False, **SETTINGS)


def test_too_many_workers(bars, folder):
    with pytest.raises(rk.UsageError, match="only 3 CPUs"):
        rk.search(bars, VARY, ray="auto", ray_workers=WORKERS + 1, output=folder / "many", progress=False, **SETTINGS)
