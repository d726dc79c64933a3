"""Signatures, documentation and types come from one table and agree with each other."""

import inspect
import pathlib
import subprocess
import sys

import pytest

import rekindle_train as rk
from rekindle_train import _signatures

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
FUNCTIONS = {
    "read_bars": rk.read_bars,
    "Bars.features": rk.Bars.features,
    "Bars.targets": rk.Bars.targets,
    "train": rk.train,
    "walk_forward": rk.walk_forward,
    "search": rk.search,
    "backtest": rk.backtest,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_signature(name):
    parameters = inspect.signature(FUNCTIONS[name]).parameters
    document = inspect.getdoc(FUNCTIONS[name])
    for setting, row in _signatures.BY_FUNCTION[name].items():
        assert parameters[setting].default == _signatures.default_of(row)
        assert f"{setting} : " in document
    assert not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())


def test_every_setting_belongs_to_a_function():
    taken = {id(row) for rows in _signatures.BY_FUNCTION.values() for row in rows.values()}
    assert {name for name, row in _signatures.SETTINGS.items() if id(row) not in taken} == {"data"}
    options = {name for rows in _signatures.OPTIONS.values() for name, row in rows.items() if id(row) not in taken}
    assert options == {"vary", "predictions", "positions"}


def test_committed_types():
    """python/tools/generate_settings.py --write renews the file."""
    made = subprocess.run(
        [sys.executable, REPOSITORY / "python/tools/generate_settings.py"], capture_output=True, text=True, check=True
    ).stdout
    assert made == (REPOSITORY / "python/rekindle_train/_settings.py").read_text(encoding="utf-8")


USER = """
import rekindle_train as rk

bars = rk.read_bars("bars.csv", session="rth", tick=0.25)
run = rk.train(bars, hidden_layers=[32, 16], progress=lambda one: print(one.loss))
value: float = run.predict(bars).value
price: float = bars.profiles()[-1].point_of_control
judged = rk.walk_forward(bars, folds=4, population=3, window="rolling")
found = rk.search(bars, {"learning_rate": "1e-4..1e-2@log", "hidden_layers": [[8], [16, 8]]}, method="halving", ray="auto")
profit = rk.backtest(bars, judged, sizing="fraction", size=0.5, commission=2.1).trades["profit"].sum()
rk.backtest(bars, "positions.csv", point_value=50)
rk.walk_forward(bars, window="sliding")  # E
rk.search(bars, {"learning_rate": 0.1})  # E
rk.backtest(bars, judged, sizing=2)  # E
rk.read_bars("bars.csv", session="night")  # E
rk.train(bars, epochs="three")  # E
rk.train(bars, epoch=3)  # E
"""


def test_types(tmp_path):
    pytest.importorskip("mypy")
    user = tmp_path / "user.py"
    user.write_text(USER)
    package = pathlib.Path(rk.__file__).resolve().parent
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--cache-dir", str(tmp_path / "cache")]
    found = subprocess.run([*command, str(user)], capture_output=True, text=True, check=False, cwd=tmp_path).stdout
    lines = [int(line.split(":")[1]) for line in found.splitlines() if line.startswith("user.py") and " error: " in line]
    assert lines == [i for i, line in enumerate(USER.splitlines(), 1) if line.endswith("# E")], found
    assert package.joinpath("py.typed").exists()


def test_everything_public_is_documented():
    for name in rk.__all__:
        thing = getattr(rk, name)
        assert inspect.getdoc(thing), name
        if inspect.isclass(thing) and not issubclass(thing, Exception):
            for member, value in vars(thing).items():
                if not member.startswith("_") and (callable(value) or isinstance(value, property)):
                    assert inspect.getdoc(value), f"{name}.{member}"
