"""Formulas for randomized response."""

from fractions import Fraction

import mpmath
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from dpverify.formulas.contexts import SympyContext
from dpverify.formulas.protocols import randomized_response as rr
from tests.formulas.agreement import assert_refused

EPSILON0, DELTA0, USERS = 0.0134, 6.5e-10, 30_000


def test_branches_of_lemma_4_8_meet_with_equal_slope() -> None:
    ctx = SympyContext()
    epsilon0, n, delta0 = sympy.Symbol("epsilon0", positive=True), sympy.Symbol("n", positive=True), sympy.exp(-5)
    large, small = (branch(ctx, epsilon0, delta0, n) for branch in (rr.large_epsilon_branch, rr.small_epsilon_branch))
    at = {epsilon0: rr.branch_point(ctx, delta0, n)}
    for left, right in ((large, small), (large.diff(epsilon0), small.diff(epsilon0))):
        assert sympy.simplify((left - right).subs(at)) == 0
    assert sympy.simplify(large.subs(at)) == sympy.Rational(1, 6)


def test_rmse_by_brute_force() -> None:
    # The law of a sum of n reports, one user at a time.
    n, ones, p = 7, 3, Fraction(1, 5)
    law = {0: Fraction(1)}
    for user in range(n):
        one = 1 - p if user < ones else p
        law = {s: law.get(s, 0) * (1 - one) + law.get(s - 1, 0) * one for s in range(user + 2)}
    square_error = sum(mass * ((s - n * p) / (1 - 2 * p) - ones) ** 2 for s, mass in law.items())
    assert float(square_error) ** 0.5 == pytest.approx(rr.rmse(mpmath.fp, n, p), rel=1e-12)


@pytest.mark.parametrize("factor", [0.999, 1.001])
def test_flip_probability_takes_the_branch_of_its_side(factor: float) -> None:
    epsilon0 = factor * rr.branch_point(mpmath.fp, DELTA0, USERS)
    branch = rr.large_epsilon_branch if factor > 1 else rr.small_epsilon_branch
    p = rr.flip_probability(mpmath.fp, epsilon0, DELTA0, USERS)
    assert p == branch(mpmath.fp, epsilon0, DELTA0, USERS)
    assert (p < 1 / 6) == (factor > 1)


def test_flip_probability_of_the_running_example() -> None:
    p = rr.flip_probability(mpmath.fp, EPSILON0, DELTA0, USERS)
    assert p == pytest.approx(0.48823984, abs=1e-8)
    assert rr.rmse(mpmath.fp, USERS, p) == pytest.approx(3681.01, abs=0.01)
    met = {hypothesis.name: hypothesis.holds(EPSILON0, DELTA0, USERS) for hypothesis in rr.HYPOTHESES}
    assert met == {"epsilon0-below-one": True, "delta0-is-a-probability": True, "enough-users": False}


@given(st.integers(1, 10**9), st.floats(0.0, 0.49))
def test_rmse_of_rr_inverts(n: int, p: float) -> None:
    assert rr.flip_probability_at_rmse(mpmath.fp, n, rr.rmse(mpmath.fp, n, p)) == pytest.approx(p, rel=1e-9, abs=1e-300)


def test_a_flip_probability_of_one_half_is_refused() -> None:
    assert_refused(
        lambda: rr.flip_probability(mpmath.fp, 1e-30, 0.1, 10),
        "epsilon0=1e-30 at delta0=0.1 needs a flip probability of 0.5, which must be in (0, 0.5).",
    )
