"""One body of each formula in all contexts, and what contexts promise."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import flint
import mpmath
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

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


@pytest.mark.parametrize(("start", "towards"), [(1.0, 0.0), (1e-9, 0.0), (0.25, 0.5)])
@pytest.mark.parametrize("needed", [1, 5, 10**6])
def test_nudging_ends_and_stays_within_twice_what_is_needed(start: float, towards: float, needed: int) -> None:
    found = nudged(lambda value: abs(value - start) >= needed * math.ulp(start), start, towards)
    assert needed <= abs(found - start) / math.ulp(start) <= 2 * needed


def test_nudging_where_nothing_is_accepted_is_an_error() -> None:
    assert nudged(lambda value: True, 0.3, 1.0) == 0.3
    with pytest.raises(ArithmeticError, match=r"no float from 0\.5 towards 0\.4"):
        nudged(lambda value: False, 0.5, 0.4)
