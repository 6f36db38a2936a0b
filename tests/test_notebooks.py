"""Every notebook runs, and stores the outputs that it gives today.

After a change: `jupyter execute --inplace notebooks/*.ipynb`, then look at the result.
"""

from __future__ import annotations

import os
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def texts(notebook: nbformat.NotebookNode) -> list[str]:
    """Return what each code cell printed or returned, as text; pictures are left out."""
    return [
        "".join(output.get("text", "") or output.get("data", {}).get("text/plain", "") for output in cell.outputs)
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


def test_there_are_notebooks() -> None:
    assert NOTEBOOKS


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_stored_outputs_are_those_of_today(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The kernel is another process, and must import the packages that are being tested.
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])))
    stored = nbformat.read(path, as_version=4)
    fresh = NotebookClient(nbformat.read(path, as_version=4), timeout=900, kernel_name="python3").execute()
    assert texts(fresh) == texts(stored)
    pictures = [
        output for cell in stored.cells for output in cell.get("outputs", []) if "image/png" in output.get("data", {})
    ]
    assert pictures
    counts = [cell.execution_count for cell in stored.cells if cell.cell_type == "code"]
    assert counts == list(range(1, len(counts) + 1))
