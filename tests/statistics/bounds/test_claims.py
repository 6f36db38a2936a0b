"""Claims as families of (epsilon, delta): every mechanism at the edge keeps them, and hardly anything more does."""

import math
from collections.abc import Callable

import mpmath
import numpy as np
import pytest
from scipy import stats

from dpverify.statistics.bounds.claims import CurveClaim, GaussianDP, TradeOffCurve, most_likely

OTHER = (1e-7, 0.01, 0.2, 0.45, 0.9, 0.999)
Keeps = Callable[[mpmath.mpf, mpmath.mpf], bool]


def edge(keeps: Keeps, q: float) -> float:
    """Return the largest p that keeps a claim with q, from below."""
    low, high = mpmath.mpf(q), mpmath.mpf(1)
    for _ in range(24):
        middle = mpmath.sqrt(low * high)
        low, high = (middle, high) if keeps(middle, mpmath.mpf(q)) else (low, middle)
    return float(low) * (1 - 1e-12)


def assert_touching(claim: CurveClaim, keeps: Keeps) -> None:
    """Assert that no coin at the edge of a claim breaks a half plane, in 30 digits, and that none is farther away."""
    with mpmath.workdps(30):
        edges = [edge(keeps, q) for q in OTHER]
        for p, q in zip(edges, OTHER, strict=True):
            for a, b in ((p, q), (1 - q, 1 - p)):
                assert all(a - mpmath.exp(epsilon) * b <= delta for epsilon, delta in claim.points)
                assert all(a - math.exp(epsilon) * b <= claim.delta(epsilon) for epsilon in (0.0, 0.1, 1.0, 3.0, 9.0))
    allowed = most_likely(claim.points, OTHER)
    assert (allowed >= edges).all()
    np.testing.assert_allclose(allowed, edges, rtol=5e-3)
    np.testing.assert_allclose(claim.shown(edges, OTHER), claim.claimed, rtol=5e-3)


@pytest.mark.parametrize("mu", [0.3, 2.5])
def test_a_shifted_normal_variable_keeps_its_claim_and_touches_it(mu: float) -> None:
    def quantile(q: mpmath.mpf) -> mpmath.mpf:
        return mpmath.findroot(lambda z: mpmath.log(mpmath.ncdf(z)) - mpmath.log(q), stats.norm.ppf(float(q)))

    assert_touching(GaussianDP(mu), lambda p, q: bool(mpmath.ncdf(quantile(q) + mpmath.mpf(mu)) >= p))


def test_a_curve_is_the_known_one() -> None:
    for mu, epsilon in ((1.0, 0.0), (1.0, 1.0), (0.2, 2.0), (5.0, 30.0)):
        with mpmath.workdps(40):
            exact = mpmath.ncdf(mu / 2 - epsilon / mpmath.mpf(mu)) - mpmath.exp(epsilon) * mpmath.ncdf(
                -mu / 2 - epsilon / mpmath.mpf(mu)
            )
        assert exact <= GaussianDP(mu).delta(epsilon) <= exact * (1 + 1e-9) + 1e-15


def test_a_tradeoff_function_makes_the_same_claim() -> None:
    def gaussian(rate: float) -> float:
        return float(stats.norm.cdf(stats.norm.isf(rate) - 1.0))

    curve = TradeOffCurve.of(gaussian)
    for epsilon in (0.0, 0.5, 1.0, 2.0, 4.0):
        assert GaussianDP(1.0).delta(epsilon) <= curve.delta(epsilon) <= 1.003 * GaussianDP(1.0).delta(epsilon)
    # Of pure privacy two straight lines: nothing is lost but in the cell where they meet.
    straight = TradeOffCurve.of(lambda rate: max(0.0, 1 - math.e * rate, (1 - rate) / math.e))
    assert most_likely(straight.points, [0.01, 0.1, 0.5]) == pytest.approx(
        [math.e / 100, math.e / 10, 1 - 0.5 / math.e]
    )
    assert straight.shown([0.3], [0.1]) == pytest.approx([math.log(3)])
    with pytest.raises(ValueError, match="convex"):
        TradeOffCurve.of(lambda rate: 1 - rate**2)


def test_points_hold_together() -> None:
    curve = TradeOffCurve([(1.0, 1e-5), (0.5, 0.1)])
    assert curve.points == ((0.5, 0.1), (1.0, 1e-5))
    assert curve.delta(1.0) == pytest.approx(1e-5)
    assert curve.delta(0.7) == pytest.approx(
        0.1 + (math.exp(0.7) - math.exp(0.5)) / (math.e - math.exp(0.5)) * -0.09999
    )
    assert most_likely(curve.points, 0.4) == pytest.approx(min(0.1 + 0.4 * math.exp(0.5), 1 - math.exp(-0.5) * 0.5))
    # ln((0.5 - 0.1) / 0.2) / 0.5 and ln(0.5 / 0.2) / 1
    assert curve.shown([0.5], [0.2]) == pytest.approx([2 * math.log(2)])
    assert curve.shown([0.0, 0.5, 0.1], [0.0, 0.0, 0.9]).tolist() == [0.0, math.inf, 0.0]


def test_what_is_no_claim_is_refused() -> None:
    for wrong in (0, -1, math.nan):
        with pytest.raises(ValueError, match="must be"):
            GaussianDP(wrong)
    for points in ([], [(-1, 0)], [(1, 2)]):
        with pytest.raises(ValueError, match="must"):
            TradeOffCurve(points)
