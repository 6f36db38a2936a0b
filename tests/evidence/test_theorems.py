"""The list is complete: every Theorem object in the claims is in it, once, with something to say."""

import gc
import importlib
import pkgutil

import pytest

import dpverify.claims
from dpverify.evidence.theorems import find, theorems
from dpverify.papers.theorem import Theorem, Verdict


def test_every_theorem_that_exists_is_in_the_theorems() -> None:
    for module in pkgutil.walk_packages(dpverify.__path__, "dpverify."):
        importlib.import_module(module.name)
    known = set(map(id, theorems()))
    stray = [t.name for t in gc.get_objects() if isinstance(t, Theorem) and id(t) not in known]
    assert stray == []


def test_every_theorem_has_a_source_a_statement_and_a_finding() -> None:
    assert len({theorem.name for theorem in theorems()}) == len(theorems()) > 30
    for theorem in theorems():
        assert min(map(len, (theorem.source, theorem.statement, theorem.finding))) > 10
        assert theorem.name == theorem.name.lower()


def test_the_seeds_do_contain_slips() -> None:
    assert sum(theorem.verdict is Verdict.FAILS for theorem in theorems()) >= 5


@pytest.mark.parametrize(
    ("short", "full"),
    [("Thm. 3.2", "Theorem 3.2"), ("Cor 3.4", "Corollary 3.4"), ("Fig. 9.2", "Figure 9.2"), ("eq 9.5", "equation 9.5")],
)
def test_statements_are_found_as_they_are_cited(short: str, full: str) -> None:
    assert find(short) == find(full)


def test_what_is_cited_stands_before_what_mentions_it() -> None:
    names = [theorem.name for theorem in find("Theorem 3.2")]
    cited = ["theorem-3.2" in name for name in names]
    assert cited == sorted(cited, reverse=True)
    assert 0 < sum(cited) < len(cited)
