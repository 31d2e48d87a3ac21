"""The notebooks run from top to bottom, as they stand."""

import pytest
from conftest import ROOT

NOTEBOOKS = sorted((ROOT / "crates" / "lanescope-py" / "notebooks").glob("*.ipynb"))


def test_there_are_three():
    assert len(NOTEBOOKS) == 3


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_a_notebook_runs(path):
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    if path.stem == "fabric-sweep":
        pytest.importorskip("distributed")
        pytest.importorskip("polars")
    notebook = nbformat.read(path, as_version=4)
    stored = [c for c in notebook.cells if c.cell_type == "code"]
    # On a host of code it shows what it came to, without anything that runs there.
    assert all(c.outputs for c in stored if not c.source.rstrip().endswith(("cleanup()", "between())"))), path.name
    text = path.read_text(encoding="utf-8")
    assert "<script" not in text and "<svg" in text
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
