from __future__ import annotations

import math

import pytest
from scipy import stats

from dpverify.statistics.bounds.one_run import one_run_p_value
from dpverify.statistics.bounds.one_run_curve import one_run_curve_p_value
from tests.statistics.bounds.test_one_run import worst


def gaussian(mu: float, epsilon: float) -> tuple[float, float]:
    """A point of the curve of Gaussian differential privacy."""
    below, above = stats.norm.cdf([mu / 2.0 - epsilon / mu, -mu / 2.0 - epsilon / mu])
    return epsilon, float(below - math.exp(epsilon) * above)


@pytest.mark.parametrize(("canaries", "guesses"), [(2, 1), (2, 2), (3, 3)])
def test_it_is_the_largest_over_all_mechanisms(canaries: int, guesses: int) -> None:
    claims = [gaussian(1.0, epsilon) for epsilon in (0.0, 0.5, 1.0)]
    for correct in range(1, guesses + 1):
        found = one_run_curve_p_value(correct, guesses, canaries, claims)
        assert found == pytest.approx(worst(canaries, guesses, correct, claims), abs=1e-6)


def test_a_curve_says_more_than_each_of_its_points() -> None:
    claims = [gaussian(1.0, 0.25 * step) for step in range(16)]
    alone = min(one_run_p_value(60, 60, 60, *claim) for claim in claims)
    together = one_run_curve_p_value(60, 60, 60, claims)
    assert together < alone / 2.0
    # A mechanism with the whole curve: independent Gaussian noise.
    assert together > stats.norm.cdf(0.5) ** 60


def test_one_point_and_no_guess_are_the_single_claim() -> None:
    assert one_run_curve_p_value(30, 40, 50, [(1.0, 1e-3)]) == one_run_p_value(30, 40, 50, 1.0, 1e-3)
    assert one_run_curve_p_value(0, 40, 50, [(1.0, 1e-3), (2.0, 0.0)]) == 1.0
    assert one_run_curve_p_value(40, 40, 50, [(1.0, 0.0), (800.0, 0.0)]) == one_run_p_value(40, 40, 50, 1.0)
    with pytest.raises(ValueError, match="claims is empty"):
        one_run_curve_p_value(1, 1, 1, [])


def test_pure_claims_are_not_weakened() -> None:
    claims = [(1.0, 0.0), (0.5, 0.2)]
    found = one_run_curve_p_value(35, 40, 40, claims)
    assert found <= one_run_p_value(35, 40, 40, 1.0)
