import itertools
import math
import random
from collections.abc import Sequence

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.optimize import linprog

from dpverify.statistics.bounds import one_run
from dpverify.statistics.bounds.one_run import guesses_needed, one_run_epsilon, one_run_p_value, one_run_power


def worst(canaries: int, guesses: int, correct: int, claims: Sequence[tuple[float, float]]) -> float:
    """Return the largest probability of so many correct guesses over all mechanisms, by a program that lists them."""
    secrets = list(itertools.product((0, 1), repeat=canaries))
    outputs = [row for row in itertools.product((-1, 0, 1), repeat=canaries) if sum(g >= 0 for g in row) == guesses]
    pairs = [
        (a, b)
        for a, b in itertools.permutations(range(len(secrets)), 2)
        if sum(x != y for x, y in zip(secrets[a], secrets[b], strict=True)) == 1
    ]
    count = len(outputs)
    masses = len(secrets) * count
    objective = np.zeros(masses + len(pairs) * len(claims) * count)
    for (a, s), (k, t) in itertools.product(enumerate(secrets), enumerate(outputs)):
        if sum(x == y for x, y in zip(s, t, strict=True)) >= correct:
            objective[a * count + k] = -1.0 / len(secrets)
    rows, limits = [], []
    for at, ((a, b), (epsilon, delta)) in enumerate(itertools.product(pairs, claims)):
        # excess(t) >= P_a(t) - e^epsilon P_b(t), and together at most delta
        start = masses + at * count
        total = np.zeros(objective.size)
        total[start : start + count] = 1.0
        rows.append(total)
        limits.append(delta)
        for k in range(count):
            row = np.zeros(objective.size)
            row[[a * count + k, b * count + k, start + k]] = 1.0, -math.exp(epsilon), -1.0
            rows.append(row)
            limits.append(0.0)
    sums = np.zeros((len(secrets), objective.size))
    for a in range(len(secrets)):
        sums[a, a * count : (a + 1) * count] = 1.0
    solved = linprog(objective, A_ub=np.array(rows), b_ub=limits, A_eq=sums, b_eq=np.ones(len(secrets)))
    return -float(solved.fun)


@pytest.mark.parametrize(("canaries", "guesses"), [(1, 1), (2, 1), (2, 2), (3, 2), (3, 3)])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 0.1), (1.0, 0.02), (0.0, 0.05), (1.0, 0.0)])
def test_it_is_the_largest_over_all_mechanisms(canaries: int, guesses: int, epsilon: float, delta: float) -> None:
    for correct in range(1, guesses + 1):
        largest = worst(canaries, guesses, correct, [(epsilon, delta)])
        found = one_run_p_value(correct, guesses, canaries, epsilon, delta)
        assert largest - 1e-9 <= found <= largest + 1e-6 * largest


def tail(correct: int, guesses: int, epsilon: float) -> float:
    return float(stats.binom.sf(correct - 1, guesses, 1.0 / (1.0 + math.exp(-epsilon))))


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 60), st.data())
def test_it_lies_between_the_binomial_tail_and_the_published_bound(canaries: int, data: st.DataObject) -> None:
    guesses = data.draw(st.integers(1, canaries))
    correct = data.draw(st.integers(1, guesses))
    epsilon, delta = data.draw(st.floats(0.0, 6.0)), data.draw(st.floats(1e-9, 0.5))
    # steinke2023, Theorem 5.2
    law = stats.binom(guesses, 1.0 / (1.0 + math.exp(-epsilon)))
    steps = np.arange(1, canaries + 1)
    slope = 2.0 * float(np.max((law.cdf(correct - 1) - law.cdf(correct - steps - 1)) / steps))
    published = tail(correct, guesses, epsilon) + canaries * delta * slope
    found = one_run_p_value(correct, guesses, canaries, epsilon, delta)
    assert tail(correct, guesses, epsilon) <= found <= 1.0
    if published < 0.5:  # beyond, it can be below the truth: see the next test
        assert found <= published * (1.0 + 1e-6) + 1e-12
    assert found >= one_run_p_value(correct, guesses, canaries, epsilon, delta / 2.0) * (1.0 - 1e-6)


def test_the_published_bound_is_too_small_where_it_does_not_matter() -> None:
    # Guesses of two secrets: both wrong, either right, both right. Neighbouring secrets turn one guess around.
    wrong = (1.0 - 0.125 * (2.0 + math.e)) / (1.0 + 2.0 * math.e + math.e**2)
    one = 0.125 + math.e * wrong
    both = math.e * one
    assert wrong + 2.0 * one + both == pytest.approx(1.0)
    excess = [max(0.0, p - math.e * q) for p, q in ((both, one), (one, both), (one, wrong), (wrong, one))]
    assert sum(excess) <= 0.125 + 1e-12
    q = 1.0 / (1.0 + math.exp(-1.0))
    published = (1.0 - (1.0 - q) ** 2) + 2 * 0.125 * 2.0 * (1.0 - q) ** 2
    assert 1.0 - wrong > published + 0.006
    assert one_run_p_value(1, 2, 2, 1.0, 0.125) == pytest.approx(1.0 - wrong, abs=1e-6)


def test_a_published_secret_of_probability_delta_is_allowed() -> None:
    # All secrets published with probability delta, else nothing: (0, delta)-DP, and the bound must allow for it.
    for canaries in (20, 200):
        for delta in (0.01, 0.2):
            attained = delta + (1.0 - delta) * 0.5**canaries
            assert one_run_p_value(canaries, canaries, canaries, 0.0, delta) >= attained


def test_extreme_claims_give_a_probability() -> None:
    for epsilon, delta in itertools.product((0.0, 1e-12, 5.0, 39.0, 41.0, 800.0), (0.0, 1e-300, 1e-9, 0.5, 1.0)):
        for correct in (0, 1, 500, 1000):
            value = one_run_p_value(correct, 1000, 2000, epsilon, delta)
            assert tail(correct, 1000, epsilon) <= value <= 1.0


def test_the_lower_bound_is_where_the_p_value_meets_the_level() -> None:
    for correct, guesses, canaries, delta in ((85, 100, 100, 0.0), (85, 100, 400, 1e-5), (300, 400, 400, 1e-4)):
        bound = one_run_epsilon(correct, guesses, canaries, delta, 0.05)
        assert one_run_p_value(correct, guesses, canaries, bound, delta) <= 0.05
        assert one_run_p_value(correct, guesses, canaries, bound * 1.001, delta) > 0.05
    assert one_run_epsilon(50, 100, 100, 1e-5, 0.05) == 0.0
    assert one_run_epsilon(10**6, 10**6, 10**6, 0.0, 0.05) > 10.0


@pytest.mark.parametrize("delta", [0.0, 1e-4])
def test_false_alarms_at_the_boundary(delta: float) -> None:
    # Randomized response attains the claim; with delta = 0 the test must spend nearly all of its level on it.
    guesses, level = 400, 0.05
    needed = guesses_needed(guesses, guesses, 1.0, delta, level)
    spent = tail(needed, guesses, 1.0)
    assert spent <= level
    assert one_run_p_value(needed - 1, guesses, guesses, 1.0, delta) > level
    if delta == 0.0:
        assert tail(needed - 1, guesses, 1.0) > level
    assert one_run_power(guesses, needed, 1.0 / (1.0 + math.exp(-1.0))) == pytest.approx(spent)


def test_too_few_guesses_refute_nothing() -> None:
    assert guesses_needed(3, 3, 1.0, 0.0, 0.05) is None
    assert guesses_needed(0, 3, 1.0, 0.0, 0.05) is None
    assert one_run_power(3, None, 1.0) == 0.0
    assert one_run_p_value(0, 0, 3, 1.0) == 1.0


def test_bad_arguments_are_named() -> None:
    for arguments, name in (((2, 1, 3, 1.0), "correct"), ((1, 4, 3, 1.0), "guesses"), ((0, 0, 0, 1.0), "canaries")):
        with pytest.raises(ValueError, match=name):
            one_run_p_value(*arguments)
    with pytest.raises(ValueError, match="epsilon"):
        one_run_p_value(1, 1, 1, -1.0)


def below_the_truth() -> int:
    """Return how many values of the bound are below what it is of, at the x that it takes, in 60 digits."""
    rng, found = random.Random(1), 0
    for _ in range(150):
        guesses = rng.randint(2, 12)
        correct, epsilon, delta = rng.randint(1, guesses), rng.uniform(0.1, 3.0), 10.0 ** -rng.uniform(1, 9)
        canaries = guesses * rng.choice((1, 10**6))
        floor = np.array([10.0 ** -rng.uniform(0, 6) for _ in range(8)])
        bounds = one_run._dual_bounds(correct, guesses, canaries, epsilon, delta, floor)
        for at, value in enumerate(floor):
            x, grown = [0.0] * (guesses + 2), math.exp(epsilon)
            for j in range(guesses, 0, -1):
                x[j] = max(float(j >= correct) + grown * (guesses - j) * x[j + 1] - float(value), 0.0) / j
            with mpmath.workdps(60):
                power = mpmath.exp(mpmath.mpf(epsilon))
                rows = range(guesses + 1)
                mu = max((j >= correct) - j * mpmath.mpf(x[j]) + power * (guesses - j) * x[j + 1] for j in rows)
                found += bool(float(bounds[at]) < max(mu, 0) + canaries * mpmath.mpf(delta) * max(x))
    return found


def test_rounding_is_charged(monkeypatch: pytest.MonkeyPatch) -> None:
    assert below_the_truth() == 0
    monkeypatch.setattr(one_run, "UNIT", 0.0)
    assert below_the_truth() > 0
