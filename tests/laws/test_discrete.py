import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from dpverify.laws import noise as laws
from dpverify.laws.discrete import DiscreteLaw
from tests.samples import assert_law

ROWS = DiscreteLaw.from_mapping({(0, 3): 0.25, (2, -1): 0.5, (2, 7): 0.25})
NUMBERS = DiscreteLaw.of([0.1 * 3, -2.5, 7.0, -2.5], [0.25, 0.25, 0.25, 0.25])


def test_equal_outcomes_are_joined() -> None:
    assert_array_equal(NUMBERS.points, [-2.5, 0.1 * 3, 7.0])
    assert_array_equal(NUMBERS.pmf, [0.5, 0.25, 0.25])
    assert NUMBERS.mean == pytest.approx(0.575)
    assert NUMBERS.variance == pytest.approx(0.5 * 3.075**2 + 0.25 * 0.275**2 + 0.25 * 6.425**2)


def test_samples_are_found_within_an_analyzers_rounding_only() -> None:
    assert_array_equal(
        NUMBERS.index([0.3, 7.0 + 1e-13, 7.0 + 1e-8, math.inf, math.nan, -2.5, -9]), [1, 2, -1, -1, -1, 0, -1]
    )
    assert_array_equal(ROWS.index([[2, 7], [0, 3], [0, 7], [2, 100], [-5, 3], [2, -1]]), [2, 0, -1, -1, -1, 1])
    assert_array_equal(ROWS.index(np.array([[2.0, 7.0], [2.0, 6.5]])), [2, -1])
    assert_array_equal(DiscreteLaw.from_mapping({5: 1.0}).index([5, 4]), [0, -1])


def test_counts_end_with_the_unlisted() -> None:
    assert_array_equal(ROWS.counts([[2, 7], [9, 9], [2, 7], [2, -1]]), [0, 1, 2, 1])
    assert_array_equal(ROWS.probabilities([[2, -1], [9, 9]]), [0.5, 0.0])


def test_samples_follow_the_law() -> None:
    drawn = ROWS.sample(20_000, np.random.default_rng(1))
    assert_law([tuple(row) for row in drawn.tolist()], {(0, 3): 0.25, (2, -1): 0.5, (2, 7): 0.25})


def test_an_image_adds_up_probabilities() -> None:
    squares = DiscreteLaw.from_integer_law(laws.discrete_laplace(1.0)).image(lambda z: z**2)
    assert_array_equal(squares.points[:3], [0, 1, 4])
    assert_allclose(squares.pmf[:2], [math.tanh(0.5), 2 * math.tanh(0.5) / math.e], rtol=1e-12)
    assert squares.outside <= 2e-60


@pytest.mark.parametrize(
    ("points", "pmf", "message"),
    [
        ([0, 1], [0.5, 0.4], r"^pmf sums to 0\.9, but must sum to 1 within outside=0\.0\.$"),
        ([0, 1], [1.5, -0.5], r"^pmf contains -0\.5, but must be non-negative\.$"),
        ([0], [0.5, 0.5], r"^points and pmf have 1 and 2 entries"),
        ([[0.5, 1.0]], [1.0], r"^points has dtype float64, but rows must hold integers\.$"),
        ([math.nan], [1.0], r"^points and pmf must be finite"),
    ],
)
def test_bad_laws_are_refused(points: list[object], pmf: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        DiscreteLaw.of(points, pmf)


def test_bad_samples_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^samples has shape \(3,\), but must have shape \(trials, 2\)\.$"):
        ROWS.index([1, 2, 3])
