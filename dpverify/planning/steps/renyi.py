"""Steps of which Renyi divergences are known and nothing else: zero-concentrated privacy, and values at some orders.

They add up over steps, however each depends on the others (mironov2017, Proposition 1). What they prove is an upper
end: the lower one is what other steps reveal by themselves.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import field
from fractions import Fraction

import numpy as np

from dpverify.guarantee import Adjacency, CapacityError, Interval
from dpverify.planning.steps.sampling import Sampling
from dpverify.privacy_loss.losses.pairs import Directions
from dpverify.privacy_loss.losses.profile_pair import pair_above
from dpverify.privacy_loss.losses.renyi import RenyiCurve
from dpverify.privacy_loss.sampling.pairs import ListedPair, SampledPair
from dpverify.shown import Plain
from protocols.classes.frozen import dataclass
from protocols.validation import check_ranges, check_real

__all__ = ["ConcentratedStep", "RenyiKnown", "RenyiStep", "pair_of", "pooled"]

_LARGEST_LOSS, _LEAST_LOSS = 700.0, 1e-6
_POINTS = 600
"""At which a curve is asked where it composes with others."""


class RenyiKnown(Plain):
    """A step of which Renyi divergences are known, for the adjacency that is asked for."""

    rate, sampling = 1.0, Sampling.POISSON

    def check(self, adjacency: Adjacency) -> None:
        """Do nothing: what is known is for whichever adjacency is asked for."""

    def largest_loss(self, adjacency: Adjacency) -> Interval:
        """Return the largest privacy loss."""
        return Interval(math.inf, math.inf)

    def pair(self, adjacency: Adjacency, tail: float) -> SampledPair:
        """Return a pair that dominates, of whose laws a tail may be left out; many together have a better one."""
        return pair_of(pooled([(self, 1)]), tail)

    def attained(self, adjacency: Adjacency, tail: float) -> Sequence[SampledPair]:
        """Return no pair: nothing is known to be attained."""
        return []


@dataclass(frozen=True)
class ConcentratedStep(RenyiKnown):
    """A step whose Renyi divergences of all orders alpha are at most `rho alpha + xi`: zero-concentrated privacy.

    Parameters
    ----------
    rho : float
        In nats, positive.
    xi : float
        In nats, 0 for rho-zCDP.

    Raises
    ------
    TypeError, ValueError
        For an argument out of range.

    Examples
    --------
    >>> import dpverify
    >>> print(dpverify.account(dpverify.ConcentratedStep(0.005), instances=100, delta="1e-6").epsilon)
    [0, 5.22154]
    """

    rho: float = field(metadata={"within": "(0, inf)"})
    xi: float = field(default=0.0, metadata={"within": "[0, inf)"})

    def __post_init__(self) -> None:
        check_ranges(self)

    def __str__(self) -> str:
        more = f" and xi = {self.xi:g}" if self.xi else ""
        return f"zero-concentrated privacy of rho = {self.rho:g}{more}, all records"


@dataclass(frozen=True)
class RenyiStep(RenyiKnown):
    """A step whose Renyi divergences of some orders are known to be at most some values, in both directions.

    Parameters
    ----------
    orders : sequence of float
        Above 1, increasing, at least one.
    values : sequence of float
        In nats, for each order: at least 0. A divergence is no more than that of any larger order.

    Raises
    ------
    TypeError, ValueError
        For orders or values out of range, or of different numbers.

    Examples
    --------
    >>> import dpverify
    >>> step = dpverify.RenyiStep([2, 8, 32], [0.01, 0.04, 0.16])
    >>> print(dpverify.account(step, instances=100, delta="1e-6").epsilon)
    [0, 5.54305]
    """

    orders: tuple[float, ...]
    values: tuple[float, ...]

    def __post_init__(self) -> None:
        for name in ("orders", "values"):
            given = getattr(self, name)
            if not isinstance(given, Iterable) or isinstance(given, str):
                raise TypeError(f"{name}={given!r} must be a sequence of numbers.")
            object.__setattr__(self, name, tuple(float(each) for each in given))
        if not self.orders or len(self.orders) != len(self.values):
            raise ValueError(
                f"values must have one number for each of orders, at least one, not {len(self.values)} for "
                f"{len(self.orders)}."
            )
        last = 1.0
        for order, value in zip(self.orders, self.values, strict=True):
            last = check_real("orders", order, low=last, low_open=True)
            check_real("values", value, low=0.0)

    def at(self, order: float) -> Fraction:
        """Return the value of the least order that is known and not below this one, which must be among them."""
        return min(Fraction(value) for known, value in zip(self.orders, self.values, strict=True) if known >= order)

    def __str__(self) -> str:
        return f"Renyi divergences of {len(self.orders):,} orders, all records"


def pooled(parts: Sequence[tuple[RenyiKnown, int]]) -> RenyiCurve:
    """Return the curve of some steps and how often each is made."""
    concentrated = [(step, count) for step, count in parts if isinstance(step, ConcentratedStep)]
    listed = [(step, count) for step, count in parts if isinstance(step, RenyiStep)]
    rho, xi = (
        sum((Fraction(value) * count for value, count in values), Fraction(0))
        for values in (
            [(step.rho, count) for step, count in concentrated],
            [(step.xi, count) for step, count in concentrated],
        )
    )
    most = min((step.orders[-1] for step, _ in listed), default=0.0)
    orders = sorted({order for step, _ in listed for order in step.orders if order <= most})
    table = [(order, sum((step.at(order) * count for step, count in listed), Fraction(0))) for order in orders]
    return RenyiCurve(rho, xi, table)


def pair_of(curve: RenyiCurve, tail: float) -> ListedPair:
    """Return a pair that dominates all that a curve bounds, of whose laws a tail may be left out."""
    last = max(curve.epsilon(tail).upper, _LEAST_LOSS)
    if not last <= _LARGEST_LOSS:
        raise CapacityError(f"Renyi divergences give losses of {last:.4g}, and floats hold up to {_LARGEST_LOSS:g}.")
    points = np.linspace(0.0, last, _POINTS + 1)[1:].tolist()
    pair = pair_above(lambda epsilon: curve.delta(epsilon).upper, points)
    return ListedPair(Directions(pair, pair))
