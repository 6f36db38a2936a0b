"""One body, four number systems: they must agree, and an Arb ball must contain what mpmath computes."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import flint
import mpmath
import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from dpverify.formulas import FormulaRangeError
from dpverify.formulas import composition as comp
from dpverify.formulas import randomized_response as rr
from dpverify.formulas import three_nb as nb
from dpverify.formulas.contexts import (
    SympyContext,
    UndecidedComparisonError,
    arb_context,
    check_range,
    less,
    lower_float,
    nudged,
    upper_float,
)

EPSILON0, DELTA0, USERS = 0.0134, 6.5e-10, 30_000

# Each formula with symbols' names and values: a float value is the same binary number in every context.
FORMULAS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "rr.large_epsilon_branch": (rr.large_epsilon_branch, {"epsilon0": 0.9, "delta0": DELTA0, "n": USERS}),
    "rr.small_epsilon_branch": (rr.small_epsilon_branch, {"epsilon0": EPSILON0, "delta0": DELTA0, "n": USERS}),
    "rr.rmse": (rr.rmse, {"n": USERS, "p": 0.1}),
    "rr.flip_probability_at_rmse": (rr.flip_probability_at_rmse, {"n": USERS, "error": 3600.0}),
    "nb.noise_p": (nb.noise_p, {"epsilon0": EPSILON0}),
    "nb.flood_shape": (nb.flood_shape, {"epsilon0": EPSILON0, "delta0": DELTA0}),
    "nb.flood_p": (nb.flood_p, {"epsilon0": EPSILON0, "delta0": DELTA0, "c": 0.2}),
    "nb.rmse": (nb.rmse, {"p": 0.98, "shape": 1.5}),
    "nb.expected_messages_per_user": (
        nb.expected_messages_per_user,
        {"n": USERS, "p": 0.9, "flood_shape": 70.0, "flood_p": 0.99, "fraction_of_ones": 0.25, "shape": 1.5},
    ),
    "comp.advanced": (
        lambda ctx, **kw: comp.advanced(ctx, kw["epsilon0"], kw["delta0"], 768, 2, kw["slack"])[0],
        {"epsilon0": EPSILON0, "delta0": DELTA0, "slack": 5e-7},
    ),
    "comp.optimal_slack": (
        lambda ctx, **kw: comp.optimal_slack(ctx, kw["epsilon0"], kw["epsilon"], 7),
        {"epsilon0": 0.3, "epsilon": 0.4},
    ),
    "comp.optimal_delta": (
        lambda ctx, **kw: comp.optimal_delta(ctx, kw["delta0"], kw["slack"], 7),
        {"delta0": 1e-3, "slack": 1e-2},
    ),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_every_context_gives_the_same_number(name: str) -> None:
    formula, arguments = FORMULAS[name]
    with arb_context(200) as arb:
        ball = formula(arb, **arguments)
        ends = [tuple(map(int, end.man_exp())) for end in (ball.lower(), ball.upper())]
    with mpmath.mp.workdps(90):
        precise = formula(mpmath.mp, **arguments)
        low, high = (mpmath.ldexp(*end) for end in ends)
        assert low <= precise <= high
        assert high - low < mpmath.mpf(10) ** -35 * abs(precise)
    assert formula(mpmath.fp, **arguments) == pytest.approx(float(precise), rel=1e-12)
    symbols = {key: sympy.Symbol(key, positive=True) for key in arguments}
    expression = formula(SympyContext(), **symbols)
    numeric = sympy.lambdify(list(symbols.values()), expression, "mpmath")
    with mpmath.mp.workdps(60):
        assert abs(numeric(*(mpmath.mpf(value) for value in arguments.values())) / precise - 1) < mpmath.mpf(10) ** -50


def test_decimal_strings_are_exact_in_every_exact_context() -> None:
    assert SympyContext().convert("0.2") == sympy.Rational(1, 5)
    with arb_context() as arb:
        assert (arb.convert("0.2") * 5 - 1).contains(0)
        assert not arb.convert("0.2").overlaps(flint.arb(0.2))


@given(st.fractions(min_value=-(10**12), max_value=10**12))
def test_floats_around_a_ball_are_the_tightest(value: Fraction) -> None:
    with arb_context(400) as arb:
        low, high = lower_float(arb.convert(value)), upper_float(arb.convert(value))
    assert Fraction(low) <= value <= Fraction(high)
    assert high <= math.nextafter(low, math.inf)


def test_a_comparison_is_certain_or_refused() -> None:
    ball = flint.arb(1, 0.5)
    assert less(ball, 2)
    assert not less(ball, 0)
    for a, b in ((ball, 1), (sympy.Symbol("x"), 1), (math.nan, 1.0)):
        with pytest.raises(UndecidedComparisonError, match="cannot be decided"):
            less(a, b)
    with pytest.raises(UndecidedComparisonError):
        check_range("p", ball, low=0, high=1)


def test_branches_of_lemma_4_8_meet_with_equal_slope() -> None:
    ctx = SympyContext()
    epsilon0, n, delta0 = sympy.Symbol("epsilon0", positive=True), sympy.Symbol("n", positive=True), sympy.exp(-5)
    large, small = (branch(ctx, epsilon0, delta0, n) for branch in (rr.large_epsilon_branch, rr.small_epsilon_branch))
    at = {epsilon0: rr.branch_point(ctx, delta0, n)}
    for left, right in ((large, small), (large.diff(epsilon0), small.diff(epsilon0))):
        assert sympy.simplify((left - right).subs(at)) == 0
    assert sympy.simplify(large.subs(at)) == sympy.Rational(1, 6)


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


@pytest.mark.parametrize("mechanisms", range(1, 7))
def test_optimal_composition_is_the_extremal_product(mechanisms: int) -> None:
    # The extremal (eps0, delta0)-DP pair: a revealing outcome of mass delta0, else randomized response (kairouz2015).
    odds, delta0 = Fraction(3, 2), Fraction(1, 10)
    truth, lie = (1 - delta0) * odds / (1 + odds), (1 - delta0) / (1 + odds)
    pair = [(delta0, Fraction(0)), (truth, lie), (lie, truth), (Fraction(0), delta0)]
    product = [(Fraction(1), Fraction(1))]
    for _ in range(mechanisms):
        product = [(p * x, q * y) for p, q in product for x, y in pair]
    for ratio in (Fraction(1), Fraction(5, 4), odds, Fraction(2), odds**2, Fraction(10)):
        exact = sum(max(p - ratio * q, 0) for p, q in product)
        with arb_context() as ctx:
            slack = comp.optimal_slack(ctx, ctx.log(ctx.convert(odds)), ctx.log(ctx.convert(ratio)), mechanisms)
            delta = comp.optimal_delta(ctx, delta0, slack.nonnegative_part(), mechanisms)
            assert (delta - ctx.convert(exact)).contains(0)
            assert delta.rad() < 1e-30


@pytest.mark.parametrize(("start", "towards"), [(1.0, 0.0), (1e-9, 0.0), (0.25, 0.5)])
@pytest.mark.parametrize("needed", [1, 5, 10**6])
def test_nudging_ends_and_stays_within_twice_what_is_needed(start: float, towards: float, needed: int) -> None:
    found = nudged(lambda value: abs(value - start) >= needed * math.ulp(start), start, towards)
    assert needed <= abs(found - start) / math.ulp(start) <= 2 * needed


def test_nudging_where_nothing_is_accepted_is_an_error() -> None:
    assert nudged(lambda value: True, 0.3, 1.0) == 0.3
    with pytest.raises(ArithmeticError, match=r"no float from 0\.5 towards 0\.4"):
        nudged(lambda value: False, 0.5, 0.4)
