"""The claims about the histogram: two changed buckets enumerated, the error simulated, the proof's steps checked."""

import itertools
import math

import mpmath
import numpy as np
import pytest
from scipy import stats

from dpverify.claims.bitsum.poisson import PoissonClaims
from dpverify.claims.histogram import HistogramClaims
from dpverify.claims.selection import SelectionClaims
from dpverify.claims.shared.buckets import BucketAccount, least_shape, noise_tail, under_estimating
from dpverify.formulas import FormulaRangeError
from dpverify.guarantee import Budget
from dpverify.planning.account import account
from protocols.bitsum.negative_binomial import Estimate
from protocols.bitsum.poisson import Poisson
from protocols.histogram import Histogram
from protocols.selection import Selection
from tests.refusals import refused

CLAIMS = HistogramClaims()


def test_many_runs_compose_as_many_of_either_bucket() -> None:
    protocol = Histogram(under_estimating(50, 20.0, 0.85), 7)
    one, two = (account(protocol, instances=runs, delta=1e-4) for runs in (1, 2))
    assert one.epsilon.upper < two.epsilon.lower < two.epsilon.upper < 2.0 * one.epsilon.upper
    assert two.epsilon.width < 1e-3 * two.epsilon.upper
    # Against the enumerated divergence of two independent copies of either bucket.
    pmf = stats.nbinom.pmf(np.arange(320), 20.0, 0.15)
    still, moved = np.append(pmf, 0.0), np.append(0.0, pmf)
    both = (moved > 0.0) & (still > 0.0)  # what only one law has is below 1e-16
    up = np.log(moved[both]) - np.log(still[both])
    loss, mass = np.add.outer(up, -up).ravel(), np.outer(moved[both], still[both]).ravel()
    loss, mass = loss[mass > 1e-17], mass[mass > 1e-17]
    order = np.argsort(loss)
    loss, above = loss[order], np.cumsum(mass[order][::-1])[::-1]
    below = np.cumsum((mass[order] * np.exp(-loss))[::-1])[::-1]
    epsilon = two.epsilon.upper
    place = np.searchsorted(loss, epsilon - loss)
    p_above, q_above = np.append(above, 0.0)[place], np.append(below, 0.0)[place]
    truth = float(np.sum(mass[order] * np.maximum(p_above - np.exp(epsilon - loss) * q_above, 0.0)))
    assert truth == pytest.approx(1e-4, rel=2e-3)


def test_account_says_what_a_histogram_is() -> None:
    found = account(Histogram(under_estimating(50, 20.0, 0.85), 7), epsilon=1)
    assert (found.name, found.users) == ("histogram", 50)
    assert found.parameters == {"shape": 20.0, "p": 0.85, "buckets": 7}
    assert found.delta.upper == BucketAccount(20.0, 0.85).delta(1.0).upper
    assert account(Histogram(under_estimating(50, 20.0, 0.85), 7), delta=0).epsilon.lower == math.inf


def test_error_bound_is_the_quantile() -> None:
    protocol = Histogram(under_estimating(500, 10.0, 0.8), 30)
    alpha = CLAIMS.error_bound(protocol, 0.05)
    assert CLAIMS.failure_probability(protocol, alpha) <= 0.05 < CLAIMS.failure_probability(protocol, alpha - 1)
    assert CLAIMS.error_bound(Histogram(under_estimating(500, 10.0, 0.0), 30), 0.05) == 0


@pytest.mark.parametrize(("epsilon", "delta", "beta"), [(0.99, 1e-6, 0.05), (0.3, 1e-3, 0.09)])
def test_published_parameters_are_private_and_wasteful(epsilon: float, delta: float, beta: float) -> None:
    protocol = CLAIMS.published(200, 10, epsilon, delta, beta)
    noise = protocol.bitsum
    assert noise.shape == math.ceil(1000 * (1 + math.log(200 / beta * 2 / delta)))
    assert account(protocol, epsilon=epsilon).delta.upper <= delta
    # Lemma 37's error bound, bucket by bucket, at its own failure probability.
    assert noise_tail(noise.shape, noise.p, math.floor(CLAIMS.published_bound(protocol))) <= beta / 200
    assert least_shape(Budget(epsilon, delta), noise.p) < noise.shape / 500.0


def test_least_error_beats_the_published_decay() -> None:
    budget = Budget(0.9, 1e-4)
    best = CLAIMS.least_error(1000, 20, budget, 0.05)
    assert account(best, epsilon=0.9).delta.upper <= 1e-4
    p = math.exp(-0.1 * 0.9)
    ready_made = Histogram(under_estimating(1000, least_shape(budget, p), p), 20)
    assert CLAIMS.error_bound(best, 0.05) < CLAIMS.error_bound(ready_made, 0.05)


def test_formulas_refuse_what_they_do_not_cover() -> None:
    with refused("epsilon0=1.0", FormulaRangeError):
        CLAIMS.published(100, 5, 2.0, 1e-6, 0.05)
    with pytest.raises(TypeError, match=r"must be NegativeBinomial"):
        CLAIMS.published_bound(Histogram(Poisson(5, 1.0, estimate=Estimate.UNDER), 2))
    with refused("error=-1"):
        CLAIMS.failure_probability(Histogram(Poisson(5, 1.0, estimate=Estimate.UNDER), 2), -1)


@pytest.mark.long
@pytest.mark.parametrize("mean", [0.0, 1e-3, 2.5, 40.0])
@pytest.mark.parametrize("buckets", [2, 3])
def test_errors_under_poisson_noise_are_those_of_the_worst_dataset(mean: float, buckets: int) -> None:
    # Every dataset of six users, in 50 digits.
    with mpmath.workdps(50):
        masses = [mpmath.exp(-mean) * mpmath.mpf(mean) ** z / mpmath.factorial(z) for z in range(400)]
    noise = Poisson(6, mean, estimate=Estimate.UNDER)
    every = [counts for counts in itertools.product(range(7), repeat=buckets) if sum(counts) == 6]
    for error in range(7):
        with mpmath.workdps(50):
            above = mpmath.fsum(masses[error + 1 :])
            worst = max(1 - (1 - above) ** sum(count > error for count in counts) for counts in every)
            # The selection's fullest bucket has a noise of y, and some rival one of y - error - 1 or less.
            tails = [mpmath.fsum(masses[max(y - error, 0) :]) for y in range(400)]
            short = mpmath.fsum(masses[y] * (1 - tails[y] ** (buckets - 1)) for y in range(error + 1, 400))
        found = CLAIMS.failure_probability(Histogram(noise, buckets), error)
        assert worst <= found <= worst * (1 + 1e-11)
        selected = SelectionClaims().failure_probability(Selection(noise, buckets), error)
        assert (short if error < 6 else 0) <= selected <= (short if error < 6 else 0) * (1 + 1e-8) + 1e-14
    alpha = CLAIMS.error_bound(Histogram(noise, buckets), 1e-3)
    assert CLAIMS.failure_probability(Histogram(noise, buckets), alpha) <= 1e-3


def test_poisson_noise_is_exceeded_as_often_as_by_the_incomplete_gamma_function() -> None:
    claims = PoissonClaims()
    for mean, above in ((5.0, 120), (300.0, 250), (300.0, 700), (1e6, 999_000), (1e6, 10**6), (1e6, 1_030_000)):
        with mpmath.workdps(60):
            truth = mpmath.gammainc(above + 1, 0, mean, regularized=True)
        found = claims.noise_above(Poisson(9, mean, estimate=Estimate.UNDER), above)
        assert truth <= found <= truth * (1 + 1e-10)
    assert claims.noise_above(Poisson(9, 1e6, estimate=Estimate.UNDER), 10) == 1.0


def test_any_single_noise_is_accounted() -> None:
    # Refused, though it runs: two counts, one up and one down, with exact sums of Poisson masses.
    protocol, mean, epsilon = Histogram(Poisson(5, 12.0, estimate=Estimate.UNDER), 3), 12.0, 0.7
    masses = [math.exp(-mean) * mean**z / math.factorial(z) for z in range(80)]
    moved = [0.0, *masses[:-1]]
    either = [(moved[i] * masses[j], masses[i] * moved[j]) for i in range(80) for j in range(80)]
    exact = sum(max(first - math.exp(epsilon) * second, 0.0) for first, second in either)
    found = account(protocol, epsilon=epsilon).delta
    assert found.lower == pytest.approx(exact, rel=1e-9)
    assert found.upper == pytest.approx(exact, rel=1e-9)
    twice = account(protocol, instances=2, delta=1e-3).epsilon
    assert account(protocol, delta=1e-3).epsilon.upper < twice.lower <= twice.upper < twice.lower * (1.0 + 1e-4)
    assert CLAIMS.parameters(protocol) == {"mean": mean, "buckets": 3}
    assert CLAIMS.rmse(protocol) == pytest.approx(math.sqrt(mean + mean**2))


# ---------------------------------------------------------------------- the steps of Corollary 40
