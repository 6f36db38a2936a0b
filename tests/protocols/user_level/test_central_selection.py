"""The exponential mechanism on counts."""

import math
import random

import numpy as np
import pytest
from numpy.testing import assert_allclose

from protocols.user_level.central_selection import ExponentialSelection
from tests.contracts import SelectionContract
from tests.samples import assert_law


class TestExponentialSelection(SelectionContract):
    @staticmethod
    def make(users: int, candidates: int) -> ExponentialSelection:
        return ExponentialSelection(users, candidates, 0.5)


def test_the_weights_are_those_of_half_epsilon() -> None:
    selection, rng = ExponentialSelection(5, 3, 0.8), np.random.default_rng(1)
    weights = [math.exp(0.4 * count) for count in (2, 3, 0)]
    law = {value: weight / sum(weights) for value, weight in enumerate(weights)}
    assert_allclose(selection.probabilities([2, 3, 0]), list(law.values()), rtol=1e-14)
    assert_law([selection.run(np.array([0, 1, 0, 1, 1]), rng) for _ in range(5_000)], law)


def test_a_real_curator_selects_by_the_same_law() -> None:
    selection, entropy = ExponentialSelection(5, 3, 0.8), random.Random(2)
    values = np.array([0, 1, 0, 1, 1])
    law = selection.probabilities([2, 3, 0]).tolist()
    assert_law([selection.select(values, entropy) for _ in range(10_000)], dict(enumerate(law)))
    assert 0 <= selection.select(values) < 3


def test_many_users_overflow_nothing() -> None:
    found = ExponentialSelection(10**6, 3, 100.0).probabilities([10**6, 0, 0])
    assert found.tolist() == [1.0, 0.0, 0.0]


def test_all_users_take_part() -> None:
    with pytest.raises(ValueError, match=r"^values has shape \(2,\), but must have shape \(3,\)\.$"):
        ExponentialSelection(3, 3, 1.0).run([0, 1], np.random.default_rng(0))
    with pytest.raises(ValueError, match=r"^counts has shape \(2,\), but must have shape \(\.\.\., 3\)\.$"):
        ExponentialSelection(3, 3, 1.0).probabilities([1, 2])
