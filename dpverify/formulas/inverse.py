"""The argument at which a closed form has a given value: bracketed by changes of sign that Arb balls prove."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

from dpverify.formulas import FormulaRangeError
from dpverify.formulas.catalogue import Formula
from dpverify.formulas.contexts import UndecidedComparisonError, arb_context
from dpverify.formulas.precise import MOST_DIGITS, Enclosed
from protocols.validation import check_integer

__all__ = ["NoSolutionError", "solved"]

_POWERS = range(-200, 201)
"""Powers of two that are tried for the argument; between the last one that the formula takes and the first that it does
not, points that near the end of its range."""
_NEAR = 100
_PRECISIONS = (64, 256, 1024)
_JUMP = Fraction(1, 1000)


class NoSolutionError(ValueError):
    """A formula does not come to the value, as far as it was looked for, or does so more than once."""


def solved(
    formula: Formula,
    argument: str,
    target: Fraction,
    values: Mapping[str, Any],
    *,
    digits: int = 17,
    low: Fraction | None = None,
    high: Fraction | None = None,
    which: int | None = None,
) -> Enclosed:
    """Return a positive argument at which a formula comes to `target`, to so many digits.

    The formula is below the target at one of the bounds returned and above it at the other, which is proved. That it
    comes to the target only there is proved for no formula: powers of two from 2^-200 to 2^200 and points towards the
    ends of its range showed one change of sign.

    - formula: From `dpverify.formulas.catalogue`.
    - argument: Which of its arguments; no integer.
    - target: The value.
    - values: The other arguments; see `precise.value`.
    - digits: In [1, 10000].
    - low, high: Look between these only.
    - which: Which of several values, from 1; needed where there are several.

    Raises NoSolutionError if no change of sign is seen, more than one, or one at a jump. Raises ValueError if a name,
    an index or a number is out of range, or `low` is not below `high`.

    >>> from dpverify.formulas.catalogue import find_formulas
    >>> (noise,) = find_formulas("three-nb.noise-p")
    >>> print(solved(noise, "epsilon0", Fraction(1, 2), {}, digits=30))
    0.70014866723226798325471922404
    """
    check_integer("digits", digits, low=1, high=MOST_DIGITS)
    if low is not None and high is not None and low >= high:
        raise ValueError(f"low={_short(low)} must be in (-inf, {_short(high)}), below high.")
    formula.check({**values, argument: None})
    if argument in values:
        raise ValueError(f"{argument} must not be given where it is solved for.")
    if any(parameter.name == argument and parameter.annotation == "int" for parameter in formula.arguments):
        raise ValueError(f"{argument} must be no integer to be solved for: {formula.name} takes whole numbers there.")
    side = _Side(formula, argument, target, values, which)
    brackets = list(_changes(side, low, high))
    if len(brackets) != 1:
        many = f"comes to it {len(brackets)} times" if brackets else "does not come to it"
        raise NoSolutionError(
            f"{formula.name} must come to {_short(target)} once, and {many} for {argument} in {side.seen()}; "
            "give a range (low, high) that holds one."
        )
    return _narrowed(side, *brackets[0], digits)


def _short(number: Fraction, digits: int = 6) -> str:
    """Return a number for a message: as a decimal, since it may be beyond all floats."""
    return f"{(Decimal(number.numerator) / Decimal(number.denominator)).normalize():.{digits}g}"


class _Side:
    """On which side of its target a formula is."""

    def __init__(
        self, formula: Formula, argument: str, target: Fraction, values: Mapping[str, Any], which: int | None
    ) -> None:
        self.formula, self.argument, self.target, self.values = formula, argument, target, values
        self._which = which
        self._tried: list[Fraction] = []

    def value(self, ctx: Any, x: Fraction) -> Any:
        """Return the formula at x as a ball."""
        found = self.formula(ctx, {**self.values, self.argument: x}, solving=self.argument)
        if self._which is None and len(found) > 1:
            raise ValueError(f"which=None must be in [1, {len(found)}]: {self.formula.name} has several values.")
        index = 1 if self._which is None else check_integer("which", self._which, low=1, high=len(found))
        return ctx.convert(found[index - 1])

    def sign(self, x: Fraction, bits: int = 0) -> int | None:
        """Return the sign of value - target at x: 0 if no precision tells it, None if x is out of range."""
        for precision in (*_PRECISIONS, *([bits] if bits > _PRECISIONS[-1] else [])):
            with arb_context(precision) as ctx:
                try:
                    distance = self.value(ctx, x) - ctx.convert(self.target)
                except FormulaRangeError:
                    return None
                except (UndecidedComparisonError, ZeroDivisionError, ArithmeticError):
                    continue
                if not distance.is_finite():
                    continue
                if distance > 0 or distance < 0:
                    self._tried.append(x)
                    return 1 if distance > 0 else -1
        return 0

    def seen(self) -> str:
        """Return the range of the points at which there was a value."""
        return f"[{_short(min(self._tried), 3)}, {_short(max(self._tried), 3)}]" if self._tried else "its range (none)"


def _points(side: _Side, low: Fraction | None, high: Fraction | None) -> Iterator[tuple[Fraction, int]]:
    """Yield points in rising order with the sign there, also near the ends of the formula's range."""
    inside = [
        x
        for x in (Fraction(2) ** power for power in _POWERS)
        if (low is None or x > low) and (high is None or x < high)
    ]
    grid = [*([low] if low is not None else []), *inside, *([high] if high is not None else [])]
    before: tuple[Fraction, int | None] | None = None
    for x in grid:
        sign = side.sign(x)
        if before is not None and (before[1] is None) != (sign is None):
            yield from _towards_end(side, before[0], x, before[1] is None)
        if sign:
            yield x, sign
        before = x, sign


def _towards_end(side: _Side, left: Fraction, right: Fraction, rising: bool) -> list[tuple[Fraction, int]]:
    """Return the points of halving between one that the formula takes and one that it does not."""
    found = []
    for _ in range(_NEAR):
        middle = (left + right) / 2
        sign = side.sign(middle)
        if sign:
            found.append((middle, sign))
        if (sign is None) == rising:
            left = middle
        else:
            right = middle
    return sorted(found)


def _changes(side: _Side, low: Fraction | None, high: Fraction | None) -> Iterator[tuple[Fraction, Fraction]]:
    before: tuple[Fraction, int] | None = None
    for x, sign in _points(side, low, high):
        if before is not None and before[1] != sign:
            yield before[0], x
        before = x, sign


def _narrowed(side: _Side, left: Fraction, right: Fraction, digits: int) -> Enclosed:
    bits = 64 + 4 * digits
    rising = side.sign(left, bits) == -1
    while (right - left) * 10 ** (digits + 1) > left:
        # Off the middle where that is the solution itself, whose side no precision tells.
        for part in (Fraction(1, 2), Fraction(3, 7)):
            x = left + (right - left) * part
            sign = side.sign(x, bits)
            if sign:
                break
        if not sign:
            raise NoSolutionError(f"{side.formula.name} is not told from its target around {_short(left)}.")
        left, right = (x, right) if (sign == -1) == rising else (left, x)
    with arb_context(bits) as ctx:
        ends = [side.value(ctx, end) for end in (left, right)]
        if abs(ends[1] - ends[0]) > ctx.convert(_JUMP) * (abs(ends[0]) + abs(ends[1])):
            raise NoSolutionError(
                f"{side.formula.name} jumps over {_short(side.target)} at {side.argument} = {_short(left)}."
            )
    return Enclosed(left, right, digits)
