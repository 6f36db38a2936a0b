import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from dpverify.laws import noise as laws
from dpverify.laws.discrete import DiscreteLaw
from dpverify.statistics.conformance import choose_bins, g_statistic, g_test, with_unlisted
from dpverify.statistics.power import g_test_power
from tests.samples import FALSE_ALARM


def noise(epsilon: float) -> DiscreteLaw:
    return DiscreteLaw.from_integer_law(laws.discrete_laplace(epsilon, 1e-18))


def test_bins_part_the_outcomes_and_expect_enough() -> None:
    for trials, most in ((100, 12), (1000, 30), (7, 4)):
        bins = choose_bins(noise(0.5), trials, most=most)
        assert_array_equal(np.unique(bins.cells), np.arange(bins.cells.max() + 1))
        assert (np.diff(bins.cells) >= 0).all()
        assert bins.probabilities.sum() == pytest.approx(1.0)
        assert (trials * bins.probabilities >= 5.0).all()
        assert bins.probabilities.size <= most
    tails = choose_bins(noise(0.01), 10**6).probabilities[[0, -1]]
    assert_allclose(tails, np.sin(np.pi / 24) ** 2, rtol=0.02)


def test_bins_can_follow_another_order() -> None:
    bins = choose_bins(noise(0.5), 1000, order=np.abs(noise(0.5).points))
    assert_array_equal(bins.cells, bins.cells[::-1])


def test_the_level_of_the_g_test_is_exact() -> None:
    # With 99 simulations and no ties, P(p <= k / 100) = k / 100 for every k up to 20, however few the trials; beyond,
    # simulating stops early, and P(p <= 1 / 2) = P(the first 40 have 19 at most) = 20 / 41.
    bins, audits = choose_bins(noise(0.3), 40, most=8), 3000
    rng = np.random.default_rng(21)
    samples = noise(0.3).sample(40 * audits, rng).reshape(audits, 40)
    p_values = np.array([g_test(sample, bins, rng, simulations=99).p_value for sample in samples])
    for level in (0.05, 0.1, 0.5):
        low, high = stats.binom.ppf(FALSE_ALARM / 6, audits, level), stats.binom.isf(FALSE_ALARM / 6, audits, level)
        # Ties of the discrete statistic only make p larger.
        assert 0.8 * low <= np.count_nonzero(p_values <= level + 1e-12) <= high


def test_an_unlisted_outcome_refutes_at_once() -> None:
    sample = np.append(noise(1.0).sample(100, np.random.default_rng(2)), 0.5)
    assert g_test(sample, choose_bins(noise(1.0), 101), np.random.default_rng(3)).p_value < 1e-12


@pytest.mark.parametrize(("error", "draws"), [(0.1, 4500), (-0.1, 4500), (0.05, 17_000), (-0.05, 17_000)])
@pytest.mark.parametrize("epsilon", [0.05, 1.0])
def test_scale_errors_are_caught(error: float, draws: int, epsilon: float) -> None:
    null, fault = noise(epsilon), noise(epsilon / (1.0 + error))
    bins = choose_bins(null, draws)
    p0, p1 = bins.probabilities, bins.probabilities_under(fault)
    rng = np.random.default_rng(6)
    critical = np.quantile(g_statistic(rng.multinomial(draws, p0, 40_000), p0), 0.99)
    power = float(np.mean(g_statistic(rng.multinomial(draws, p1, 10_000), p0) > critical))
    assert power > 0.96
    assert power == pytest.approx(g_test_power(p0, p1, draws, 0.01), abs=0.015)


def test_an_outcome_that_is_not_listed_is_paid_for_whether_it_comes_or_not() -> None:
    assert with_unlisted(0.01, 0, 100, 1e-3) == pytest.approx(0.11)
    assert with_unlisted(0.01, 1, 100, 1e-3) == pytest.approx(0.1)
