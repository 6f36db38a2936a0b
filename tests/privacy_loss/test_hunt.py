"""Short hunts, the same cases each time; `python -m benchmarks.violations` runs long ones."""

from fractions import Fraction

import numpy as np
import pytest
from flint import arb

from dpverify.certificates.rationals import compose_rational
from dpverify.guarantee import Interval
from dpverify.privacy_loss.losses.pairs import binomial_randomized_response, mixed_reports
from protocols.bitsum import RandomizedResponse
from protocols.lsq import LaplacianBinning
from tests.claims.kde.densities import account_kde
from tests.privacy_loss import hunt_compositions
from tests.privacy_loss.balls import divergence, misses, power, product, rational_balls, report_pair
from tests.privacy_loss.hunt import KINDS, both, violations

CASES = 100


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.filterwarnings("error")
def test_no_interval_misses_the_truth(kind: str) -> None:
    lines = [line for case in range(CASES) for line in violations(np.random.default_rng((5, case)), kind)]
    assert len(lines) > CASES
    assert not [line for line in lines if line]


@pytest.mark.filterwarnings("error")
def test_no_composition_misses_the_truth() -> None:
    lines = [line for case in range(60) for line in hunt_compositions.violations(np.random.default_rng((5, case)))]
    assert len({what for what, _ in lines}) == 5
    assert not [line for _, line in lines if line]


def test_the_balls_are_those_of_exact_rationals() -> None:
    for case in range(15):
        pairs, copies = hunt_compositions.draw(np.random.default_rng((6, case)))
        copies = [min(count, 2) for count in copies]
        found = product([power(rational_balls(pair), count) for pair, count in zip(pairs, copies, strict=True)])
        for epsilon in (-0.5, 0.0, 1.25):
            exact, truth = compose_rational(pairs, copies, Fraction(epsilon)), divergence(found, epsilon)
            for end in exact:
                # The ball is so narrow that the exact ends lie within a hair of it.
                assert abs(arb(float(end)) - truth) <= 1e-15 * truth + arb("1e-300")


def test_a_miss_is_one_that_is_certain() -> None:
    assert misses(Interval(0.25, 0.5), arb("0.51"))
    assert misses(Interval(0.25, 0.5), arb("0.24"))
    assert not misses(Interval(0.25, 0.5), arb("0.51", "0.02"))
    assert not misses(Interval(0.25, 0.5), arb(0.25))


@pytest.mark.parametrize("p", [1e-8, 1e-13])
def test_a_rare_flip_keeps_its_probability(p: float) -> None:
    """Bin(k, 1-p) at the rounded 1-p flips with a probability that is off by 1e-16 / p, relatively."""
    for question in both(mixed_reports(3, 1, p), report_pair(p, 1, 1), "mixed"):
        for epsilon in (17.725, *question.losses):
            assert not misses(question.found(epsilon), question.truth(epsilon))


@pytest.mark.long
def test_rare_flips_in_a_density_estimate() -> None:
    found = account_kde(RandomizedResponse(2, 1e-12), LaplacianBinning(1, 1.0, 4), 1, epsilon=25.83926064670049).delta
    assert found.lower <= 0.25000025 <= found.upper
    assert found.lower > 0.2499


@pytest.mark.parametrize("p", [1e-12, 1e-100, 1e-250])
def test_rare_flips_do_not_cost_the_width(p: float) -> None:
    for pair in (*binomial_randomized_response(5, p), *mixed_reports(5, 2, p)):
        for epsilon in (0.0, 20.0, pair.largest_loss - 1.0):
            assert pair.delta(epsilon).width <= 1e-11 * pair.delta(epsilon).upper + 1e-30
