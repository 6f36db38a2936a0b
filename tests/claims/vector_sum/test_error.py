"""The exact error of the vector sum: by enumeration, by simulation, and beside what the source counts of it."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from dpverify.claims.vector_sum.privacy import VectorSumClaims
from dpverify.papers.theorem import Verdict
from protocols.vector_sum import VectorSum

CLAIMS = VectorSumClaims()
DIMENSION = 100


@pytest.mark.parametrize("centre", [0.0, 0.5, 0.8])
def test_worst_mse_is_the_maximum_over_inputs(centre: float) -> None:
    protocol = VectorSum(10, 3, 3, 0.3, sampled=2, stratified=True, centre=centre)
    values = np.linspace(0.0, 1.0, 3001)
    each = np.array([CLAIMS.mse(protocol, np.full((1, 3), value)) for value in values])
    assert CLAIMS.worst_mse(protocol) == pytest.approx(10 * each.max(axis=0).sum(), rel=1e-6)
    assert CLAIMS.worst_mse(protocol) >= 10 * each.max(axis=0).sum() * (1.0 - 1e-12)


@pytest.mark.parametrize("protocol", [VectorSum(1, 1, 2, 0.25), VectorSum(1, 1, 3, 0.5, centre=0.5)])
def test_mse_by_enumeration_of_one_report(protocol: VectorSum) -> None:
    """In rationals: she rounds to a level with mean x, and reports it or, with probability gamma, any level."""
    k, gamma = protocol.levels, Fraction(protocol.blanket_probability)
    for x in (Fraction(0), Fraction(1, 5), Fraction(1, 2), Fraction(7, 8), Fraction(1)):
        low = min(int(x * k), k - 1)
        rounded = {low: 1 - (x * k - low), low + 1: x * k - low}
        mean = square = Fraction(0)
        for level in range(k + 1):
            mass = (1 - gamma) * rounded.get(level, 0) + gamma / (k + 1)
            estimate = (Fraction(level, k) - gamma / 2) / (1 - gamma)
            mean, square = mean + mass * estimate, square + mass * (estimate - x) ** 2
        assert mean == x
        assert float(CLAIMS.mse(protocol, [[float(x)]])[0]) == pytest.approx(float(square), rel=1e-12, abs=1e-15)


def test_the_error_of_a_mean_is_in_the_unit_of_the_inputs() -> None:
    protocol = VectorSum(10, 3, 3, 0.3, sampled=2)
    corners = np.array(list(itertools.product([0.0, 0.5, 1.0], repeat=3)))
    worst = max(float(CLAIMS.mse(protocol, np.tile(corner, (10, 1))).sum()) for corner in corners)
    assert CLAIMS.rmse(protocol) >= math.sqrt(worst / 3) / 10
    assert CLAIMS.rmse(protocol) == pytest.approx(math.sqrt(CLAIMS.worst_mse(protocol) / 3) / 10, rel=1e-12)


def test_normalization_and_sampling_error() -> None:
    theorem = next(t for t in CLAIMS.theorems if t.name == "scott2022-theorem-4.6-normalization")
    assert theorem.verdict is Verdict.FAILS
    # No randomized response, x on a level: the source counts no error at all, the truth is d - 1 per user.
    protocol = VectorSum(9, DIMENSION, 1, 0.0)
    assert CLAIMS.sampled_mse(protocol, [1.0]) == 0.0
    assert CLAIMS.mse(protocol, np.ones((9, DIMENSION))) == pytest.approx(9 * (DIMENSION - 1))
    # For the mean of the coordinates that were sampled, t times as many reports divide the error by t.
    one, ten = (VectorSum(9, DIMENSION, 1, 0.5, sampled=t) for t in (1, 10))
    reports = [np.interp(1.0, [0, 1], CLAIMS._second_moments(p)) / p.inclusion_probability[0] for p in (one, ten)]
    assert reports[0] == pytest.approx(10.0 * reports[1])
    assert CLAIMS.sampled_mse(ten, [1.0]) == pytest.approx(10.0 * CLAIMS.sampled_mse(one, [1.0]))
