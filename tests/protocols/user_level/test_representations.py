"""The classes are what they are called, and draws hold hypotheses for them."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from protocols.user_level.representations import DecisionLists, FiniteClass, HashedPoints, Repeated, Thresholds


def test_thresholds() -> None:
    assert_array_equal(Thresholds(3).concepts, [[1, 1, 1], [0, 1, 1], [0, 0, 1], [0, 0, 0]])
    assert Thresholds(3).hypotheses == 4


def written_out(variables: int) -> set[tuple[int, ...]]:
    """Evaluate all decision lists, rule by rule."""
    points = list(itertools.product((0, 1), repeat=variables))
    points = sorted(points, key=lambda bits: sum(bit << i for i, bit in enumerate(bits)))
    found = set()
    for length in range(variables + 1):
        for order in itertools.permutations(range(variables), length):
            for asked in itertools.product((0, 1), repeat=length):
                for labels in itertools.product((0, 1), repeat=length + 1):

                    def value(bits: tuple[int, ...], order=order, asked=asked, labels=labels) -> int:
                        hits = [label for i, v, label in zip(order, asked, labels, strict=False) if bits[i] == v]
                        return hits[0] if hits else labels[-1]

                    found.add(tuple(value(bits) for bits in points))
    return found


@pytest.mark.parametrize("variables", [1, 2, 3])
def test_decision_lists_are_those_that_can_be_written(variables: int) -> None:
    rows = [tuple(row) for row in DecisionLists(variables).concepts.tolist()]
    assert len(rows) == len(set(rows))
    assert set(rows) == written_out(variables)


def test_points_of_bits() -> None:
    assert_array_equal(DecisionLists(3).encode([[1, 0, 0], [0, 1, 1]]), [1, 6])
    assert DecisionLists(3).features == 3


def test_hashed_points_have_a_bucket_each() -> None:
    table = HashedPoints(1000, 7).draw(np.random.default_rng(1))
    assert table.shape == (7, 1000)
    assert (table.sum(axis=0) == 1).all()
    # Binomial(1000, 1/7) beyond 7 standard deviations.
    assert (np.abs(table.sum(axis=1) - 1000 / 7) < 78).all()


def test_copies_are_drawn_independently() -> None:
    twice = Repeated(HashedPoints(50, 4), 2)
    table = twice.draw(np.random.default_rng(2))
    assert table.shape == (8, 50) == (twice.hypotheses, twice.domain)
    assert (table[:4] != table[4:]).any()
    assert_array_equal(twice.concepts, np.eye(50))
    assert_array_equal(twice.encode([[3], [49]]), [3, 49])
    assert Repeated(DecisionLists(2), 3).features == 2


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (np.zeros((0, 3)), r"^table has shape \(0, 3\), but must have shape \(concepts, domain\) with one or more"),
        (np.zeros((3, 0)), r"^table has shape \(3, 0\)"),
        ([0, 1], r"^table has shape \(2,\)"),
        ([[0, 2]], r"^table contains 2, but must hold labels 0 and 1\.$"),
        ([[0, np.nan]], r"^table contains nan"),
        ([[0, 1], [0, 1]], r"^table has 2 rows, but no two of them may be equal\.$"),
    ],
)
def test_a_class_is_checked(table: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        FiniteClass(table)


@pytest.mark.parametrize("X", [[[3]], [[-1]], [[0.5]], [[np.nan]], [[0, 1]], [0], [["a"]]])
def test_points_are_checked(X: object) -> None:
    with pytest.raises(ValueError, match=r"^X.* must .*\.$"):
        Thresholds(3).encode(X)


def test_a_class_represents_itself() -> None:
    own = FiniteClass([[0, 1], [1, 1]])
    for whole in (own, Thresholds(4), DecisionLists(2)):
        assert_array_equal(whole.draw(np.random.default_rng(3)), whole.concepts)
        assert whole.hypotheses == len(whole.concepts)
