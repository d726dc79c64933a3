"""The notebook runs from beginning to end."""

import pathlib
import shutil

import pytest

NOTEBOOK = pathlib.Path(__file__).resolve().parents[2] / "python/notebooks/first-steps.ipynb"


def test_notebook(tmp_path):
    pytest.importorskip("matplotlib")
    pytest.importorskip("ipykernel")
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    shutil.copy(NOTEBOOK, tmp_path)
    notebook = nbformat.read(tmp_path / NOTEBOOK.name, as_version=4)
    nbformat.validate(notebook)
    assert all(not cell.outputs for cell in notebook.cells if cell.cell_type == "code")
    client = nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}})
    client.execute()  # raises for a cell that fails
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    pictures = [output for output in outputs if "image/png" in output.get("data", {})]
    assert len(pictures) == 3
    text = "".join(output.get("text", "") for output in outputs)
    assert "No edge" in text
    assert "Predicted log return" in text
    nbformat.write(notebook, tmp_path / "executed.ipynb")
