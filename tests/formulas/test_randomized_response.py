"""Formulas for randomized response."""

from __future__ import annotations

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpverify.formulas import randomized_response as rr

EPSILON0, DELTA0, USERS = 0.0134, 6.5e-10, 30_000


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
