"""The claims about selection: the exact probability of a shortfall, by enumeration and by simulation."""

import itertools

import numpy as np
import pytest
from scipy import stats

from dpverify.claims.histogram import HistogramClaims
from dpverify.claims.selection import SelectionClaims
from dpverify.claims.shared.buckets import noise_tail, under_estimating
from dpverify.guarantee import Budget
from dpverify.planning.account import account
from protocols.histogram import Histogram
from protocols.selection import Selection
from tests.samples import FALSE_ALARM

CLAIMS = SelectionClaims()


@pytest.mark.parametrize("buckets", [2, 3])
@pytest.mark.parametrize("error", [0, 2])
def test_failure_probability_is_the_enumerated_one(buckets: int, error: int) -> None:
    pmf = stats.nbinom.pmf(np.arange(40), 2.0, 0.6)
    truth = sum(
        float(np.prod(pmf[list(noises)]))
        for noises in itertools.product(range(40), repeat=buckets)
        if noises[0] - min(noises[1:]) > error
    )
    protocol = Selection(under_estimating(10, 2.0, 0.4), buckets)
    assert CLAIMS.failure_probability(protocol, error) == pytest.approx(truth, rel=1e-8)


def test_some_dataset_attains_it_and_none_exceeds_it() -> None:
    rng, runs = np.random.default_rng(1), 40_000
    # The rivals of the last two have error + 1 users less than the largest, and are listed before it.
    for error, counts, attained in (
        (1, [4, 2, 4], False),
        (1, [1, 1, 8], False),
        (0, [2, 2, 3], True),
        (1, [2, 2, 4], True),
    ):
        protocol = Selection(under_estimating(sum(counts), 4.0, 0.5), 3)
        selected = protocol.analyze(protocol.sample_view(np.tile(counts, (runs, 1)), rng))
        failures = int((max(counts) - np.array(counts)[selected] > error).sum())
        bound = CLAIMS.failure_probability(protocol, error)
        side = "two-sided" if attained else "greater"
        assert stats.binomtest(failures, runs, bound, alternative=side).pvalue > FALSE_ALARM


def test_many_buckets_tend_to_the_lemma() -> None:
    few, many = (CLAIMS.failure_probability(Selection(under_estimating(10, 4.0, 0.5), b), 6) for b in (2, 10**6))
    lemma = noise_tail(4.0, 0.5, 6)
    assert few < many <= lemma * (1.0 + 1e-6)
    assert many == pytest.approx(lemma, rel=1e-6)
    # No count is short of another by all users or more.
    assert CLAIMS.failure_probability(Selection(under_estimating(10, 400.0, 0.9), 2), 10) == 0.0


def test_published_parameters_do_not_depend_on_the_users() -> None:
    protocol = CLAIMS.published(200, 10, 0.9, 1e-5, 0.05)
    assert isinstance(protocol, Selection)
    assert protocol.bitsum.shape == CLAIMS.published(20_000, 10, 0.9, 1e-5, 0.05).bitsum.shape
    assert account(protocol, epsilon=0.9).delta.upper <= 1e-5
    assert noise_tail(protocol.bitsum.shape, protocol.bitsum.p, int(CLAIMS.published_bound(protocol))) <= 0.05


def test_selection_errs_less_than_the_histogram() -> None:
    budget = Budget(0.9, 1e-4)
    best = CLAIMS.least_error(1000, 20, budget, 0.05)
    assert account(best, epsilon=0.9).delta.upper <= 1e-4
    same = Histogram(best.bitsum, 20)
    assert CLAIMS.error_bound(best, 0.05) < HistogramClaims().error_bound(same, 0.05)


@pytest.mark.parametrize("held", [(2, 2, 1), (0, 1, 4), (1, 2, 2)])
def test_the_law_of_the_selected_bucket_is_the_enumerated_one(held: tuple[int, ...]) -> None:
    protocol = Selection(under_estimating(5, 2.0, 0.3), 3)
    noises = np.array(list(itertools.product(range(22), repeat=3)))
    chances = np.prod(stats.nbinom.pmf(noises, 2.0, 0.7), axis=1)
    views = 5 - np.array(held) + noises
    truth = np.bincount(protocol.analyze(views), weights=chances, minlength=3)
    (law,) = CLAIMS.published_laws(protocol, held)
    np.testing.assert_allclose(law.probabilities(np.arange(3)), truth, atol=1e-8)
    counts = CLAIMS.count_laws(protocol, held)
    assert [int(each.points[0]) for each in counts] == [5 - users for users in held]


def test_what_no_majority_decides_is_charged_in_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SelectionClaims, "failure_probability", lambda *_: 0.0)
    left_out = stats.binom.cdf(4, 9, 0.6)
    assert left_out <= CLAIMS.plurality_failure(Selection(under_estimating(9, 2.0, 0.4), 3), 9, 0.6) <= left_out + 1e-8
