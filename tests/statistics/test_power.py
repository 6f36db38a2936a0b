import math

import numpy as np
import pytest
from scipy import stats

from dpverify.statistics.bounds.claim_test import claim_p_value
from dpverify.statistics.bounds.intervals import lower_limit
from dpverify.statistics.power import (
    event_power,
    faulty_event,
    g_test_power,
    least_other,
    smallest_detectable_epsilon,
    trials_for,
)
from tests.refusals import refused


@pytest.mark.long
@pytest.mark.parametrize(
    ("p", "q", "epsilon", "delta"), [(0.8, 0.1, 0.5, 0.0), (0.6, 0.05, 1.0, 0.1), (0.3, 0.3, 0.1, 0.0)]
)
@pytest.mark.parametrize("share", [0.5, 0.3])
def test_event_power_by_summing_over_all_outcomes(
    p: float, q: float, epsilon: float, delta: float, share: float
) -> None:
    trials, level = 60, 0.07
    counts = np.arange(trials + 1)
    p_values = claim_p_value(counts[:, None], counts[None, :], trials, epsilon, delta, share=share)
    masses = np.outer(stats.binom.pmf(counts, trials, p), stats.binom.pmf(counts, trials, q))
    power = masses[p_values <= level].sum()
    assert event_power(p, q, epsilon, delta, trials, level, share=share) == pytest.approx(power, abs=1e-9)


def test_claimed_080_true_084_is_decided_within_31000_draws() -> None:
    p, q = faulty_event(0.69, 0.31, 0.84, 0.0)
    assert math.log(p / q) == pytest.approx(0.84)
    assert event_power(p, q, 0.8, 0.0, 31_000, 0.05) >= 0.95
    needed = trials_for(lambda n: event_power(p, q, 0.8, 0.0, n, 0.05))
    assert 29_000 < needed <= 31_000
    assert 0.8 < smallest_detectable_epsilon(0.69, 0.31, 0.8, 0.0, 31_000, 0.05) <= 0.84


def test_the_smallest_fault_has_the_stated_power() -> None:
    p, q, claim, trials, level = 0.02, 0.005, (1.2, 1e-3), 20_000, 0.01
    smallest = smallest_detectable_epsilon(p, q, *claim, trials, level, power=0.9)
    assert event_power(*faulty_event(p, q, smallest, claim[1]), *claim, trials, level) >= 0.9
    assert event_power(*faulty_event(p, q, smallest * 0.999, claim[1]), *claim, trials, level) < 0.9
    assert smallest_detectable_epsilon(1e-5, 1e-6, 1.0, 1e-3, 1000, 0.01) == math.inf
    assert smallest_detectable_epsilon(0.4, 0.3, 1.0, 0.0, 10, 1e-9) == math.inf


def test_trials_for() -> None:
    def power_at(n: int) -> float:
        return 1.0 - 0.999**n

    needed = trials_for(power_at, 0.95)
    assert power_at(needed) >= 0.95
    assert power_at(int(needed * 0.98)) < 0.95
    assert trials_for(lambda n: 0.5, most=1000) is None


def test_g_test_power_of_two_cells_is_that_of_a_two_sided_z_test() -> None:
    shift, critical = math.sqrt(2 * 500 * (0.55 * math.log(1.1) + 0.45 * math.log(0.9))), stats.norm.isf(0.005)
    power = stats.norm.sf(critical - shift) + stats.norm.cdf(-critical - shift)
    assert g_test_power([0.5, 0.5], [0.55, 0.45], 500, 0.01) == pytest.approx(power, rel=1e-9)


def test_g_test_power_at_the_ends() -> None:
    assert g_test_power([0.5, 0.5], [0.5, 0.5], 100, 0.01) == 0.01
    assert g_test_power([0.5, 0.5, 0.0], [0.5, 0.4, 0.1], 10, 0.01) == pytest.approx(1 - 0.9**10)
    assert g_test_power([0.5, 0.5], [0.1, 0.9], 10_000, 0.01) == pytest.approx(1.0)


def test_the_least_share_of_others_is_seen_and_half_of_it_is_not() -> None:
    null, trials, level = np.array([0.999, 6e-4, 4e-4]), 20_000, 1e-3
    least = least_other(null, trials, level, 0.95)
    others, rng = np.array([0.0, 0.6, 0.4]), np.random.default_rng(2)
    critical = stats.chi2.isf(level, 2)
    for share, low, high in ((least, 0.95, 0.99), (least / 2.0, 0.0, 0.5)):
        counts = rng.multinomial(trials, (1.0 - share) * null + share * others, 2_000)
        with np.errstate(divide="ignore", invalid="ignore"):
            parts = np.where(counts > 0, counts * np.log(counts / (trials * null)), 0.0)
        assert low <= np.mean(2.0 * parts.sum(axis=1) > critical) <= high
    assert least_other([1.0], trials, level, 0.95) is None
    assert least_other([0.5, 0.5], 2, level, 0.95) is None


def test_bad_input() -> None:
    with refused("epsilon=9.0"):
        faulty_event(0.9, 0.8, 9.0, 0.0)
    with refused("p=1.2"):
        event_power(1.2, 0.1, 1.0, 0.0, 10, 0.1)
    with pytest.raises(ValueError, match=r"^null and alternative have shapes \(2,\) and \(1,\)"):
        g_test_power([0.5, 0.5], [1.0], 10, 0.1)


@pytest.mark.parametrize(("p", "q", "delta"), [(0.5, 0.15, 0.0), (0.02, 0.001, 1e-3), (0.9999, 0.3, 0.0)])
def test_event_power_of_many_trials_by_the_limits_of_every_count(p: float, q: float, delta: float) -> None:
    trials, level, epsilon = 1500, 0.01, 1.0
    x = np.arange(trials + 1)
    needed = np.minimum(1.0, (lower_limit(x, trials, level / 2) - delta) * math.exp(-epsilon))
    most = np.array([stats.binom.ppf(level / 2, trials, share) - 1 if share > 0 else -1 for share in needed])
    power = float(stats.binom.pmf(x, trials, p) @ np.where(most >= 0, stats.binom.cdf(most, trials, q), 0.0))
    assert event_power(p, q, epsilon, delta, trials, level) == pytest.approx(power, abs=1e-11)
