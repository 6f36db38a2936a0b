"""A profile from moment generating functions along one line of the complex plane: no grid of total losses.

For two finite measures, L the loss of the first against the second, under the first, and z = theta + is, theta > 1,

    d(x) := e^((theta-1) x) H_x = e^((theta-1) x) E[(1 - e^(x-L))+]   has   int d(x) e^(isx) dx = phi(z) / (z (z-1)),

with `phi(z) = E[e^((z-1) L)]`. Losses of a product add up: its phi is the product of those of its factors.

**Quadrature without an error term.** Poisson's summation formula, at any spacing w of the nodes z_k = theta + ikw:

    sum over integers j of d(x + 2 pi j / w) = (w / 2 pi) sum over integers k of phi(z_k) e^(-ikwx) / (z_k (z_k - 1)).

All terms on the left are >= 0, and d(x) is one of them: the sum on the right *is* an upper bound, and so is that of
moduli, or of any bounds on them. The spacing decides how sharp it is, not whether it holds.

**Tail.** Multiplying the likelihood ratio by an independent e^X of mean 1 under the second law, X normal of variance v,
only adds to the profile (Jensen: E[(l e^X - a)+] >= (l - a)+), and multiplies phi by e^(v z (z-1) / 2), of modulus
e^(v (theta (theta-1) - s^2) / 2). So d is smooth and decays exponentially on both sides, which the formula needs.
Beyond the last node, at s = S, `|phi(theta + is)| <= phi(theta)`, and the terms at both signs of s are at most
phi(theta) e^(v theta (theta-1) / 2) times `(w / pi) sum e^(-v s^2/2) / s^2 <= e^(-v S^2/2) / (pi S)`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dpverify.privacy_loss.windows.characteristic import Nodes
from dpverify.rounding import UNIT, summation_error
from protocols.classes.frozen import dataclass

__all__ = ["Contour", "Cost", "best_tilt", "epsilon_at", "log_delta_at", "tilts_tried"]

Cost = Callable[[float, float], float]
"""Of ln J and the tilt, where `H_x <= J e^(-tilt x)` for every x: what it bounds, the less the better."""

_PERIOD = 9.0
"""In standard deviations of the total loss: how far apart the terms of Poisson's sum are, unless told otherwise."""
_POLE = 0.4
"""The largest spacing in units of the tilt."""
_LOG_TAIL = -16.0
"""Beyond the last node the normal factor has fallen to this, as a logarithm."""
_MOST_NODES = 2**14
_NOTHING, _THIN, _MOST_LOOKED_AT = -20.0, 1e-6, 0.6
"""The logarithm of what is nearly nothing, where nodes are thinned, and the share of an integral that gaps may make up;
and the share of the nodes up to which it pays."""
_TILT_STEP = 0.01
"""Logarithms of tilts are multiples of this, so that queries next to each other share one."""
_LEAST_TILT, _TILTS, _DOUBLED = 0.39, 9, math.log(2.0)
"""The first that is tried, times the standard deviation of the loss, and how many, each twice the one before: where
rare losses count and where they do not.
"""
_APART = 0.1
"""Between those that are tried next to the best of them, in logarithms."""


@dataclass(frozen=True)
class Contour:
    """The nodes of one sum, and the variance that makes it end.

    - tilt: theta - 1, positive.
    - spacing: w, positive.
    - count: Nodes at s = 0, w, ..., (count - 1) w; those at -s have conjugate values.
    - smoothing: v, positive.
    - places: Which nodes are looked at, as in `Nodes`; all of them when empty.
    """

    tilt: float
    spacing: float
    count: int
    smoothing: float
    places: tuple[int, ...] = ()

    @classmethod
    def at(cls, tilt: float, deviation: float, smoothing: float, *, period: float | None = None) -> Contour:
        """Return nodes that suit a total loss of this standard deviation, tilted; any give a bound.

        The nearest other terms of Poisson's sum are `period` standard deviations away.
        """
        # The kernel 1/(z (z-1)) has a pole `tilt` away from the line, which the nodes must resolve, too.
        spacing = min(2.0 * math.pi / ((_PERIOD if period is None else period) * deviation), _POLE * tilt)
        count = math.ceil(math.sqrt(-2.0 * _LOG_TAIL / smoothing) / spacing) + 1
        return cls(tilt, spacing, min(count, _MOST_NODES), smoothing)

    def thinned(self, deviation: float, copies: float) -> Contour:
        """Return the contour that looks at few of the nodes where nearly nothing is expected.

        What lies between two of them is bounded: see `characteristic.log_moduli_of`. Any choice gives a bound; this one
        is for a normal total loss of so many parts, the worst of them alike.

        - deviation: Of the total loss, tilted.
        - copies: Of how many parts, at least, it is the sum.
        """
        apart = (deviation * self.spacing) ** 2 / copies if copies > 0.0 else math.inf
        room = math.exp(min(2.0 * _NOTHING / copies, 0.0)) if copies > 0.0 else 0.0
        places, last = [0], self.count - 1
        while places[-1] < last:
            here, step = places[-1], 1
            left = room - math.exp(-apart * here * here)
            # Multiples of powers of two: few turns make all others.
            while here % (2 * step) == 0 and here + 2 * step <= last and 0.25 * apart * 4.0 * step * step <= left:
                step *= 2
            places.append(here + step)
        return self if len(places) > _MOST_LOOKED_AT * self.count else replace(self, places=tuple(places))

    @property
    def nodes(self) -> Nodes:
        """Where the moment generating functions of the loss are wanted: z - 1."""
        return Nodes(self.tilt, self.spacing, self.count, self.places)

    @property
    def gain(self) -> float:
        """What the smoothing multiplies the first node by, as a logarithm."""
        return 0.5 * self.smoothing * (1.0 + self.tilt) * self.tilt

    @cached_property
    def log_weights(self) -> NDArray[np.float64]:
        """What multiplies the nodes, those at -s included, without the gain and as logarithms, shape (nodes.values,).

        Behind those of the nodes that are looked at the sum of those in each gap.
        """
        square = (self.spacing * np.arange(self.count, dtype=np.float64)) ** 2
        kernel = 0.5 * (np.log((1.0 + self.tilt) ** 2 + square) + np.log(self.tilt**2 + square))
        weights = math.log(self.spacing / math.pi) - 0.5 * self.smoothing * square - kernel
        weights[0] -= math.log(2.0)
        if self.places:
            inner = [weights[self.places[gap] + 1 : self.places[gap + 1]] for gap in self.nodes.gaps]
            sums = [float(each[0]) + math.log(float(np.sum(np.exp(each - each[0])))) for each in inner]
            weights = np.append(weights[list(self.places)], sums)
        return np.asarray(weights)

    @property
    def log_tail(self) -> float:
        """The weight of the first node for all that lies beyond the last one, as a logarithm."""
        last = self.spacing * (self.count - 1)
        return -0.5 * self.smoothing * last * last - math.log(math.pi * last)

    @property
    def rounding(self) -> float:
        """Bound on the rounding errors of the gain, and of each logarithm of a weight and of the tail."""
        largest = abs(self.gain) + abs(self.log_tail) + float(np.abs(self.log_weights).max())
        # The parts of a sum may be larger than the sum: the logarithms of the spacing, and of both moduli.
        parts = abs(math.log(self.spacing)) + abs(math.log(self.tilt)) + math.log(2.0 + self.tilt)
        within_gaps = 2.0 * summation_error(self.count) if self.places else 0.0
        return UNIT * (16.0 * (largest + parts + abs(math.log(self.spacing * self.count))) + 64.0) + within_gaps

    def log_integral(self, log_moduli: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return upper bounds on ln J, where `H_x <= J e^(-tilt x)` for every x, shape (...).

        - log_moduli (ndarray, shape (..., nodes.values)): Upper bounds on `ln |phi|` at the nodes; that at the first
          holds beyond the last one, too.
        """
        exponents = np.append(log_moduli + self.log_weights, log_moduli[..., :1] + self.log_tail, axis=-1)
        shift = exponents.max(axis=-1)
        finite = np.where(shift < math.inf, shift, 0.0)
        largest = np.abs(log_moduli).max(axis=-1) + np.abs(shift)
        rounding = UNIT * (8.0 * largest + 16.0) + summation_error(exponents.shape[-1]) + self.rounding
        total = np.sum(np.exp(np.minimum(exponents - finite[..., None], 0.0)), axis=-1)
        return np.asarray(self.gain + shift + np.log(total) + rounding)

    def is_thin_enough(self, log_moduli: NDArray[np.float64]) -> bool:
        """Return whether gaps make up next to nothing of an integral, log_moduli of shape (nodes.values,)."""
        if not self.places:
            return True
        exponents = log_moduli + self.log_weights
        if not math.isfinite(largest := float(exponents.max())):
            return False
        parts = np.exp(exponents - largest)
        return float(parts[len(self.places) :].sum()) <= _THIN * float(parts.sum())


def log_delta_at(epsilon: float) -> Cost:
    """Return the cost that is an upper bound on the logarithm of the divergence at a real epsilon."""

    def cost(log_integral: float, tilt: float) -> float:
        return log_integral - tilt * epsilon + 8.0 * UNIT * (abs(log_integral) + tilt * abs(epsilon))

    return cost


def epsilon_at(log_delta: float) -> Cost:
    """Return the cost that is an epsilon at which the divergence's logarithm is at most so much, not above 0."""

    def cost(log_integral: float, tilt: float) -> float:
        return (log_integral - log_delta + 8.0 * UNIT * (abs(log_integral) - log_delta)) / tilt

    return cost


def best_tilt(cost: Cost, estimate: Callable[[float], tuple[float, float]], deviation: float) -> tuple[float, float]:
    """Return about the tilt of the least cost, and about that cost.

    - cost: It may have a valley where rare losses count and another one where they do not.
    - estimate: Takes a tilt and returns about the exponent at the first node, and the standard deviation of the tilted
      loss.
    - deviation: Of the loss, about.
    """

    def estimated(tilt: float) -> float:
        exponent, spread = estimate(tilt)
        # The integral of a Gaussian over a kernel that is wider.
        return cost(exponent - math.log(math.sqrt(2.0 * math.pi) * spread * tilt * (1.0 + tilt)), tilt)

    tilts = tilts_tried(deviation)
    points, values = [math.log(tilt) for tilt in tilts], [estimated(tilt) for tilt in tilts]
    place = min(max(int(np.argmin(values)), 1), len(points) - 2)
    first = points[place] + _DOUBLED * _vertex(*values[place - 1 : place + 2])

    def at(steps: float) -> float:
        return math.exp(min(max(first + _APART * steps, points[0]), points[-1]))

    @functools.cache
    def nearby(steps: int) -> float:
        return estimated(at(steps))

    steps = 0
    while abs(steps) * _APART < _DOUBLED:
        lower = min(steps - 1, steps + 1, key=nearby)
        if nearby(lower) >= nearby(steps):
            break
        steps = lower
    best = at(steps + _vertex(*(nearby(each) for each in (steps - 1, steps, steps + 1))))
    tilt = math.exp(_TILT_STEP * round(math.log(best) / _TILT_STEP))
    return tilt, estimated(tilt)


def _vertex(before: float, here: float, after: float) -> float:
    """Return where a parabola through three values, at -1, 0 and 1, is the least; 1 at most, on either side."""
    bend = before - 2.0 * here + after
    # Without a valley that is at the lower end.
    return min(max(0.5 * (before - after) / bend, -1.0), 1.0) if bend > 0.0 else math.copysign(1.0, before - after)


def tilts_tried(deviation: float) -> list[float]:
    """Return where `best_tilt` looks first for a loss of about this standard deviation: each twice the one before."""
    return [math.ldexp(_LEAST_TILT / deviation, place) for place in range(_TILTS)]
