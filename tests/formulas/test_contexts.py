"""What contexts promise; that each formula keeps to it is tested with the formula."""

import math
from fractions import Fraction

import flint
import mpmath
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from dpverify.formulas.contexts import (
    FLOATS,
    SympyContext,
    UndecidedComparisonError,
    arb_context,
    check_range,
    less,
    lower_float,
    nudged,
    upper_float,
)


def test_decimal_strings_are_exact_in_every_exact_context() -> None:
    assert SympyContext().convert("0.2") == sympy.Rational(1, 5)
    with arb_context() as arb:
        assert (arb.convert("0.2") * 5 - 1).contains(0)
        assert not arb.convert("0.2").overlaps(flint.arb(0.2))


@given(st.floats(-80.0, 2.0), st.sampled_from([-1.0, 1.0]))
def test_floats_keep_their_digits_near_zero(exponent: float, sign: float) -> None:
    x = sign * math.exp(exponent)
    with mpmath.mp.workdps(60):
        assert abs(FLOATS.expm1(x) / mpmath.expm1(x) - 1) < 1e-15
        if x > -0.9:
            assert abs(FLOATS.log1p(x) / mpmath.log1p(x) - 1) < 1e-15


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
    tried: list[float] = []
    with pytest.raises(ArithmeticError, match="is accepted"):
        # Neither is the end passed where a step times the distance leaves the floats.
        nudged(lambda value: bool(tried.append(value)), 1e-222, 0.0)
    assert min(tried) >= 0.0
