"""Every notebook runs, and stores the outputs that it gives today.

After a change: `jupyter execute --inplace notebooks/*.ipynb`, then look at the result.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = [
    pytest.param(path, id=path.stem, marks=[pytest.mark.long] * (path.stem in {"05_classifier", "11_joint_changes"}))
    for path in sorted((ROOT / "notebooks").glob("*.ipynb"))
]

IN_FULL = re.compile(r"\d+\.\d{9,20}(?!\d)(e[+-]\d+)?")


def texts(notebook: nbformat.NotebookNode) -> list[str]:
    """Return what each code cell printed or returned, as text; pictures are left out.

    Of a float in full there are nine digits: its last ones are those of one processor and one version of numpy.
    """
    found = [
        "".join(output.get("text", "") or output.get("data", {}).get("text/plain", "") for output in cell.outputs)
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]
    return [IN_FULL.sub(lambda number: f"{float(number[0]):.9g}", text) for text in found]


@pytest.fixture(scope="module")
def kernel() -> Iterator[NotebookClient]:
    """Return one kernel for all notebooks: most of the time of one goes by in what it imports."""
    with pytest.MonkeyPatch.context() as patch:
        # It is another process, and must import the packages that are being tested.
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])))
        client = NotebookClient(nbformat.v4.new_notebook(), timeout=900, kernel_name="python3")
        with client.setup_kernel():
            yield client


def run(kernel: NotebookClient, notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Run the cells of a notebook, without a name that another one has left."""
    kernel.nb = notebook
    kernel.reset_execution_trackers()
    notebook.cells.insert(0, nbformat.v4.new_code_cell("%reset_selective -f ."))
    for index, cell in enumerate(notebook.cells):
        kernel.execute_cell(cell, index)
    del notebook.cells[0]
    return notebook


def test_there_are_notebooks() -> None:
    assert NOTEBOOKS


@pytest.mark.parametrize("path", NOTEBOOKS)
def test_stored_outputs_are_those_of_today(kernel: NotebookClient, path: Path) -> None:
    stored = nbformat.read(path, as_version=4)
    fresh = run(kernel, nbformat.read(path, as_version=4))
    assert texts(fresh) == texts(stored)
    outputs = [output for cell in stored.cells for output in cell.get("outputs", [])]
    shown = [output.get("text") or output.get("data", {}).get("text/plain") for output in outputs]
    assert all(shown), "an empty output has no place on a page"
    pictures = [
        output for cell in stored.cells for output in cell.get("outputs", []) if "image/png" in output.get("data", {})
    ]
    assert pictures
    counts = [cell.execution_count for cell in stored.cells if cell.cell_type == "code"]
    assert counts == list(range(1, len(counts) + 1))
