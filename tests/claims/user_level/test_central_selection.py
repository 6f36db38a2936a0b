"""The twin of the exponential mechanism against enumeration of all datasets."""

import itertools
import math
from collections.abc import Iterator

import numpy as np
import pytest
from mpmath import mp
from scipy import stats

from dpverify.changes import Full
from dpverify.claims.user_level.central_selection import ExponentialClaims
from dpverify.guarantee import ThreatModel
from dpverify.planning.account import account
from protocols.user_level.central_selection import ExponentialSelection

CLAIMS = ExponentialClaims()
CENTRAL = ThreatModel.CENTRAL


def neighbours(selection: ExponentialSelection) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the laws of all neighbouring datasets, in both directions."""
    n, k = selection.users, selection.candidates
    for counts in itertools.product(range(n + 1), repeat=k):
        if sum(counts) == n:
            for v, u in itertools.permutations(range(k), 2):
                if counts[v]:
                    moved = np.array(counts)
                    moved[v] -= 1
                    moved[u] += 1
                    yield selection.probabilities(counts), selection.probabilities(moved)


@pytest.mark.parametrize(("users", "candidates"), [(1, 2), (1, 4), (2, 3), (5, 2), (4, 4)])
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 6.0])
def test_the_largest_loss_is_that_of_all_datasets(users: int, candidates: int, epsilon: float) -> None:
    selection = ExponentialSelection(users, candidates, epsilon)
    worst = max(np.log(p / q).max() for p, q in neighbours(selection))
    found = CLAIMS.pure_epsilon(selection, CENTRAL)
    assert found.lower == pytest.approx(worst, rel=1e-12)
    assert found.width <= 1e-15 * epsilon
    assert found.upper < epsilon


@pytest.mark.parametrize(("users", "candidates"), [(1, 3), (3, 3), (6, 2)])
def test_the_curve_contains_the_worst_of_all_datasets(users: int, candidates: int) -> None:
    selection = ExponentialSelection(users, candidates, 1.4)
    curve = CLAIMS.curve(selection, Full(1), CENTRAL)
    for epsilon in (0.0, 0.3, 0.7, 1.2):
        worst = max(np.maximum(p - math.exp(epsilon) * q, 0).sum() for p, q in neighbours(selection))
        found = curve.delta(epsilon)
        assert found.lower <= worst + 1e-15
        assert worst <= found.upper
        if candidates == 2:
            assert found.lower == pytest.approx(worst, abs=1e-12)
    point = curve.epsilon(0.05)
    assert curve.delta(point.upper).lower <= 0.05
    assert point.lower == 0.0 or curve.delta(point.lower).lower > 0.05
    assert curve.epsilon(0.0).upper == CLAIMS.pure_epsilon(selection, CENTRAL).upper
    assert curve.delta(1.4).upper == 0.0


def test_the_upper_end_is_the_supremum_over_all_fractions() -> None:
    # Many users come arbitrarily near to it.
    curve = CLAIMS.curve(ExponentialSelection(400, 2, 1.0), Full(1), CENTRAL)
    for epsilon in (0.0, 0.4, 0.8):
        found = curve.delta(epsilon)
        assert found.upper == pytest.approx((1 - math.exp((epsilon - 1) / 2)) ** 2 / (1 - math.exp(-1)), rel=1e-12)
        assert found.width <= 0.15 * found.upper


@pytest.mark.long
@pytest.mark.parametrize("runs", [2, 3])
def test_many_runs_contain_every_choice_of_datasets(runs: int) -> None:
    selection = ExponentialSelection(3, 2, 1.1)
    pairs = list(neighbours(selection))
    curve = CLAIMS.curve(selection, Full(runs), CENTRAL, reference_delta=1e-2)
    for epsilon in (0.0, 0.8, 1.6):
        worst = 0.0
        for chosen in itertools.product(pairs, repeat=runs):
            p, q = (
                np.array([math.prod(each) for each in itertools.product(*side)]) for side in zip(*chosen, strict=True)
            )
            worst = max(worst, float(np.maximum(p - math.exp(epsilon) * q, 0).sum()))
        found = curve.delta(epsilon)
        assert found.lower <= worst <= found.upper


@pytest.mark.long
def test_days_of_selections_compose() -> None:
    selection = ExponentialSelection(3, 2, 1.1)
    # Other users' honesty does not matter, and days of several selections compose.
    assert account(selection, delta=1e-3, honest=1).epsilon == account(selection, delta=1e-3).epsilon
    mixed = account([(selection, 1), (ExponentialSelection(3, 2, 0.5), 2)], delta=1e-3).epsilon
    assert account(selection, delta=1e-3).epsilon.lower < mixed.upper <= 2.1
    # Losses in one range for each run: below what the largest loss alone allows.
    together = account(ExponentialSelection(31, 8, 1.0), instances=20, delta=1e-6).epsilon
    assert together.upper < 13.0


@pytest.mark.parametrize("epsilon", [1e-2, 1e-8, 1e-15, 1e-100, 1e-300])
def test_two_runs_of_hardly_any_loss_contain_the_truth(epsilon: float) -> None:
    # One user and two candidates: a report that is flipped, of loss epsilon / 2.
    delta = epsilon / 10
    found = account(ExponentialSelection(1, 2, epsilon), instances=2, delta=delta).epsilon
    with mp.workdps(700):
        flipped = 1 / (1 + mp.exp(mp.mpf(epsilon) / 2))
        truth = mp.log(((1 - flipped) ** 2 - mp.mpf(delta)) / flipped**2)
        assert mp.mpf(found.lower) <= truth <= mp.mpf(found.upper) <= (1.01 if epsilon > 1e-50 else 8) * truth


@pytest.mark.parametrize("users", [1, 4, 300])
@pytest.mark.parametrize("epsilon", [1e-3, 2.0, 60.0])
def test_the_lower_end_is_below_the_truth_in_more_digits(users: int, epsilon: float) -> None:
    curve = CLAIMS.curve(ExponentialSelection(users, 5, epsilon), Full(1), CENTRAL)
    with mp.workdps(60):
        grown = mp.exp(mp.mpf(epsilon) / 2)
        laws = []
        for leaving in range(1, users + 1):
            before, after = (
                [grown**v, grown ** (users - v), mp.mpf(3)] for v in (mp.mpf(leaving), mp.mpf(leaving - 1))
            )
            laws.append(([w / sum(before) for w in before], [w / sum(after) for w in after]))
        for at in (0.0, 0.3 * epsilon, 0.9 * epsilon):
            exact = max(sum(max(p - mp.exp(mp.mpf(at)) * q, 0) for p, q in zip(*pair, strict=True)) for pair in laws)
            found = curve.delta(at)
            assert mp.mpf(found.lower) <= exact <= mp.mpf(found.upper)
            assert found.lower >= exact * (1 - mp.mpf(10) ** -6) - mp.mpf(10) ** -12
        largest = max(mp.log(p[0] / q[0]) for p, q in laws)
        pure = CLAIMS.pure_epsilon(ExponentialSelection(users, 5, epsilon), CENTRAL)
        assert mp.mpf(pure.lower) <= largest <= mp.mpf(pure.upper)


def test_the_printed_upper_end_of_epsilon_holds_in_more_digits() -> None:
    curve = CLAIMS.curve(ExponentialSelection(50, 8, 1.0), Full(1), CENTRAL)
    for delta in (1e-9, 1e-3, 0.2):
        epsilon = mp.mpf(curve.epsilon(delta).upper)
        with mp.workdps(40):
            assert (1 - mp.exp((epsilon - 1) / 2)) ** 2 / (1 - mp.exp(-1)) <= mp.mpf(delta)


@pytest.mark.parametrize("share", [0.6, 0.9])
@pytest.mark.parametrize("candidates", [2, 5])
def test_the_failure_is_exact(share: float, candidates: int) -> None:
    selection = ExponentialSelection(7, candidates, 1.3)
    found = CLAIMS.plurality_failure(selection, 7, share)
    exact = 0.0
    for k in range(8):
        worst = max(
            1.0 - selection.probabilities([k, *others])[0]
            for others in itertools.product(range(8 - k), repeat=candidates - 1)
            if sum(others) == 7 - k
        )
        exact += stats.binom.pmf(k, 7, share) * worst
    assert found == pytest.approx(exact, rel=1e-8)
    assert found >= exact


def test_one_user_is_worth_half() -> None:
    assert CLAIMS.pure_epsilon(ExponentialSelection(1, 5, 1.0), CENTRAL).midpoint == pytest.approx(0.5)


def test_large_parameters_overflow_nothing() -> None:
    selection = ExponentialSelection(10**6, 100, 100.0)
    assert CLAIMS.pure_epsilon(selection, CENTRAL).upper == pytest.approx(100.0)
    found = CLAIMS.curve(ExponentialSelection(1000, 100, 100.0), Full(1), CENTRAL).epsilon(1e-6)
    assert 0.0 <= found.lower <= found.upper <= 100.0
