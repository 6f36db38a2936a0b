"""One body, four number systems: they must agree, and an Arb ball must contain what mpmath computes."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
import sympy

from dpverify.formulas import FormulaRangeError
from dpverify.formulas import composition as comp
from dpverify.formulas import randomized_response as rr
from dpverify.formulas import three_nb as nb
from dpverify.formulas.contexts import (
    SympyContext,
)


def test_branches_of_lemma_4_8_meet_with_equal_slope() -> None:
    ctx = SympyContext()
    epsilon0, n, delta0 = sympy.Symbol("epsilon0", positive=True), sympy.Symbol("n", positive=True), sympy.exp(-5)
    large, small = (branch(ctx, epsilon0, delta0, n) for branch in (rr.large_epsilon_branch, rr.small_epsilon_branch))
    at = {epsilon0: rr.branch_point(ctx, delta0, n)}
    for left, right in ((large, small), (large.diff(epsilon0), small.diff(epsilon0))):
        assert sympy.simplify((left - right).subs(at)) == 0
    assert sympy.simplify(large.subs(at)) == sympy.Rational(1, 6)


def test_moments_against_brute_force_laws() -> None:
    # RR: the law of a sum of n reports, one user at a time. 3NB: the pmf of Z1 convolved with that of -Z2.
    n, ones, p = 7, 3, Fraction(1, 5)
    law = {0: Fraction(1)}
    for user in range(n):
        one = 1 - p if user < ones else p
        law = {s: law.get(s, 0) * (1 - one) + law.get(s - 1, 0) * one for s in range(user + 2)}
    square_error = sum(mass * ((s - n * p) / (1 - 2 * p) - ones) ** 2 for s, mass in law.items())
    assert float(square_error) ** 0.5 == pytest.approx(rr.rmse(mpmath.fp, n, p), rel=1e-12)

    q, shape, size = 0.6, 2.5, 400
    pmf = np.ones(size)
    for z in range(1, size):
        pmf[z] = pmf[z - 1] * q * (z + shape - 1) / z
    pmf *= (1 - q) ** shape
    difference = np.convolve(pmf, pmf[::-1])
    values = np.arange(-size + 1, size)
    assert math.sqrt(difference @ values**2) == pytest.approx(nb.rmse(mpmath.fp, q, shape), rel=1e-10)
    mean = pmf @ np.arange(size)
    messages = nb.expected_messages_per_user(mpmath.fp, 10, q, shape, q, 0.5, shape)
    assert messages == pytest.approx(0.5 + 4 * mean / 10, rel=1e-10)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: rr.flip_probability(mpmath.fp, 1.0, 0.1, 10), r"epsilon0=1\.0 must be in \(0, 1\)"),
        (lambda: rr.flip_probability(mpmath.fp, 0.5, 1.5, 10), r"delta0=1\.5 must be in \(0, 1\)"),
        (lambda: rr.flip_probability(mpmath.fp, 0.5, 0.1, 0), r"n=0\.0 must be in \[1, inf\)"),
        (lambda: rr.flip_probability(mpmath.fp, 1e-30, 0.1, 10), r"flip_probability=0\.5 must be in \(0, 0\.5\)"),
        (lambda: rr.rmse(mpmath.fp, 10, 0.5), r"p=0\.5 must be in \[0, 0\.5\)"),
        (lambda: nb.noise_p(mpmath.fp, 0), r"epsilon0=0\.0 must be in \(0, inf\)"),
        (lambda: nb.flood_p(mpmath.fp, 1, 0.1, -1), r"c=-1\.0 must be in \(0, inf\)"),
        (lambda: nb.rmse(mpmath.fp, 1), r"p=1\.0 must be in \[0, 1\)"),
        (lambda: comp.advanced(mpmath.fp, 0.1, 0.0, 5, 1, 0.0), r"delta_slack=0\.0 must be in \(0, 1\)"),
        (lambda: comp.optimal_slack(mpmath.fp, 0.1, -1, 5), r"epsilon=-1\.0 must be in \[0, inf\)"),
    ],
)
def test_no_number_where_the_formula_means_nothing(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(FormulaRangeError, match=message):
        call()
