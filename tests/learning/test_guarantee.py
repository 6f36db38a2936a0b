"""What is guaranteed to points, and to points and labels."""

from __future__ import annotations

import math

from dpverify.guarantee import Adjacency, Guarantee, Side, ThreatModel
from dpverify.learning.guarantee import guarantee_of


def plan(epsilon: float, delta: float) -> Guarantee:
    return Guarantee(epsilon, delta, Adjacency.REPLACE_ONE, ThreatModel.COMMUNICATION, Side.UPPER_BOUND, "m", "s")


def test_the_worst_class_counts_and_the_label_comes_on_top() -> None:
    found = guarantee_of([plan(1.0, 1e-7), plan(1.5, 1e-6)], 5.0, ("a note",))
    assert (found.point.epsilon, found.point.delta) == (1.5, 1e-6)
    assert 6.5 <= found.epsilon <= 6.5 * (1 + 1e-15)
    assert found.delta == 1e-6
    assert (
        repr(found)
        == str(found)
        == (
            "(1.5, 1e-06)-DP where a user's point is replaced, (6.5, 1e-06)-DP where her label is replaced, too; upper "
            "bound, replace-one, communication threat model; a note"
        )
    )


def test_without_labels() -> None:
    found = guarantee_of([plan(1.0, 1e-6)], None)
    assert found.point_and_label is None
    assert found.whole is found.point
    assert found.to_dict()["point_and_label"] is None


def test_nothing_private_says_so() -> None:
    found = guarantee_of([], math.inf)
    assert found.epsilon == math.inf
    assert str(found).startswith("no privacy where a user's point is replaced, no privacy where her label")
    clear = guarantee_of([plan(1.0, 1e-6)], math.inf)
    assert (clear.point.epsilon, clear.epsilon) == (1.0, math.inf)
