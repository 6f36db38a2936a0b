"""A point of a privacy curve, asked for by its delta or its epsilon: as an interval, or refused with a reason."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from typing import Literal

import numpy as np

from dpverify.changes import Change, Full, L2Ball, L2Bounded
from dpverify.guarantee import (
    Adjacency,
    CapacityError,
    Guarantee,
    Interval,
    Number,
    PrivacyCurve,
    Side,
    ThreatModel,
    enclosing_floats,
    exact_number,
)
from dpverify.privacy_loss.composing.bounds import BestCurve, BetweenCurves, LargestLossCurve
from protocols.validation import check_choice, check_real

__all__ = [
    "LEAST_GUESS",
    "PROOF",
    "answered",
    "between",
    "change_of",
    "chosen_threat_model",
    "honest_users",
    "left_out",
    "share_of_users",
    "upper_bound",
    "within_limits",
]

PROOF = "dpverify.privacy_loss"
"""The source of what the exact law proves."""
_FIRST_GUESS, LEAST_GUESS = 1e-6, 1e-250
"""For which delta a curve is made at first, and at the least, when delta is what is asked for."""
_CLOSE = 1.01
"""Ratio of the ends of delta up to which no other reference is tried."""


def left_out(curve: PrivacyCurve) -> tuple[str, ...]:
    """Return notes on what was left out of a curve's last answer, and why."""
    refusals = curve.refusals if isinstance(curve, BestCurve | BetweenCurves) else ()
    return tuple(f"left out: {refusal.removesuffix('.')}" for refusal in refusals)


def change_of(instances: int, squared_change: Number | None, ball: bool = False) -> Change:
    """Return what is accounted; more change is worse, so T^2 is rounded up."""
    if squared_change is None:
        if ball:
            raise ValueError("ball=True must be omitted without squared_change, which says how large the ball is.")
        return Full(instances)
    kind = L2Ball if ball else L2Bounded
    return kind(enclosing_floats(exact_number("squared_change", squared_change))[1], instances)


def honest_users(honest: Number | None, users: int) -> int | None:
    """Return how many users are honest: below 1 it is a share of them, rounded down, from 1 on it is their number.

    Written with a decimal point, 1.0 is a share too, and means all of them.

    Raises ValueError if it is neither, or below 1/users.
    """
    if honest is None:
        return None
    exact = exact_number("honest", honest)
    if 0 < exact < 1 or (exact == 1 and "." in str(honest)):
        return share_of_users("honest", honest, users)
    if exact.denominator != 1 or not 1 <= exact <= users:
        raise ValueError(f"honest={honest!r} must be an integer in [1, {users}], or a share in (0, 1) or 1.0.")
    return int(exact)


def share_of_users(name: str, fraction: Number, users: int) -> int:
    """Return how many users a fraction in (0, 1] is, rounded down: at least one.

    Raises ValueError if it is out of that range, or below 1/users.
    """
    exact = exact_number(name, fraction)
    if not 0 < exact <= 1:
        raise ValueError(f"{name}={fraction!r} must be in (0, 1].")
    if (found := math.floor(exact * users)) < 1:
        raise ValueError(f"{name}={fraction!r} must be at least 1/{users}: one of users={users} is honest.")
    return found


Statement = tuple[float, float]
"""The numbers of an (epsilon, delta) statement."""


def answered(
    curve: Callable[[float], PrivacyCurve],
    largest: Callable[[], LargestLossCurve],
    delta: Number | None,
    epsilon: Number | None,
) -> tuple[Literal["epsilon", "delta"], Fraction, PrivacyCurve, tuple[Interval, Interval], Statement]:
    """Return which of both was given, what exactly, the curve, its point there, and the upper ends of that.

    - curve: Makes the curve for a reference delta.
    - largest: Makes what is asked at delta = 0.
    - delta, epsilon (int, float, Fraction, Decimal or decimal string): Exactly one, as for `account`.
    """
    if (delta is None) == (epsilon is None):
        raise ValueError(f"exactly one of delta={delta!r} and epsilon={epsilon!r} must be given.")
    if delta is None:
        assert epsilon is not None
        exact = exact_number("epsilon", epsilon)
        at = Interval(*enclosing_floats(exact))
        check_real("epsilon", at.lower, low=0.0)
        made, found = _deltabetween(curve, at)
        return "epsilon", exact, made, (at, found), (at.lower, found.upper)
    exact = exact_number("delta", delta)
    at = Interval(*enclosing_floats(exact))
    check_real("delta", at.upper, low=0.0, high=1.0, high_open=True)
    made = curve(max(at.upper, LEAST_GUESS)) if at.upper > 0.0 else largest()
    found = between(made.epsilon, at)
    return "delta", exact, made, (found, at), (found.upper, at.lower)


def between(curve: Callable[[float], Interval], at: Interval) -> Interval:
    """Return what a decreasing curve is at a number between two adjacent floats."""
    ends = [curve(end) for end in dict.fromkeys((at.lower, at.upper))]
    return Interval.proved(ends[-1].lower, ends[0].upper)


def _deltabetween(curve: Callable[[float], PrivacyCurve], epsilon: Interval) -> tuple[PrivacyCurve, Interval]:
    """Return the delta at an epsilon, and its curve: made for that delta, which is not known beforehand."""
    reference, least, most = _FIRST_GUESS, 0.0, 1.0
    while True:
        made, before = curve(reference), most
        found = between(made.delta, epsilon)
        least, most = max(least, found.lower), min(most, found.upper)
        if most <= _CLOSE * least or most > 0.5 * before or reference == LEAST_GUESS:
            return made, Interval.proved(least, most)
        # Where the ends are apart, the upper one is what was left out for a delta that is too large.
        reference = max(least, most**1.5, LEAST_GUESS)


def upper_bound(
    epsilon: float,
    delta: float,
    threat_model: ThreatModel,
    method: str,
    source: str,
    adjacency: Adjacency = Adjacency.REPLACE_ONE,
) -> Guarantee:
    """Return what is proved about a whole composition."""
    return Guarantee(epsilon, delta, adjacency, threat_model, Side.UPPER_BOUND, method, source)


def chosen_threat_model(name: str, known: Sequence[ThreatModel], threat_model: ThreatModel | str | None) -> ThreatModel:
    """Return the threat model after checking that a protocol's twin covers it; the first when it is None."""
    return known[0] if threat_model is None else check_choice("threat_model", threat_model, known, where=f" for {name}")


@contextmanager
def within_limits(name: str) -> Iterator[None]:
    """Refuse what overflows, or does not fit in memory, instead of a warning and an infinity that nobody asked for."""
    with np.errstate(divide="raise", over="raise", invalid="raise", under="ignore"):
        try:
            yield
        except CapacityError as error:
            raise CapacityError(f"{name} cannot be computed here: {error.reason}") from error
        except ArithmeticError as error:  # overflow, underflow, and what is divided by one
            raise CapacityError(f"{name} leaves the range of floats here: {error}.") from error
        except MemoryError as error:
            raise CapacityError(f"{name} needs more memory than there is.") from error
