"""The evidence of the entries: the quick checks run, figures are quoted as they are, and what is linked exists."""

import ast
import importlib
import json
import re
from pathlib import Path
from typing import Any

import pytest

from dpverify.evidence import ContradictedError, require
from dpverify.evidence.theorems import rerun, theorems
from dpverify.papers.figures import names_in, recorded
from dpverify.papers.theorem import Concern, Evidence, Method, Theorem, Verdict

ROOT = Path(__file__).resolve().parent.parent.parent
THEOREMS = theorems()
RUN = [each for theorem in THEOREMS for each in theorem.checked_by if each.runs]
QUICK = {each.check for each in RUN if each.quick}


SECONDS = {
    *("flood:flood_rate", "flood:enumerated", "density:users_at_one_point", "shuffling:closed_bound_grid"),
    *("features:frequencies_of_algorithm_2", "bitsum:flips_over_users", "local:response_variance", "flood:closed_form"),
}
"""Those that take the longest."""

PENDING: frozenset[str] = frozenset({"ghazi2021-theorem-35"})
"""Entries whose evidence stands in their tests only: this may only shrink."""


def test_a_condition_that_is_false_contradicts() -> None:
    require(True, "")
    with pytest.raises(ContradictedError, match=r"^It is not so\.$"):
        require(False, "It is not so.")


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.long] if name in SECONDS or name not in QUICK else [])
        for name in sorted({each.check for each in RUN})
    ],
)
def test_checks_agree_with_the_theorems(name: str) -> None:
    assert rerun(name)[1] == ""


def test_every_verdict_is_backed() -> None:
    unbacked = {theorem.name: why for theorem in THEOREMS if (why := theorem.unbacked())}
    assert unbacked.keys() == PENDING, unbacked


def test_what_is_less_private_than_printed_is_shown_in_every_test_run() -> None:
    # Its evidence would contradict if the claim were true as printed.
    wrong = {Verdict.FAILS, Verdict.HOLDS_WITH_CONDITION, Verdict.CODE_DIFFERS}
    chosen = [theorem for theorem in THEOREMS if theorem.concern is Concern.PRIVACY and theorem.verdict in wrong]
    assert len(chosen) > 5
    assert [t.name for t in chosen if not any(each.runs and each.quick for each in t.checked_by)] == []


@pytest.mark.parametrize("theorem", THEOREMS, ids=lambda theorem: theorem.name)
def test_figures_of_a_finding_are_recorded_once(theorem: Theorem) -> None:
    sources = [recorded(each.check) for each in theorem.checked_by if each.runs]
    for name in names_in("".join(theorem.templates)):
        assert sum(name in figures for figures in sources) == 1, f"{name} must be a figure of one of the checks"


def resolves(link: str) -> bool:
    """Whether a link of an entry leads somewhere: a test, a passage, or a name in a module."""
    place, _, inside = link.partition("#")
    if "::" in link:
        path, name = link.split("::")
        names = {
            node.name for node in ast.walk(ast.parse((ROOT / path).read_text())) if isinstance(node, ast.FunctionDef)
        }
        return name in names
    if place.endswith(".ipynb"):
        cells = json.loads((ROOT / place).read_text())["cells"]
        return any(inside in "".join(cell["source"]) for cell in cells)
    if place.endswith(".md"):
        headings = re.findall(r"^#+ (.+)$", (ROOT / place).read_text(), re.MULTILINE)
        return not inside or inside in {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in headings}
    module, _, path = link.partition(":")
    target: Any = importlib.import_module(module)
    for name in path.split(".") if path else ():
        target = getattr(target, name)
    return bool(target.__doc__)


def test_what_resolves() -> None:
    # Without this, a broken reader would let every link pass.
    assert resolves("tests/evidence/test_evidence.py::test_what_resolves")
    assert not resolves("tests/evidence/test_evidence.py::test_nothing")
    assert resolves("docs/architecture.md#the-tree")
    assert not resolves("docs/architecture.md#a-tree")
    assert resolves("dpverify.evidence.theorems:find")
    with pytest.raises(AttributeError):
        resolves("dpverify.evidence.theorems:lose")


@pytest.mark.parametrize("theorem", THEOREMS, ids=lambda theorem: theorem.name)
def test_links_and_proofs_resolve(theorem: Theorem) -> None:
    proofs = [each.check for each in theorem.checked_by if each.method is Method.PROOF]
    assert [link for link in (*theorem.links, *proofs) if not resolves(link)] == []


def test_recorded_figures_belong_to_a_check() -> None:
    known: dict[str, Evidence] = {e.check: e for theorem in THEOREMS for e in theorem.checked_by if e.runs}
    folder = ROOT / "dpverify" / "evidence"
    kept = {f"{path.stem}:{name}" for path in folder.glob("*.json") for name in json.loads(path.read_text())}
    assert kept == known.keys()
