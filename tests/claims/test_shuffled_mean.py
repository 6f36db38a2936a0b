"""The twin of the shuffled mean, and Theorem 9.6."""

import math

import numpy as np
import pytest
from scipy import stats

from dpverify.claims.registry import claims_of
from dpverify.claims.shuffled_mean import ShuffledMeanClaims
from dpverify.formulas import FormulaRangeError
from dpverify.papers.entries import stated
from dpverify.planning.account import account
from protocols.bitsum import RandomizedResponse
from protocols.shuffled_mean import ShuffledMean
from tests.refusals import refused

SHUFFLED_MEAN = stated("wang_lecture9/shuffled_mean", "shuffled_mean")

CLAIMS = ShuffledMeanClaims()


@pytest.mark.long
def test_its_privacy_is_that_of_the_bitsum() -> None:
    mean, bitsum = ShuffledMean(500, 0.2), RandomizedResponse(500, 0.1)
    for kwargs in ({"delta": "1e-6"}, {"epsilon": "0.3"}, {"delta": 0}, {"delta": "1e-6", "honest": 200}):
        found, wanted = account(mean, instances=3, **kwargs), account(bitsum, instances=3, **kwargs)  # type: ignore[arg-type]
        assert (found.epsilon, found.delta, found.notes) == (wanted.epsilon, wanted.delta, wanted.notes)


@pytest.mark.parametrize(("n", "p"), [(1, 0.5), (7, 0.3), (40, 0.9)])
def test_the_expected_error_is_that_of_the_enumerated_sums(n: int, p: float) -> None:
    mean, worst = ShuffledMean(n, p), 0.0
    for ones in range(n + 1):
        kept = stats.binom.pmf(range(ones + 1), ones, 1 - p / 2)
        law = np.convolve(kept, stats.binom.pmf(range(n - ones + 1), n - ones, p / 2))
        exact = float(law @ np.abs((np.arange(n + 1) - n * p / 2) / (n * (1 - p)) - ones / n))
        found = CLAIMS.mean_absolute_error(mean, ones)
        assert found.lower - 1e-13 <= exact <= found.upper + 1e-13
        assert found.width <= 1e-9
        worst = max(worst, exact)
    assert CLAIMS.mean_absolute_error(mean).midpoint == pytest.approx(worst, rel=1e-9)


@pytest.mark.parametrize(("n", "p"), [(257, 0.3), (300, 0.01), (600, 0.9)])
def test_the_closed_bounds_hold_for_every_number_of_ones(n: int, p: float) -> None:
    mean = ShuffledMean(n, p)
    found = CLAIMS.mean_absolute_error(mean)
    every = [CLAIMS.mean_absolute_error(mean, ones) for ones in range(0, n + 1, 9)]
    assert found.lower <= max(each.upper for each in every)
    assert max(each.lower for each in every) <= found.upper
    assert found.lower == pytest.approx(every[0].midpoint, rel=1e-9)  # what no ones attain
    assert found.upper <= CLAIMS.rmse(mean) * (1.0 + 1e-12)


def test_the_enclosure_is_narrow_for_many_users() -> None:
    found = CLAIMS.mean_absolute_error(ShuffledMean(10**9, 0.01))
    assert found.width <= 1e-3 * found.upper


def test_the_parameter_with_constant_1_is_not_private() -> None:
    published = CLAIMS.published(30_000, 1.0, 1e-6)
    assert published.coin_probability == pytest.approx(math.log(1e6) / 30_000, rel=1e-12)
    assert account(published, delta="1e-6").epsilon.lower > 8.3
    assert account(published, epsilon=1).delta.lower == pytest.approx(0.0103, abs=1e-4)
    for factor, enough in ((4.91, False), (4.93, True)):
        p = factor * published.coin_probability
        assert (account(ShuffledMean(30_000, p), epsilon=1).delta.upper <= 1e-6) is enough


def test_the_parameter_is_not_always_a_probability() -> None:
    (theorem, *_) = SHUFFLED_MEAN
    assert theorem.failed_hypotheses(epsilon=0.1, delta=1e-6, n=1000) == ()
    with refused("coin_probability", FormulaRangeError):
        CLAIMS.published(1000, 0.1, 1e-6)


def test_the_hypotheses() -> None:
    failed = SHUFFLED_MEAN[0].failed_hypotheses
    assert [h.name for h in failed(epsilon=1.5, delta=1e-9, n=10)] == ["epsilon-up-to-one", "delta-not-too-small"]
    assert [h.name for h in failed(epsilon=0.5, delta=0.0, n=10)] == ["delta-not-too-small"]


def test_it_is_registered() -> None:
    assert isinstance(claims_of(ShuffledMean(3, 0.5)), ShuffledMeanClaims)
    assert CLAIMS.parameters(ShuffledMean(3, 0.5)) == {"coin_probability": 0.5}
