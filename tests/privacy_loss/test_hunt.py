"""A short hunt, the same cases each time; `python -m benchmarks.pair_violations` runs a long one."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dpverify.privacy_loss.pairs import binomial_randomized_response, mixed_reports
from protocols.bitsum import RandomizedResponse
from protocols.lsq import LaplacianBinning
from tests.claims.kde.densities import account_kde
from tests.privacy_loss.hunt import KINDS, both, hunt, reports

CASES = 100


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.filterwarnings("error")
def test_no_interval_misses_the_truth(kind: str) -> None:
    lines = [line for *_, line in hunt(CASES, seed=5, kinds=[kind])]
    assert len(lines) > CASES
    assert not [line for line in lines if line]


@pytest.mark.parametrize("p", [1e-8, 1e-13])
def test_a_rare_flip_keeps_its_probability(p: float) -> None:
    """Bin(k, 1-p) at the rounded 1-p flips with a probability that is off by 1e-16 / p, relatively."""
    q = Fraction(p)
    exact = reports(1 - q, q, 1 - q), reports(1 - q, q, q)
    for question in both(mixed_reports(3, 1, p), exact, "mixed"):
        for epsilon in (17.725, *question.losses):
            lower, upper = question.truth(epsilon)
            found = question.found(epsilon)
            assert found.lower <= upper
            assert lower <= found.upper


def test_rare_flips_in_a_density_estimate() -> None:
    found = account_kde(RandomizedResponse(2, 1e-12), LaplacianBinning(1, 1.0, 4), 1, epsilon=25.83926064670049).delta
    assert found.lower <= 0.25000025 <= found.upper
    assert found.lower > 0.2499


@pytest.mark.parametrize("p", [1e-12, 1e-100, 1e-250])
def test_rare_flips_do_not_cost_the_width(p: float) -> None:
    for pair in (*binomial_randomized_response(5, p), *mixed_reports(5, 2, p)):
        for epsilon in (0.0, 20.0, pair.largest_loss - 1.0):
            assert pair.delta(epsilon).width <= 1e-11 * pair.delta(epsilon).upper + 1e-30
