"""Fixtures for the tests of rekindle_train. REKINDLE_PROGRAM names the program that the module is compared with."""

import os
import subprocess

import pytest

import rekindle_train as rk

PROGRAM = os.environ.get("REKINDLE_PROGRAM", "rekindle")

#: A small network, so that a training takes a second.
SMALL = {"hidden_layers": [16, 8], "epochs": 3, "batch_size": 16, "device": "cpu", "threads": 2}


def run_program(*arguments, folder):
    """Runs the program in a folder and returns what it printed."""
    result = subprocess.run([PROGRAM, *map(str, arguments)], cwd=folder, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr + result.stdout
    return result.stdout


def options_of(settings):
    """Keyword arguments as the program's options."""
    options = []
    for name, value in settings.items():
        option = "--" + name.replace("_", "-")
        if value is True:
            options.append(option)
        else:
            options += [option, ",".join(map(str, value)) if isinstance(value, list) else str(value)]
    return options


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("bars")


@pytest.fixture(scope="session")
def csv(folder):
    """120,000 bars of one minute with contracts and a VIX column."""
    path = folder / "ES_1min.csv"
    run_program("simulate", "--bars", 120_000, "--seed", 7, "--output", path, folder=folder)
    return path


@pytest.fixture(scope="session")
def bars(csv):
    return rk.read_bars(csv, progress=False)


@pytest.fixture(scope="session")
def run(bars, folder):
    return rk.train(bars, output=str(folder / "runs"), progress=False, **SMALL)
