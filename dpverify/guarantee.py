"""The vocabulary of every result: who is protected, against whom, by how much, and how sure that is."""

from __future__ import annotations

import math
import sys
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from fractions import Fraction
from numbers import Integral, Real
from typing import Any, ClassVar, Protocol

from dpverify.digits import rounded_down, rounded_up, typed, unrounded
from dpverify.shown import Plain, plain
from protocols.classes.frozen import dataclass
from protocols.validation import check_choice, meant_number

__all__ = [
    "Adjacency",
    "Budget",
    "BudgetLike",
    "CapacityError",
    "Guarantee",
    "InfeasibleBudgetError",
    "Interval",
    "Number",
    "PrivacyCurve",
    "Side",
    "ThreatModel",
    "enclosing_floats",
    "exact_number",
]

Number = int | float | str | Decimal | Fraction
"""What a budget accepts: an int, a Fraction, a Decimal or a decimal string is exact, a float means its binary value.

Scalars of numpy are ints and floats too."""


class InfeasibleBudgetError(ValueError):
    """No parameter of the protocol meets the budget: an ordinary outcome, with the reason in the message.

    Examples
    --------
    >>> from dpverify import plan
    >>> plan("3nb", (1, 0), users=10, instances=1)
    Traceback (most recent call last):
    ...
    dpverify.guarantee.InfeasibleBudgetError: delta=0 cannot be met by 3nb: its views are not pure DP.
    """


class CapacityError(ValueError):
    """An answer would take more memory, time or float range than there is: an ordinary outcome too, unlike a bug."""

    @property
    def reason(self) -> str:
        """The message up to a semicolon, behind which it may say which argument of the engine would help."""
        return str(self).partition(";")[0].rstrip(".") + "."


class Adjacency(StrEnum):
    """Which two datasets are neighbours."""

    REPLACE_ONE = "replace-one"
    """One user's input is replaced; the number of users is public and fixed. The default everywhere."""
    ADD_REMOVE = "add-remove"
    """One user is added or removed."""
    ZERO_OUT = "zero-out"
    """One user's input is replaced by one that adds nothing, or the reverse (dp-accounting: REPLACE_SPECIAL)."""


class ThreatModel(StrEnum):
    """What the adversary sees (wagner2025, section 3.1)."""

    COMMUNICATION = "communication"
    """All that reaches the analyzer: the shuffled messages, and what users publish directly."""
    MODEL = "model"
    """Only what the analyzer releases at the end."""
    CENTRAL = "central"
    """The output of a trusted curator who holds all inputs."""
    LOCAL = "local"
    """Each user's own messages, with the sender known."""


class Side(StrEnum):
    """Which side of the truth a number lies on."""

    UPPER_BOUND = "upper bound"
    LOWER_BOUND = "lower bound"
    ESTIMATE = "estimate"


def printed_float(value: float, towards: float) -> float:
    """Return the float nearest to a value that prints as a decimal on the given side of it."""
    if not math.isfinite(value):
        return value
    decimal = Fraction(repr(value))
    outside = decimal >= value if towards > 0 else decimal <= value
    return value if outside else math.nextafter(value, towards)


def _exact(value: float) -> float | Fraction:
    return Fraction(value) if math.isfinite(value) else value


@dataclass(frozen=True)
class Interval:
    """A number known to lie between two floats.

    Parameters
    ----------
    lower, upper : float
        The ends, both included; `upper` may be inf (no finite bound is known).

    Raises
    ------
    TypeError, ValueError
        If the ends are no real numbers, or lower is above upper.

    Examples
    --------
    >>> found = Interval(0.5, 0.75)
    >>> 0.6 in found, found.width
    (True, 0.25)
    """

    lower: float
    upper: float

    def __post_init__(self) -> None:
        if not (isinstance(self.lower, Real) and isinstance(self.upper, Real)):
            raise TypeError(f"Interval({self.lower!r}, {self.upper!r}) must have real numbers as its ends.")
        if not self.lower <= self.upper:
            raise ValueError(f"Interval({self.lower!r}, {self.upper!r}) must have lower <= upper, and no nan.")

    @classmethod
    def proved(cls, lower: float, upper: float) -> Interval:
        """Return the interval between a proved lower and a proved upper bound on one number.

        Bounds that were computed apart confirm each other: if they cross, a proof or its code is wrong. Nothing is
        clipped and no tolerance allowed, as either bound includes its own rounding.

        Raises
        ------
        ArithmeticError
            If `lower > upper`, or either is nan.
        """
        if not lower <= upper:
            raise ArithmeticError(
                f"the proved lower bound {lower!r} is above the proved upper bound {upper!r}: one of them is wrong, so "
                "neither is returned; please report this as a bug."
            )
        return cls(lower, upper)

    @property
    def width(self) -> float:
        """The distance between the ends."""
        return self.upper - self.lower

    @property
    def midpoint(self) -> float:
        """The middle: an estimate, not a bound."""
        return 0.5 * (self.lower + self.upper)

    def __contains__(self, value: float | Fraction) -> bool:
        return self.lower <= value <= self.upper

    def to_dict(self) -> dict[str, float | str]:
        """Return `{"lower": .., "upper": ..}`, as decimals that enclose the interval: a claim of the upper end holds.

        Floats print as the shortest decimal that is nearest to no other float, which may lie inside by half an ulp.
        Infinity, which JSON lacks, is the string "inf".
        """
        ends = (self.lower, self.upper)
        if self.lower < self.upper:
            ends = printed_float(self.lower, -math.inf), printed_float(self.upper, math.inf)
        return {"lower": plain(ends[0]), "upper": plain(ends[1])}

    def __str__(self) -> str:
        if self.lower == self.upper:
            return f"[{unrounded(self.lower)}, {unrounded(self.upper)}]"
        return f"[{rounded_down(_exact(self.lower), 6)}, {rounded_up(_exact(self.upper), 6)}]"


class PrivacyCurve(Protocol):
    """The privacy curve of a composition, as proved intervals."""

    def delta(self, epsilon: float) -> Interval:
        """Return the delta at an epsilon."""

    def epsilon(self, delta: float) -> Interval:
        """Return the epsilon at a delta."""


def exact_number(name: str, value: Number) -> Fraction:
    """Return what a number or decimal string denotes, exactly.

    Raises TypeError if `value` is no number. Raises ValueError if it is not finite, or lies beyond the floats: too
    large, or positive and below all of them.
    """
    number = isinstance(value, (str, Decimal, Integral)) or hasattr(value, "as_integer_ratio")
    if isinstance(value, bool) or not number:
        raise TypeError(f"{name}={value!r} must be an int, float, Fraction, Decimal or decimal string.")
    try:
        if isinstance(value, str):
            value.encode("ascii")  # other digits, such as full-width ones, are not what anybody means
        exact = _rational(value)
    except (ValueError, OverflowError, ZeroDivisionError):
        raise ValueError(f"{name}={value!r} must be a finite number{meant_number(value)}.") from None
    # What rounds to 0, or to infinity, would be answered as if that had been asked.
    if exact and not _LEAST <= abs(exact) <= _MOST:
        raise ValueError(f"{name}={value!r} must be 0 or in [5e-324, 1.79e308] in size, as floats are.")
    return exact


_FAR_OFF = 400
_LEAST, _MOST = Fraction(math.ulp(0.0)), Fraction(sys.float_info.max)


def _rational(value: Number) -> Fraction:
    if isinstance(value, Decimal) or (isinstance(value, str) and "/" not in value):
        try:
            number = Decimal(value)
        except InvalidOperation:
            raise ValueError(value) from None
        if number and number.is_finite() and abs(number.adjusted()) > _FAR_OFF:
            # Fraction("1e999999999") would write out all its digits.
            return Fraction(10) ** int(math.copysign(_FAR_OFF, number.adjusted()))
    if isinstance(value, Integral):
        return Fraction(int(value))
    # Not float(value): a numpy scalar may have more bits than a double.
    return Fraction(value) if isinstance(value, (str, Decimal)) else Fraction(*value.as_integer_ratio())


def enclosing_floats(exact: Fraction) -> tuple[float, float]:
    """Return the largest float that is not above a number, and the least that is not below it."""
    nearest = float(exact)
    if Fraction(nearest) == exact:
        return nearest, nearest
    below = nearest if Fraction(nearest) < exact else math.nextafter(nearest, -math.inf)
    return below, math.nextafter(below, math.inf)


@dataclass(frozen=True, init=False)
class Budget(Plain):
    """A privacy budget (epsilon, delta), held exactly.

    Parameters
    ----------
    epsilon : int, float, Fraction, Decimal or decimal string
        The largest privacy loss, in nats; positive.
    delta : int, float, Fraction, Decimal or decimal string
        The failure mass, in [0, 1); 0 asks for pure differential privacy.

    Raises
    ------
    TypeError
        If a value is no number.
    ValueError
        If epsilon is not positive, delta is outside [0, 1), or either is not finite or beyond the range of floats: a
        delta that underflows to 0 is not taken for 0.

    Examples
    --------
    >>> Budget("2", "1e-6").exact_delta
    Fraction(1, 1000000)
    """

    plain_as: ClassVar[str] = "epsilon=exact_epsilon delta=exact_delta"

    exact_epsilon: Fraction
    exact_delta: Fraction

    def __init__(self, epsilon: Number, delta: Number) -> None:
        exact_epsilon, exact_delta = exact_number("epsilon", epsilon), exact_number("delta", delta)
        if exact_epsilon <= 0:
            raise ValueError(f"epsilon={epsilon!r} must be in (0, inf).")
        if not 0 <= exact_delta < 1:
            raise ValueError(f"delta={delta!r} must be in [0, 1).")
        object.__setattr__(self, "exact_epsilon", exact_epsilon)
        object.__setattr__(self, "exact_delta", exact_delta)

    @classmethod
    def of(cls, value: BudgetLike, name: str = "budget") -> Budget:
        """Return a budget, or what a pair (epsilon, delta) of numbers means as one: the coercion of every argument.

        Parameters
        ----------
        value : Budget or (number, number)
            The numbers as for `Budget` itself.
        name : str
            The argument's name, for the message.

        Raises
        ------
        TypeError
            If it is neither.
        ValueError
            If epsilon or delta is out of range.
        """
        if isinstance(value, Budget):
            return value
        if not isinstance(value, (tuple, list)) or len(value) != 2:
            raise TypeError(f"{name}={value!r} must be a Budget or a pair (epsilon, delta) of numbers.")
        return cls(*value)

    @property
    def epsilon(self) -> float:
        """The largest float that does not exceed the exact epsilon."""
        return enclosing_floats(self.exact_epsilon)[0]

    @property
    def delta(self) -> float:
        """The largest float that does not exceed the exact delta."""
        return enclosing_floats(self.exact_delta)[0]

    def __str__(self) -> str:
        return f"({unrounded(self.exact_epsilon)}, {unrounded(self.exact_delta)})"


BudgetLike = Budget | tuple[Number, Number]
"""What is taken wherever a budget is: see `Budget.of`."""


@dataclass(frozen=True)
class Guarantee(Plain):
    """All that is needed to read an (epsilon, delta) statement.

    Parameters
    ----------
    epsilon : float
        In nats, natural logarithms.
    delta : float
        In [0, 1].
    adjacency : Adjacency
        Which datasets are neighbours.
    threat_model : ThreatModel
        What the adversary sees.
    side : Side
        Whether the protocol is proved to be (epsilon, delta)-DP (upper bound), proved not to be better (lower bound),
        or neither (estimate).
    method : str
        How the numbers were obtained.
    source : str
        Cite key and item, or the module that proves it.

    Raises
    ------
    ValueError
        For an epsilon below 0, a delta outside [0, 1], nan, or an unknown word.

    Examples
    --------
    >>> given = Guarantee(1.0, 0.1, Adjacency.REPLACE_ONE, ThreatModel.MODEL, Side.UPPER_BOUND, "exact law", "here")
    >>> given.to_dict()["threat_model"]
    'model'
    """

    epsilon: float
    delta: float
    adjacency: Adjacency
    threat_model: ThreatModel
    side: Side
    method: str
    source: str

    def __post_init__(self) -> None:
        if not self.epsilon >= 0:
            raise ValueError(f"epsilon={self.epsilon!r} must be in [0, inf].")
        if not 0 <= self.delta <= 1:
            raise ValueError(f"delta={self.delta!r} must be in [0, 1].")
        for name, known in (("adjacency", Adjacency), ("threat_model", ThreatModel), ("side", Side)):
            object.__setattr__(self, name, check_choice(name, getattr(self, name), known))

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain JSON values, infinity as the string "inf".

        An upper bound's numbers as the decimals that they print as, which may be one float above the fields, never
        below: what is read from JSON is a bound, too.
        """
        found = super().to_dict()
        if self.side is Side.UPPER_BOUND:  # no less
            found |= {"epsilon": plain(printed_float(self.epsilon, math.inf)), "delta": float(typed(self.delta))}
        return found

    def __str__(self) -> str:
        rounded = rounded_down if self.side is Side.LOWER_BOUND else rounded_up
        return (
            f"({rounded(self.epsilon, 6)}, {rounded(self.delta, 3)})-DP, {self.side.value}, {self.adjacency.value}, "
            f"{self.threat_model.value} threat model"
        )
