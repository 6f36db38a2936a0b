"""The number systems that a formula runs in, and comparisons that are either certain or refused.

`FLOATS` are Python's floats, and `mpmath.mp` is a context as it is. `arb_context()` opens one whose numbers are Arb
balls, and `SympyContext()` is one whose numbers are sympy expressions. The libraries of either are imported only where
they are used, so that formulas can be listed without them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol

from dpverify.formulas import FormulaRangeError
from dpverify.guarantee import Interval
from protocols.validation import check_integer, describe_range

if TYPE_CHECKING:
    import flint

__all__ = [
    "FLOATS",
    "ArbContext",
    "Context",
    "FloatContext",
    "SympyContext",
    "UndecidedComparisonError",
    "Whole",
    "arb_context",
    "check_range",
    "enclosure",
    "is_symbolic",
    "larger",
    "less",
    "lower_float",
    "nudged",
    "positive_part",
    "shown",
    "smaller",
    "upper_float",
    "whole",
]


class UndecidedComparisonError(ArithmeticError):
    """Two numbers cannot be told apart: balls overlap, or a symbol has no value."""


class Context(Protocol):
    """What a formula may ask of its number system; the names are mpmath's.

    Literals in a formula are ints, and one operand of every division comes from the context: `ctx.exp(x) / 3`.
    """

    zero: Any

    def convert(self, x: Any) -> Any:
        """Return an int, float, Fraction or decimal string as a number of this context."""

    def exp(self, x: Any) -> Any:
        """Return e^x."""

    def expm1(self, x: Any) -> Any:
        """Return e^x - 1 without cancellation near 0."""

    def log(self, x: Any) -> Any:
        """Return the natural logarithm."""

    def log1p(self, x: Any) -> Any:
        """Return log(1 + x) without cancellation near 0."""

    def sqrt(self, x: Any) -> Any:
        """Return the square root."""


class FloatContext:
    """Floats: each operation is within a unit or so in the last place. mpmath's `fp` has no digit of expm1 near 0."""

    zero = 0.0
    convert = staticmethod(float)
    exp = staticmethod(math.exp)
    expm1 = staticmethod(math.expm1)
    log = staticmethod(math.log)
    log1p = staticmethod(math.log1p)
    sqrt = staticmethod(math.sqrt)


FLOATS = FloatContext()


class ArbContext:
    """Arb balls at the working precision that `arb_context` has set: every result provably contains the true value."""

    def __init__(self) -> None:
        import flint

        self._flint = flint
        self.zero = flint.arb(0)

    def convert(self, x: Any) -> Any:
        """Return the ball of an exact number; a float means its binary value, a string its decimal value."""
        if not isinstance(x, (int, float, str, Decimal, Fraction)):
            return self._flint.arb(x)
        exact = Fraction(x)
        return self._flint.arb(self._flint.fmpq(exact.numerator, exact.denominator))

    def exp(self, x: Any) -> Any:  # noqa: D102
        return self.convert(x).exp()

    def expm1(self, x: Any) -> Any:  # noqa: D102
        return self.convert(x).expm1()

    def log(self, x: Any) -> Any:  # noqa: D102
        return self.convert(x).log()

    def log1p(self, x: Any) -> Any:  # noqa: D102
        return self.convert(x).log1p()

    def sqrt(self, x: Any) -> Any:  # noqa: D102
        return self.convert(x).sqrt()

    def larger(self, a: Any, b: Any) -> Any:
        """Return a ball around max(a, b), also where it is not known which that is."""
        return self.convert(a).max(self.convert(b))


@contextmanager
def arb_context(bits: int = 128) -> Iterator[ArbContext]:
    """Open an Arb context: within the `with` block, all ball arithmetic runs at `bits` bits of precision."""
    import flint

    with flint.ctx.workprec(bits):
        yield ArbContext()


class SympyContext:
    """Sympy expressions: formulas as mathematics, to print, differentiate and simplify."""

    def __init__(self) -> None:
        import sympy

        self._sympy = sympy
        self.zero = sympy.Integer(0)

    def convert(self, x: Any) -> Any:
        """Return an expression; floats and decimal strings become the rational numbers that they denote."""
        if isinstance(x, (float, str, Decimal, Fraction)):
            exact = Fraction(x)
            return self._sympy.Rational(exact.numerator, exact.denominator)
        return self._sympy.sympify(x)

    def exp(self, x: Any) -> Any:  # noqa: D102
        return self._sympy.exp(x)

    def expm1(self, x: Any) -> Any:  # noqa: D102
        return self._sympy.exp(x) - 1

    def log(self, x: Any) -> Any:  # noqa: D102
        return self._sympy.log(x)

    def log1p(self, x: Any) -> Any:  # noqa: D102
        return self._sympy.log(1 + x)

    def sqrt(self, x: Any) -> Any:  # noqa: D102
        return self._sympy.sqrt(x)

    def larger(self, a: Any, b: Any) -> Any:
        """Return max(a, b)."""
        return self._sympy.Max(a, b)


def shown(value: Any) -> str:
    """Return a number for a message: a ball as 17 digits of its middle."""
    return str(value.str(17, radius=False)) if hasattr(value, "rad") else str(value)


def larger(ctx: Context, a: Any, b: Any) -> Any:
    """Return max(a, b): the context's own where a plain comparison may be undecidable, Python's otherwise."""
    own = getattr(ctx, "larger", None)
    return max(a, b) if own is None else own(a, b)


def smaller(ctx: Context, a: Any, b: Any) -> Any:
    """Return min(a, b); see `larger`."""
    return -larger(ctx, -a, -b)


def positive_part(ctx: Context, x: Any) -> Any:
    """Return max(x, 0); see `larger`."""
    return larger(ctx, x, ctx.zero)


def is_symbolic(value: Any) -> bool:
    """Return whether a value is an expression with symbols that have no value."""
    return bool(getattr(value, "free_symbols", None))


Whole = Any
"""A number that is whole wherever the source uses it; a formula can be solved for it among all real ones."""


def whole(name: str, value: Any, low: int, high: int | None = None) -> Any:
    """Return an integer after checking that it is one in [low, high]; an expression with symbols passes."""
    return value if is_symbolic(value) else check_integer(name, value, low=low, high=high)


def less(a: Any, b: Any) -> bool:
    """Return whether a < b, in any context; UndecidedComparisonError if neither that nor a >= b is certain."""
    try:
        if a < b:
            return True
        if a >= b:
            return False
    except TypeError:  # what sympy raises for a relation between symbols
        pass
    raise UndecidedComparisonError(
        f"{a} < {b} cannot be decided (raise the working precision, or give the symbols values)."
    )


def check_range(
    name: str,
    value: Any,
    *,
    low: float | None = None,
    high: float | None = None,
    low_open: bool = False,
    high_open: bool = False,
) -> Any:
    """Return `value` after checking that all of it lies in the given range; an expression with free symbols passes.

    FormulaRangeError if it is outside, UndecidedComparisonError if a ball sticks out only in part.
    """
    if is_symbolic(value):
        return value
    below = low is not None and (not less(low, value) if low_open else less(value, low))
    above = high is not None and (not less(value, high) if high_open else less(high, value))
    if below or above:
        raise FormulaRangeError(f"{name}={shown(value)} must be in {describe_range(low, high, low_open, high_open)}.")
    return value


def upper_float(ball: flint.arb) -> float:
    """Return the least float that is certainly not below the ball (inf where there is none)."""
    end = ball.upper()
    nearest = float(end)
    return nearest if type(ball)(nearest) >= end else math.nextafter(nearest, math.inf)


def lower_float(ball: flint.arb) -> float:
    """Return the largest float that is certainly not above the ball (-inf where there is none)."""
    return -upper_float(-ball)


def nudged(accepts: Callable[[float], bool], start: float, towards: float) -> float:
    """Return the first of `start` and the floats 1, 2, 4, ... units in its last place from it that is accepted.

    For a parameter that is right in real numbers and wrong by a few roundings. How many is not known beforehand (of
    e^-x near 1, a unit is many of a small x): hence twice as far each time, from `start`, finite and not 0, to no
    farther than `towards`, the side where acceptance is likelier. ArithmeticError if none is accepted there, or within
    2^53 units.
    """
    unit = math.copysign(math.ulp(start), towards - start)
    for units in (0, *(1 << power for power in range(54))):
        tried = start + units * unit
        if tried > towards if unit > 0.0 else tried < towards:
            break
        if accepts(tried):
            return tried
    raise ArithmeticError(f"no float from {start!r} towards {towards!r} is accepted: more than roundings is amiss.")


def enclosure(ball: flint.arb) -> Interval:
    """Return the tightest floats around a ball."""
    return Interval(lower_float(ball), upper_float(ball))
