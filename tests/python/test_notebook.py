"""The notebooks run from beginning to end."""

import pathlib
import re
import shutil

import pytest

NOTEBOOKS = pathlib.Path(__file__).resolve().parents[2] / "python/notebooks"


def execute(name, folder):
    """The texts that the notebook prints, and how many pictures it shows."""
    pytest.importorskip("matplotlib")
    pytest.importorskip("ipykernel")
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    shutil.copy(NOTEBOOKS / name, folder)
    notebook = nbformat.read(folder / name, as_version=4)
    nbformat.validate(notebook)
    assert all(not cell.outputs for cell in notebook.cells if cell.cell_type == "code")
    client = nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(folder)}})
    client.execute()  # raises for a cell that fails
    nbformat.write(notebook, folder / "executed.ipynb")
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    pictures = [output for output in outputs if "image/png" in output.get("data", {})]
    return "".join(output.get("text", "") for output in outputs), len(pictures)


def test_first_steps(tmp_path):
    text, pictures = execute("first-steps.ipynb", tmp_path)
    assert pictures == 3
    assert "No edge" in text
    assert "Predicted log return" in text


def test_what_a_model_is_worth(tmp_path):
    """Other packages make the same trades from the same predictions, to the cent."""
    pytest.importorskip("backtesting")
    pytest.importorskip("vectorbt")
    text, pictures = execute("what-a-model-is-worth.ipynb", tmp_path)
    assert pictures == 2
    number, own = re.search(r"(\d+) trades; rekindle_train has (\d+)", text).groups()
    assert number == own and int(number) > 100
    differences = [float(value) for value in re.findall(r"largest difference of [\w ]+: ([\d.]+) USD", text)]
    assert len(differences) == 2 and max(differences) < 0.005
    assert "deflated Sharpe ratio" in text
    assert "best setting" in text


def test_committed_notebooks():
    """python/tools/make_notebook.py renews them."""
    import runpy

    made = runpy.run_path(str(NOTEBOOKS.parent / "tools/make_notebook.py"))
    assert {path.stem for path in NOTEBOOKS.glob("*.ipynb")} == set(made["NOTEBOOKS"])
    for name, cells in made["NOTEBOOKS"].items():
        assert made["notebook"](cells) == (NOTEBOOKS / f"{name}.ipynb").read_text(encoding="utf-8")
