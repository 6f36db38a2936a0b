"""Numbers in few digits, rounded to the side on which what they say stays true.

A float is taken for its shortest decimal, and the text is meant to be read as a float again: reading is monotone, so
that the float that is read lies on the same side of the first one. A Fraction is taken exactly.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction

__all__ = [
    "counted",
    "rounded",
    "rounded_down",
    "rounded_toward",
    "rounded_up",
    "shortest",
    "typed",
    "unrounded",
]

_PLAIN = range(-4, 16)
"""Decimal exponents that are written out, as Python does."""
_MOST_DIGITS = 17
"""What the shortest decimal of a float has at most."""


def counted(number: int, one: str, many: str = "") -> str:
    """Return a number with what it counts, in the plural, by default with an s, unless it is 1."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def rounded_up(value: float | Fraction, digits: int, *, within: float | Fraction = math.inf) -> str:
    """Return the least decimal of so many significant digits that is not below a number: for upper bounds.

    - value: The number; inf is "inf".
    - digits: At least 1.
    - within: A number, not below `value`, that must not be passed: digits are added until it is not, up to the 17 that
      every float has.

    Raises ValueError if `digits` is below 1, or `value` is nan.
    """
    text = _rounded(value, digits, ROUND_CEILING)
    while digits < _MOST_DIGITS and not _is_infinite(within) and Fraction(text) > _exact(within):
        digits += 1
        text = _rounded(value, digits, ROUND_CEILING)
    return text


def rounded_down(value: float | Fraction, digits: int) -> str:
    """Return the largest decimal of so many significant digits that is not above a number; see `rounded_up`."""
    return _rounded(value, digits, ROUND_FLOOR)


def rounded(value: float | Fraction, digits: int) -> str:
    """Return the nearest decimal of so many significant digits: for what is no bound; see `rounded_up`."""
    return _rounded(value, digits, ROUND_HALF_EVEN)


def rounded_toward(value: float, limit: float, digits: int) -> str:
    """Return a parameter moved towards a limit above it, by less than a unit in the last of some significant digits.

    - value: In [0, limit), finite.
    - limit: The least value that is too large, or inf. The digits are those of the distance to it where that is smaller
      than the value itself: a probability next to 1 keeps its distance from 1, and does not reach it.
    - digits: At least 1.

    Raises ValueError if `digits` is below 1, or `value` is not in [0, limit).
    """
    if not 0.0 <= value < limit:
        raise ValueError(f"value={value!r} must be in [0, {limit:g}).")
    exact = _exact(value)
    rest = exact if _is_infinite(limit) else min(exact, _exact(limit) - exact)
    if not rest:
        return "0"
    size, leading = (_decimal(part, 1, ROUND_FLOOR).adjusted() for part in (exact, rest))
    return _text(_decimal(exact, size - leading + _checked(digits), ROUND_CEILING))


def unrounded(value: float | Fraction) -> str:
    """Return the shortest decimal that is read as the same float; of a Fraction that is no float, 17 digits, downwards.

    Raises ValueError if `value` is nan.
    """
    number = float(value)
    return rounded_down(number if number == value else value, _MOST_DIGITS)


def shortest(value: float, *, downwards: bool) -> str:
    """Return the shortest decimal that becomes a float where exact numbers are rounded down, or else up, to floats.

    Which is what a user typed, where that had few digits: of a delta, rounded down, or a squared change, rounded up.

    Raises ValueError if `value` is not finite.
    """
    if not math.isfinite(value):
        raise ValueError(f"value={value!r} must be a finite number.")
    exact, next_one = Fraction(value), Fraction(math.nextafter(value, math.inf if downwards else -math.inf))
    digits = 1
    while True:
        text = _text(_decimal(exact, digits, ROUND_CEILING if downwards else ROUND_FLOOR))
        if Fraction(text) < next_one if downwards else Fraction(text) > next_one:
            return text
        digits += 1


def typed(delta: float) -> str:
    """Return the shorter of a delta itself and what a user typed who was given it for that, rounded down to a float."""
    return min(unrounded(delta), shortest(delta, downwards=True), key=len)


def _is_infinite(value: float | Fraction) -> bool:
    return isinstance(value, float) and math.isinf(value)


def _checked(digits: int) -> int:
    if digits < 1:
        raise ValueError(f"digits={digits!r} must be in [1, inf).")
    return digits


def _rounded(value: float | Fraction, digits: int, rounding: str) -> str:
    if _is_infinite(value):
        return f"{value:g}"
    return _text(_decimal(_exact(value), _checked(digits), rounding))


def _exact(value: float | Fraction) -> Fraction:
    return value if isinstance(value, Fraction) else Fraction(repr(float(value)))


def _decimal(value: Fraction, digits: int, rounding: str) -> Decimal:
    # One division, rounded once and rightly: the operands are exact.
    return Context(prec=digits, rounding=rounding).divide(Decimal(value.numerator), Decimal(value.denominator))


def _text(number: Decimal) -> str:
    digits = "".join(map(str, number.as_tuple().digits)).rstrip("0")
    if not digits:
        return "0"
    if number.adjusted() in _PLAIN:
        whole = f"{number:f}"
        return whole.rstrip("0").rstrip(".") if "." in whole else whole
    sign = "-" if number.is_signed() else ""
    return f"{sign}{digits[0]}{'.' if digits[1:] else ''}{digits[1:]}e{number.adjusted():+03d}"
