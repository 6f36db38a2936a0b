"""A theorem as data."""

from __future__ import annotations

import dataclasses
import json

import pytest

from dpverify.claims.theorem import Theorem, Verdict
from dpverify.formulas import Hypothesis

SMALL = Hypothesis("small", "epsilon < 1.", lambda epsilon, n: epsilon < 1)
MANY = Hypothesis("many", "n > 9.", lambda epsilon, n: n > 9)


@pytest.fixture
def theorem() -> Theorem:  # none that outlives its test: the ledger's own looks for strays
    return Theorem("a-1", "a2000, Lemma 1", "It is so.", (SMALL, MANY), Verdict.HOLDS_WITH_CONDITION, "Only if.")


def test_what_does_not_hold_is_returned_in_order(theorem: Theorem) -> None:
    assert theorem.failed_hypotheses(0.5, 10) == ()
    assert theorem.failed_hypotheses(1.0, 10) == (SMALL,)
    assert theorem.failed_hypotheses(2.0, 9) == (SMALL, MANY)


def test_it_is_plain_json(theorem: Theorem) -> None:
    found = theorem.to_dict()
    assert json.loads(json.dumps(found)) == found
    assert found == {
        "name": "a-1",
        "source": "a2000, Lemma 1",
        "statement": "It is so.",
        "hypotheses": ["epsilon < 1.", "n > 9."],
        "verdict": "holds under an unstated condition",
        "finding": "Only if.",
    }
    assert set(found) == {field.name for field in dataclasses.fields(Theorem)}


def test_a_finding_is_not_changed(theorem: Theorem) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        theorem.verdict = Verdict.HOLDS  # type: ignore[misc]
