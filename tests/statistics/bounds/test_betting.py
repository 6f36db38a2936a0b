"""Bets against a claim, by hand and in the median."""

import math

import numpy as np
from numpy.testing import assert_allclose
from scipy import special, stats

from dpverify.laws import noise as laws
from dpverify.laws.discrete import DiscreteLaw
from dpverify.statistics.bounds.betting import Bets, kelly_bets, log_wealth
from dpverify.statistics.outputs.events import Events, likelihood_ratio_events
from tests.samples import FALSE_ALARM


def neighbours(epsilon: float) -> tuple[DiscreteLaw, DiscreteLaw]:
    """The discrete Laplace mechanism on neighbouring sums: pure epsilon-DP, attained in both directions."""
    zero = DiscreteLaw.from_integer_law(laws.discrete_laplace(epsilon, 1e-18))
    return DiscreteLaw(zero.points + 1, zero.pmf.copy(), zero.outside), zero


def wealth_of(bets: Bets, p: float, q: float, repetitions: int, checkpoints: np.ndarray, seed: int) -> np.ndarray:
    """Log wealth at checkpoints for one event and its complement, from multinomial counts of the four outcomes."""
    rng, grown = np.random.default_rng(seed), math.exp(bets.epsilon)
    cells = [(a, b) for a in (0, 1) for b in (0, 1)]
    gains = np.array([[a - grown * b, (1 - b) - grown * (1 - a)] for a, b in cells])
    steps = np.log1p(gains @ bets.fractions.T)
    masses = [(p if a else 1 - p) * (q if b else 1 - q) for a, b in cells]
    counts = np.cumsum([rng.multinomial(n, masses, repetitions) for n in np.diff(checkpoints, prepend=0)], axis=0)
    return special.logsumexp(counts @ steps, axis=-1, b=bets.weights)


def test_betting_decides_within_9000_pairs_in_the_median() -> None:
    bets = kelly_bets(likelihood_ratio_events(*neighbours(0.8), 0.8, 31_000), 0.8, 0.0, 0.84)
    true = 1.0 / (1.0 + math.exp(-0.84))
    wealth = wealth_of(bets, true, 1.0 - true, 4000, np.arange(100, 9001, 100), 35)
    assert np.mean(wealth.max(axis=0) >= math.log(20.0)) > 0.5


def test_betting_seldom_refutes_a_true_claim() -> None:
    bets = kelly_bets(likelihood_ratio_events(*neighbours(0.8), 0.8, 31_000), 0.8, 0.0, 0.84)
    true = 1.0 / (1.0 + math.exp(-0.8))
    wealth = wealth_of(bets, true, 1.0 - true, 4000, np.arange(100, 9001, 100), 36)
    alarms = np.count_nonzero(wealth.max(axis=0) >= math.log(20.0))
    assert alarms <= stats.binom.isf(FALSE_ALARM, 4000, 0.05)
    # The expected gain of one pair is not positive, exactly, for any claim that holds.
    assert true - math.exp(0.8) * (1 - true) <= 1e-15


def test_wealth_by_hand() -> None:
    events = Events(np.asarray, np.array([0.5]), np.array([True]), np.array([[0.6, 0.4]]))
    bets = Bets(events, np.array([[0.2], [0.1]]), np.array([0.25, 0.75]), math.log(2.0), 0.1)
    path = np.exp(log_wealth([1.0, 0.0], [0.0, 1.0], bets))
    after_one = [1 + 0.2 * 0.9, 1 + 0.1 * 0.9]
    after_two = [after_one[0] * (1 - 0.2 * 2.1), after_one[1] * (1 - 0.1 * 2.1)]
    assert_allclose(path, [np.dot([0.25, 0.75], after_one), np.dot([0.25, 0.75], after_two)], rtol=1e-12)
