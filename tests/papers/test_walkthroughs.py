"""Every heading that is named stands in its notebook, and every notebook on theorems is named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dpverify.evidence.theorems import find, theorems
from dpverify.papers.walkthroughs import WALKTHROUGHS, walkthroughs_of

NOTEBOOKS = Path(__file__).resolve().parent.parent.parent / "notebooks"


def headings(notebook: str) -> set[str]:
    cells = json.loads((NOTEBOOKS / notebook).read_text(encoding="utf-8"))["cells"]
    lines = [line for cell in cells if cell["cell_type"] == "markdown" for line in "".join(cell["source"]).splitlines()]
    return {line.lstrip("#").strip() for line in lines if line.startswith("#")}


@pytest.mark.parametrize("place", WALKTHROUGHS)
def test_headings_stand_in_their_notebooks(place: str) -> None:
    notebook, _, heading = place.partition("#")
    assert heading in headings(notebook)


def test_entries_are_those_of_the_theorems_and_lead_there() -> None:
    names = {theorem.name for theorem in theorems()}
    named = [name for entries in WALKTHROUGHS.values() for name in entries]
    assert set(named) <= names
    assert len(set(named)) >= len(names) // 2
    for theorem in theorems():
        places = walkthroughs_of(theorem.name)
        assert theorem.links[: len(places)] == places
    assert find("wagner2025-a2-three-nb")[0].links[0] == "notebooks/03_bitsums.ipynb#What does c do?"


def test_every_notebook_on_theorems_is_named() -> None:
    # A quickstart, audits, certificates, a collection and the accountant are about the package, not about entries.
    others = ("01_quickstart", "10_audits", "13_certificates", "14_collection", "15_accountant")
    kept = {path.name for path in NOTEBOOKS.glob("*.ipynb")} - {f"{name}.ipynb" for name in others}
    assert {place.partition("#")[0] for place in WALKTHROUGHS} == kept
