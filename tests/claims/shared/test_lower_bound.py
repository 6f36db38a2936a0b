"""The lower bound of Theorem 9.2 against randomized response, enumeration, and its own constants."""

import itertools
import math

import numpy as np
import pytest
from scipy import special, stats

from dpverify.claims.local.randomized_response import RandomizedResponseMeanClaims
from dpverify.claims.shared import lower_bound
from dpverify.claims.shared.lower_bound import failure_probability, least_squared_error
from dpverify.papers.entries import stated
from protocols.local.randomized_response import RandomizedResponseMean
from tests.refusals import refused

LOWER_BOUND = stated("wang_lecture9/local_means", "lower_bound")

RESPONSE = RandomizedResponseMeanClaims()


@pytest.mark.parametrize("epsilon", [0.3, 1.0])
@pytest.mark.parametrize("users", [1, 2, 5])
def test_it_is_the_best_estimate_from_the_worst_transcript(users: int, epsilon: float) -> None:
    q = 1.0 / (1.0 + math.exp(epsilon))
    for radius in (0.0, 0.1, 0.26, 0.5):
        best = 0.0
        for chances in itertools.product((q, 0.5, 1.0 - q), repeat=users):
            law = np.ones(1)
            for chance in chances:
                law = np.convolve(law, [1.0 - chance, chance])
            width = math.floor(2.0 * radius * users + 1e-12) + 1
            best = max(best, max(law[k : k + width].sum() for k in range(users + 1)))
        found = failure_probability(users, epsilon, radius)
        assert 0.0 <= found <= 1.0 - best + 1e-12
        assert found == pytest.approx(1.0 - best, abs=1e-9)


@pytest.mark.parametrize("users", [3, 20, 200])
def test_randomized_response_errs_as_often_on_some_dataset(users: int) -> None:
    protocol = RandomizedResponseMean(1.0)
    for radius in (0.2 / math.sqrt(users), 1.0 / math.sqrt(users)):
        errs = 0.0
        for ones in {0, users // 2, users}:
            law = RESPONSE.estimate_law(protocol, np.arange(users) < ones)
            errs = max(errs, float(law.pmf[np.abs(law.points - ones / users) > radius].sum()))
        assert failure_probability(users, 1.0, radius) <= errs + 1e-9


def test_the_closed_bound_is_below_the_enumerated_one() -> None:
    for radius in (0.0, 0.003, 0.01):
        enumerated = failure_probability(512, 1.0, radius)
        assert 0.0 < failure_probability(513, 1.0, radius) <= enumerated


def test_the_constant_of_the_largest_probability() -> None:
    u = np.linspace(1e-3, 50.0, 200_001)
    peak = float((np.sqrt(u) * special.i0e(u)).max())
    assert peak == pytest.approx(0.46882, abs=1e-5)
    assert peak <= lower_bound._PEAK <= peak + 1e-4


def test_the_figures_of_theorem_9_2() -> None:
    assert failure_probability(10_000, 1.0, 0.1 / 100) == pytest.approx(0.7779, abs=1e-3)
    assert failure_probability(10_000, 1.0, 0.05 / 100) == pytest.approx(0.8837, abs=1e-3)
    deviation = RESPONSE.rmse(RandomizedResponseMean(1.0), 1)
    assert 1.0 - 2.0 * stats.norm.sf(0.1 / deviation) == pytest.approx(0.083, abs=5e-4)
    assert deviation**2 / least_squared_error(1, 1.0) == pytest.approx(4.68, abs=0.01)


def test_the_squared_error_is_above_the_bound() -> None:
    for epsilon in (0.01, 1.0, 10.0):
        least = least_squared_error(50, epsilon)
        assert least == pytest.approx(math.exp(epsilon) / (1.0 + math.exp(epsilon)) ** 2 / 50, rel=1e-12)
        assert least < RESPONSE.rmse(RandomizedResponseMean(epsilon), 50) ** 2


def test_theorem_9_2_is_of_pure_epsilon_up_to_one() -> None:
    (theorem,) = LOWER_BOUND
    assert theorem.failed_hypotheses(epsilon=1.0, delta=0.0, probability=0.99) == ()
    for epsilon, delta in ((1.1, 0.0), (1.0, 1e-9), (0.0, 0.0)):
        failed = theorem.failed_hypotheses(epsilon=epsilon, delta=delta, probability=0.99)
        assert [h.name for h in failed] == ["pure-and-at-most-one"]
    assert [h.name for h in theorem.failed_hypotheses(epsilon=1.0, delta=0.0, probability=1.0)] == [
        "constant-probability"
    ]
    # Item 2 of its proof: given the transcript a bit has a probability in [1/4, 3/4].
    assert 1.0 / (1.0 + math.e) > 0.25


def test_arguments_are_checked() -> None:
    with refused("users=0"):
        failure_probability(0, 1.0, 0.1)
    with refused("epsilon=0.0"):
        least_squared_error(3, 0.0)
    with refused("radius=-1.0"):
        failure_probability(3, 1.0, -1.0)
    assert failure_probability(3, 1.0, 0.5) == 0.0
