"""Exact numbers as Arb balls, and back: what the certificates are computed with."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

from flint import arb, fmpq

from dpverify.guarantee import Number

__all__ = ["as_ball", "as_rational", "check_number"]


def check_number(
    name: str, value: Number, low: float = -math.inf, high: float = math.inf, *, low_open: bool = True
) -> None:
    """Check that a number is finite and in (low, high), or in [low, high)."""
    allowed = f"{'(' if low_open else '['}{low:g}, {high:g})"
    if isinstance(value, bool) or not isinstance(value, (int, float, str, Decimal, Fraction)):
        raise TypeError(f"{name}={value!r} must be an int, float, Fraction, Decimal or decimal string in {allowed}.")
    try:
        exact = Fraction(value)
        inside = low < exact < high or (exact == low and not low_open)
    except (ValueError, OverflowError, ZeroDivisionError):
        inside = False
    if not inside:
        raise ValueError(f"{name}={value!r} must be a finite number in {allowed}.")


def as_ball(number: Number) -> arb:
    """Return a ball around a number, at the working precision of `flint.ctx`."""
    exact = Fraction(number)
    return arb(fmpq(exact.numerator, exact.denominator))


def as_rational(exact: arb) -> Fraction:
    """Return the value of a ball of radius 0, such as an end point."""
    mantissa, exponent = (int(part) for part in exact.man_exp())
    return Fraction(mantissa) * Fraction(2) ** exponent
