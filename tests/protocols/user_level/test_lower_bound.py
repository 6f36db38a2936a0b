"""Runs of a learner as a representation."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from protocols.user_level.lower_bound import LearnedRepresentation
from protocols.user_level.representations import Thresholds


def test_every_run_is_a_hypothesis() -> None:
    def learner(rng: np.random.Generator) -> np.ndarray:
        return Thresholds(5).concepts[rng.integers(6)]

    representation = LearnedRepresentation(Thresholds(5), learner, 40)
    table = representation.draw(np.random.default_rng(1))
    rng = np.random.default_rng(1)
    assert_array_equal(table, [learner(rng) for _ in range(40)])
    assert (representation.hypotheses, representation.domain) == (40, 5)
    assert_array_equal(representation.concepts, Thresholds(5).concepts)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([0, 1], r"^learner\(rng\) has shape \(2,\), but must have shape \(5,\)\.$"),
        ([2] * 5, r"^learner\(rng\)\[0\]=2"),
    ],
)
def test_what_it_returns_is_checked(labels: list[int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        LearnedRepresentation(Thresholds(5), lambda rng: np.array(labels), 3).draw(np.random.default_rng(0))
