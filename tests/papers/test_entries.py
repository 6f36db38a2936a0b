"""Entries are read from the files of the documents as they are written there."""

import json
from pathlib import Path

import pytest

from dpverify.formulas.protocols import vector_sum
from dpverify.papers.entries import _hypotheses, every, stated

NOTEBOOKS = Path(__file__).resolve().parent.parent.parent / "notebooks"
PASSAGES = [[link for link in each.links if link.startswith("notebooks/")] for each in every()]


def test_a_hypothesis_is_a_range_a_place_or_a_predicate() -> None:
    (ranged,) = _hypotheses("delta in (0, 1] (scott2022, Theorem 4.1)")
    assert ranged.statement == "delta in (0, 1] (scott2022, Theorem 4.1)."
    assert (ranged.parameters, ranged.holds(1), ranged.holds(0)) == (("delta",), True, False)
    assert _hypotheses("dpverify.formulas.protocols.vector_sum:HYPOTHESES") == tuple(vector_sum.HYPOTHESES)
    (own,) = _hypotheses(["little", "t^2 < ln d (not stated).", "d, t", "t * t < math.log(d)"])
    assert (own.name, own.parameters, own.holds(100, 2), own.holds(100, 3)) == ("little", ("d", "t"), True, False)


def test_predicates_can_be_read() -> None:
    for theorem in every():
        assert all(each.parameters for each in theorem.hypotheses), theorem.name


def test_evidence_may_be_slow_and_a_name_must_be_there() -> None:
    assert {each.quick for theorem in every() for each in theorem.checked_by} == {True, False}
    with pytest.raises(KeyError):
        stated("wagner2025/bitsum", "none")


def headings(notebook: str) -> set[str]:
    cells = json.loads((NOTEBOOKS / notebook).read_text(encoding="utf-8"))["cells"]
    lines = [line for cell in cells if cell["cell_type"] == "markdown" for line in "".join(cell["source"]).splitlines()]
    return {line.lstrip("#").strip() for line in lines if line.startswith("#")}


@pytest.mark.parametrize("link", sorted({link for links in PASSAGES for link in links}))
def test_passages_of_notebooks_that_entries_lead_to_are_there(link: str) -> None:
    notebook, _, heading = link.removeprefix("notebooks/").partition("#")
    assert heading in headings(notebook)


def test_every_notebook_on_theorems_is_led_to_and_half_of_the_entries_lead_to_one() -> None:
    # A quickstart, audits, certificates, a collection, the accountant, sums: about the package, not about entries.
    others = ("01_quickstart", "10_audits", "13_certificates", "14_collection", "15_accountant", "16_sums")
    kept = {f"notebooks/{path.name}" for path in NOTEBOOKS.glob("*.ipynb")} - {f"notebooks/{o}.ipynb" for o in others}
    assert {link.partition("#")[0] for links in PASSAGES for link in links} == kept
    assert sum(map(bool, PASSAGES)) >= len(PASSAGES) // 2
    assert all(each.links[: len(links)] == tuple(links) for each, links in zip(every(), PASSAGES, strict=True))
