"""Closed forms to any number of digits, all of them proved: Arb balls at the precision that these need."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from dpverify.digits import rounded, rounded_down, rounded_up
from dpverify.formulas.catalogue import Formula
from dpverify.formulas.contexts import UndecidedComparisonError, arb_context
from protocols.classes.frozen import dataclass
from protocols.validation import check_integer

__all__ = ["MOST_DIGITS", "Enclosed", "bounds", "enclosed", "value"]

MOST_DIGITS = 10_000
_SPARE = 32
"""Bits beyond those of the digits, at first."""
_DOUBLINGS = 6
_LARGEST_EXPONENT = 1 << 20


@dataclass(frozen=True)
class Enclosed:
    """A real number between two rational ones, which may be equal, and the significant digits that were asked for."""

    lower: Fraction
    upper: Fraction
    digits: int

    def __str__(self) -> str:
        """Return the decimal nearest to the middle of the bounds."""
        return rounded((self.lower + self.upper) / 2, self.digits)

    def to_dict(self) -> dict[str, str]:
        """Return the number and its bounds as decimals, the bounds rounded outwards."""
        return {
            "value": str(self),
            "lower": rounded_down(self.lower, self.digits),
            "upper": rounded_up(self.upper, self.digits),
        }


def value(formula: Formula, values: Mapping[str, Any], digits: int = 17) -> tuple[Enclosed, ...]:
    """Return a formula's values to so many significant digits, with bounds that are proved.

    - formula: From `dpverify.formulas.catalogue`.
    - values: Its arguments by name: int, Fraction, decimal string, or float, which means its binary value.
    - digits: In [1, 10000].

    Raises FormulaRangeError if an argument is out of range. Raises UndecidedComparisonError if arguments lie so near a
    limit of the formula that no precision tells on which side. Raises ArithmeticError if a value has a size beyond
    2^(2^20), or is not told from 0.

    >>> from dpverify.formulas.catalogue import find_formulas
    >>> (noise,) = find_formulas("three-nb.noise-p")
    >>> print(*value(noise, {"epsilon0": "1e-3"}, 40))
    0.9990104896663349625667653117105867131211
    """
    check_integer("digits", digits, low=1, high=MOST_DIGITS)
    return enclosed(lambda ctx: formula(ctx, values), digits)


def enclosed(evaluate: Callable[[Any], tuple[Any, ...]], digits: int) -> tuple[Enclosed, ...]:
    """Return what a function of an Arb context comes to, at the first precision with so many digits; see `value`."""
    bits = _SPARE + digits * 10 // 3
    undecided: Exception | None = None
    for _ in range(_DOUBLINGS):
        bits *= 2
        try:
            with arb_context(bits) as ctx:
                ends = [bounds(ctx.convert(number)) for number in evaluate(ctx)]
        except UndecidedComparisonError as error:
            undecided = error
            continue
        if all(_are_close(*pair, digits) for pair in ends):
            return tuple(Enclosed(*pair, digits) for pair in ends)
    raise undecided or ArithmeticError(f"no precision up to {bits} bits gives {digits} digits: the value may be 0.")


def _are_close(lower: Fraction, upper: Fraction, digits: int) -> bool:
    # A tenth of a unit in the last digit, so that the middle is within one after rounding.
    return bool((upper - lower) * 10 ** (digits + 1) <= min(abs(lower), abs(upper)))


def bounds(ball: Any) -> tuple[Fraction, Fraction]:
    """Return the ends of an Arb ball as rational numbers.

    ArithmeticError if it is not finite, or of a size that is no use to write down.
    """
    if not ball.is_finite():
        raise ArithmeticError("the value is not finite at this precision.")
    ends = []
    for end in (ball.lower(), ball.upper()):
        mantissa, exponent = map(int, end.man_exp())
        if abs(exponent) > _LARGEST_EXPONENT:
            raise ArithmeticError(f"the value is {'above 2^' if exponent > 0 else 'below 2^-'}1048576 in size.")
        ends.append(Fraction(mantissa) * Fraction(2) ** exponent)
    return ends[0], ends[1]
