"""False alarms of tests on small counts, by enumeration of all outcomes: no p-value comes oftener than it says.

Each factor of a union bound is needed: with one taken away some p-value would come oftener.
"""

import itertools
import math
from collections.abc import Iterable, Iterator

import numpy as np
import pytest
from scipy import stats

from dpverify.laws.discrete import DiscreteLaw
from dpverify.statistics.bounds.claim_test import claim_p_value, event_limits
from dpverify.statistics.instances import Sides
from dpverify.statistics.users import forgetful_users, quiet_users


def most_excess(outcomes: Iterable[tuple[float, float]]) -> float:
    """Return the largest P(p-value <= a) / a over all a below 1, from p-values and their probabilities."""
    pairs = sorted(outcomes)
    levels, masses = (np.array(column) for column in zip(*pairs, strict=True))
    last = np.append(levels[1:] != levels[:-1], True) & (levels < 1.0)
    assert math.fsum(masses) == pytest.approx(1.0)
    return float((np.cumsum(masses) / levels)[last].max())


def binomials(runs: int, *chances: float) -> Iterator[tuple[tuple[int, ...], float]]:
    """Yield all counts of independent events, with their probabilities."""
    laws = [stats.binom.pmf(np.arange(runs + 1), runs, chance) for chance in chances]
    for counts in itertools.product(range(runs + 1), repeat=len(chances)):
        yield counts, math.prod(law[count] for law, count in zip(laws, counts, strict=True))


@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 0.0), (0.7, 0.0), (0.7, 0.1), (2.0, 0.02)])
def test_a_claim_that_just_holds(epsilon: float, delta: float) -> None:
    trials, worst = 9, 0.0
    for q in np.linspace(0.02, (1.0 - delta) * math.exp(-epsilon), 15):
        # What the claim allows the event, and its complement the other way round.
        most = min(math.exp(epsilon) * q + delta, 1.0 - math.exp(-epsilon) * (1.0 - q - delta))
        for p in (min(1.0, math.exp(epsilon) * q + delta), most):
            outcomes = list(binomials(trials, p, q))
            x, y = np.array([found for found, _ in outcomes]).T
            masses = [mass for _, mass in outcomes]
            p_values = claim_p_value(x, y, trials, epsilon, delta)
            worst = max(worst, most_excess(zip(p_values.tolist(), masses, strict=True)))
    assert 0.3 < worst <= 1.0 + 1e-9


def test_the_limits_of_all_events_together() -> None:
    # What each side costs at its worst, over all events: at most the level, and near it, so that no part is left out.
    trials, level, upper, shares = 60, 0.2, 0.05, np.array([0.5, 0.3, 0.2])
    counts = np.arange(trials + 1)
    for shared, sides in (((0.1, 0.3, 0.6), (upper, 1.0)), ((0.1, 0.3, 0.6), (None, 1.0))):
        spent = np.zeros(2)
        for event in range(3):
            found = [
                event_limits(
                    np.full(3, count),
                    np.full(3, count),
                    trials,
                    level,
                    shares,
                    upper=sides[0],
                    upper_shares=shared if sides[0] else None,
                ).part(slice(event, event + 1))
                for count in counts
            ]
            for side, (above, below) in enumerate((("p_lower", "q_upper"), ("q_lower", "p_upper"))):
                low, high = (np.array([getattr(one, name)[0] for one in found]) for name in (above, below))
                chances = np.linspace(0.001, 0.999, 700)
                pmf = stats.binom.pmf(counts, trials, chances[:, np.newaxis])
                spent[side] += ((low > chances[:, np.newaxis]) * pmf).sum(axis=1).max()
                spent[side] += ((high < chances[:, np.newaxis]) * pmf).sum(axis=1).max()
        levels = np.array([level, sides[0] or level])
        assert (spent <= levels).all()
        assert (spent > 0.8 * levels).all()


COIN, TILTED = DiscreteLaw.of([0, 1], [0.5, 0.5]), DiscreteLaw.of([-1, 0, 1], [0.3, 0.45, 0.25])


def test_instances_by_themselves() -> None:
    laws = [COIN, TILTED]
    outcomes = []
    for drawn in itertools.product(itertools.product(*(range(law.atoms) for law in laws)), repeat=4):
        rows = np.array([[law.points[at] for law, at in zip(laws, run, strict=True)] for run in drawn])
        mass = math.prod(law.pmf[at] for run in drawn for law, at in zip(laws, run, strict=True))
        counts = Sides(laws)
        counts.update(rows)
        outcomes.append((counts.single().p_value, mass))
    # Four comparisons, of which a coin's distance from its mean tells nothing.
    assert 0.3 < most_excess(outcomes) <= 1.0 + 1e-9


@pytest.mark.long
def test_pairs_of_instances() -> None:
    outcomes = []
    for drawn in itertools.product((0, 1), repeat=12):
        counts = Sides([COIN] * 3)
        counts.update(np.array(drawn).reshape(4, 3))
        outcomes.append((counts.tied().p_value, 2.0**-12))
    assert 0.6 < most_excess(outcomes) <= 1.0 + 1e-9


def test_users_without_noise() -> None:
    law = DiscreteLaw.of([0, 1], [0.5, 0.5])
    outcomes = []
    for zeros, mass in binomials(8, 0.5, 0.5, 0.5):
        pieces = np.array([[int(run >= count) for count in zeros] for run in range(8)])
        outcomes.append((quiet_users(pieces, law, 0.01, 0.95).p_value, mass))
    assert 0.9 < most_excess(outcomes) <= 1.0 + 1e-9


@pytest.mark.long
@pytest.mark.parametrize(("runs", "users", "chance"), [(10, 1, 0.5), (10, 1, 0.3), (5, 2, 0.5)])
def test_users_with_a_memory(runs: int, users: int, chance: float) -> None:
    outcomes = []
    for drawn in itertools.product((0, 1), repeat=runs * users):
        mass = chance ** sum(drawn) * (1.0 - chance) ** (runs * users - sum(drawn))
        outcomes.append((forgetful_users(np.array(drawn).reshape(runs, users)).p_value, mass))
    assert most_excess([*outcomes, (0.99, 0.0)]) <= 1.0 + 1e-9


def test_every_user_and_lag_is_charged_for() -> None:
    # Copies of one user are seen as she is, at as many times the price, and twice that for the next user's pieces.
    pieces = np.repeat(np.random.default_rng(0).integers(0, 2, 40), 5)[:, np.newaxis]
    alone, five = (forgetful_users(np.repeat(pieces, users, axis=1)).p_value for users in (1, 5))
    assert 0.0 < alone < 1e-3
    assert five / alone == pytest.approx(10.0)
