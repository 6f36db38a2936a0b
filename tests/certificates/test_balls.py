"""Exact numbers as balls, and back."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from flint import arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st

from dpverify.certificates.balls import as_ball, as_rational, check_number
from tests.refusals import refused


@settings(max_examples=40)
@given(st.fractions() | st.floats(allow_nan=False, allow_infinity=False) | st.integers())
def test_a_ball_holds_its_number(number: Any) -> None:
    ball = as_ball(number)
    assert as_rational(ball.lower()) <= Fraction(number) <= as_rational(ball.upper())
    assert as_rational(ball.upper() - ball.lower()) <= abs(Fraction(number)) / 2**50


def test_what_fits_is_exact_and_texts_are_decimals() -> None:
    with ctx.workprec(64):
        for number in (0, -3, 0.1, 2.0**-1074, 2.0**900):
            assert as_rational(as_ball(number)) == Fraction(number)
        for text in ("0.1", Decimal("0.1"), "1/10"):
            assert not as_ball(text).is_exact()
            assert (as_ball(text) * 10 - 1).contains(0)
        assert not as_ball("0.1").overlaps(as_ball(0.1))
    assert as_rational(arb(0)) == 0


@pytest.mark.parametrize("value", [1, 0.5, "1e-3", "1/3", Decimal("0.2"), Fraction(1, 7)])
def test_every_kind_of_number_is_taken(value: Any) -> None:
    check_number("x", value, 0, 2)


def test_what_is_no_number_or_outside_is_named() -> None:
    for bad in (True, None, [1], 1j, arb(1)):
        with refused("x", TypeError):
            check_number("x", bad)
    for bad in (0, "0", 2.0, math.inf, math.nan, "nan", "x", "1/0", Decimal("inf"), "-1"):
        with pytest.raises(ValueError, match=r"^x=") as caught:
            check_number("x", bad, 0, 2)
        assert str(caught.value) == f"x={bad!r} must be a finite number in (0, 2)."
