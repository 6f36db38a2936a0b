"""Entries are read from the files of the documents as they are written there."""

from __future__ import annotations

import pytest

from dpverify.formulas.protocols import vector_sum
from dpverify.papers.entries import _hypotheses, every, stated


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
